//! [`Reason`]: the kinds of failures, their exit codes and hints.

use serde::{Deserialize, Serialize};

/// Defines [`Reason`] from one list, so that no variant can be missing from [`Reason::ALL`] or have
/// no exit code. The compiler refuses two variants with the same code.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)+) => {
        /// What kind of failure it is. Variants are only ever added, and keep their exit codes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum Reason {
            $($(#[$doc])* $name = $code,)+
        }

        impl Reason {
            /// All reasons.
            pub const ALL: [Self; [$($code),+].len()] = [$(Self::$name),+];

            /// The exit code of `unlade launch`: those of the unpacker's verdicts
            /// (`docs/reference/exit-codes.md`), else 40 to 89.
            pub fn exit_code(self) -> u8 {
                match self {
                    $(Self::$name => $code,)+
                }
            }
        }
    };
}

reasons! {
    /// The name of the image is none.
    InvalidReference = 40,
    /// An option of the launch isn't legal: a name, a label, a uid.
    InvalidOption = 49,
    /// The registry has no such image.
    ImageNotFound = 41,
    /// The registry wants other credentials, or any.
    Unauthorized = 42,
    /// The registry answers 429, or the kubelet pulls too much at once.
    RateLimited = 43,
    /// The registry can't be reached: name, route, TLS.
    RegistryUnreachable = 44,
    /// The registry answers 5xx, or breaks off.
    RegistryFailing = 45,
    /// The image is an index without the node's platform.
    NoMatchingPlatform = 46,
    /// The nodes' signature policy refuses the image.
    SignatureRefused = 47,
    /// The image can't be pulled for another reason.
    PullFailed = 48,
    /// A quota of the namespace is full.
    Quota = 50,
    /// A LimitRange of the namespace refuses the requests or limits.
    LimitRange = 51,
    /// Pod Security admission refuses the pod.
    PodSecurity = 52,
    /// An admission webhook refuses an object, or doesn't answer.
    Webhook = 53,
    /// An admission policy refuses an object.
    AdmissionPolicy = 54,
    /// The service account is missing.
    NoServiceAccount = 55,
    /// A pull secret is missing.
    NoPullSecret = 56,
    /// A pull secret is of another type, or doesn't cover the registry.
    BadPullSecret = 57,
    /// No node takes the pod: taints, selectors, resources.
    Unschedulable = 58,
    /// The cluster or the node has no image volumes.
    VolumeUnsupported = 59,
    /// The node can't set the pod up: network, runtime, volumes.
    Sandbox = 60,
    /// The image would run as root, which the pod may not.
    RunAsNonRoot = 61,
    /// The container can't be created.
    ContainerConfig = 62,
    /// The unpacker isn't of the node's architecture.
    ExecFormat = 63,
    /// The node evicted the pod.
    Evicted = 64,
    /// The node went away.
    NodeLost = 65,
    /// A container had more memory than its limit.
    OutOfMemory = 66,
    /// A phase took longer than its deadline.
    Deadline = 67,
    /// Someone else deleted the Job.
    JobDeleted = 68,
    /// Someone else deleted the ConfigMap.
    ConfigMapDeleted = 69,
    /// Someone else made the ConfigMap immutable.
    ConfigMapImmutable = 71,
    /// The namespace is missing or on its way out.
    Namespace = 72,
    /// The launch was cancelled.
    Cancelled = 73,
    /// The API server can't be reached from here, or answers that it can't serve now.
    ApiUnreachable = 74,
    /// The API server forbids something to the launcher.
    Forbidden = 75,
    /// An object of this name is there and isn't ours.
    NameTaken = 76,
    /// The API server refuses an object for another reason.
    ApiRefused = 77,
    /// Someone else changed an object each time that it was to be written.
    Conflict = 79,
    /// A container ended without saying why.
    Killed = 78,
    /// The unpacker was called wrongly: other versions of launcher and tool image.
    Usage = 10,
    /// The bundle isn't legal.
    BadBundle = 11,
    /// The uid may not read a file of the bundle.
    Unreadable = 12,
    /// The bundle passes a limit.
    TooLarge = 13,
    /// The pod has no usable service account.
    Configuration = 20,
    /// The pod's service account may not get and update the ConfigMap.
    NoPermission = 21,
    /// The ConfigMap was gone when the unpacker came.
    NoConfigMap = 22,
    /// The API server refused the filled ConfigMap.
    Refused = 23,
    /// The pod doesn't trust the API server's certificate.
    Untrusted = 24,
    /// The API server can't be reached from the pod, or didn't answer in time.
    ApiUnreachableFromPod = 30,
    /// The unpacker couldn't read or write a local file.
    System = 31,
    /// The unpacker was ended by a signal.
    Interrupted = 32,
    /// The pod ran or mounted another image than the one that was asked for.
    ImageReplaced = 80,
    /// Nothing shows which image the content came from, and one was asked for by its digest.
    ImageUnverified = 81,
    /// A bug in unlade.
    Internal = 70,
}

impl Reason {
    /// The reason with this exit code.
    pub(crate) fn of_exit_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.exit_code() == code)
    }

    /// How much it tells.
    pub(crate) fn weight(self) -> Weight {
        match self {
            Self::Killed | Self::Interrupted => Weight::End,
            Self::Cancelled
            | Self::Deadline
            | Self::PullFailed
            | Self::ContainerConfig
            | Self::Sandbox
            | Self::ApiRefused
            | Self::System => Weight::Vague,
            _ => Weight::Cause,
        }
    }

    /// Whether it may pass by itself, where nothing more is known.
    pub(crate) fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::RegistryUnreachable
                | Self::RegistryFailing
                | Self::PullFailed
                | Self::Quota
                | Self::Webhook
                | Self::Unschedulable
                | Self::Sandbox
                | Self::Evicted
                | Self::NodeLost
                | Self::Deadline
                | Self::JobDeleted
                | Self::ConfigMapDeleted
                | Self::Cancelled
                | Self::ApiUnreachable
                | Self::Conflict
                | Self::Killed
                | Self::NoConfigMap
                | Self::ApiUnreachableFromPod
                | Self::System
                | Self::Interrupted
                | Self::ImageUnverified
        )
    }

    /// Whether it says something of this launcher, and nothing of the Job that it follows.
    pub(crate) fn is_of_launcher(self) -> bool {
        matches!(
            self,
            Self::Forbidden
                | Self::ApiUnreachable
                | Self::Deadline
                | Self::Cancelled
                | Self::NameTaken
                | Self::ImageUnverified
        )
    }

    /// Whether the content of the attempt isn't known to be that of the image.
    pub(crate) fn is_of_image(self) -> bool {
        matches!(self, Self::ImageReplaced | Self::ImageUnverified)
    }

    /// Whether a Job with other options for its pod may fare better.
    pub(crate) fn depends_on_options(self) -> bool {
        matches!(
            self,
            Self::ImageNotFound
                | Self::Unauthorized
                | Self::NoMatchingPlatform
                | Self::Quota
                | Self::LimitRange
                | Self::PodSecurity
                | Self::AdmissionPolicy
                | Self::NoServiceAccount
                | Self::NoPullSecret
                | Self::BadPullSecret
                | Self::Unschedulable
                | Self::VolumeUnsupported
                | Self::RunAsNonRoot
                | Self::ContainerConfig
                | Self::ExecFormat
                | Self::OutOfMemory
                | Self::Usage
                | Self::Unreadable
                | Self::Configuration
                | Self::NoPermission
        )
    }

    /// What to do outside of the launch, if known.
    pub(crate) fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::InvalidReference => {
                "a reference looks like registry.example/group/name:tag or ...@sha256:DIGEST"
            }
            Self::ImageNotFound => {
                "check the name, the tag and that the image was pushed; mirrors must have it too"
            }
            Self::RegistryUnreachable => {
                "the node must reach the registry; its runtime's mirrors and certificate authorities count"
            }
            Self::NoMatchingPlatform => "push the image for the platform of the nodes",
            Self::Quota => "raise the quota, or delete objects that count against it",
            Self::NoServiceAccount => "create it, or leave it to unlade",
            Self::NoPullSecret => {
                "create it in this namespace: kubectl create secret docker-registry"
            }
            Self::BadPullSecret => {
                "kubectl create secret docker-registry makes one of the right type"
            }
            Self::ExecFormat => "use a tool image for the nodes' architectures",
            Self::JobDeleted
            | Self::ConfigMapDeleted
            | Self::NoConfigMap
            | Self::ImageUnverified => "launch again",
            Self::ConfigMapImmutable => "delete it, and launch again",
            Self::Cancelled => "launch again: what is running is taken up",
            Self::Usage => "use the tool image of this version",
            Self::NoPermission => "a given service account needs get and update on this ConfigMap",
            Self::ApiUnreachableFromPod => "a NetworkPolicy must let the pod reach the API server",
            Self::ImageReplaced => {
                "a mutating admission policy or webhook changed the image; only a mirror that keeps the digest is accepted"
            }
            Self::Internal => "please report it",
            _ => return None,
        })
    }
}

/// How much a reason tells of why something failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// That something ended it.
    End,
    /// Where it failed, not why.
    Vague,
    /// Why.
    Cause,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use unlade_config_map::outcome::Verdict;

    use super::*;

    #[test]
    fn every_reason_has_an_exit_code_of_its_own() {
        let codes: BTreeSet<_> = Reason::ALL.into_iter().map(Reason::exit_code).collect();
        assert_eq!(codes.len(), Reason::ALL.len());
        assert!(codes.iter().all(|code| (10..90).contains(code)));
    }

    #[test]
    fn the_verdicts_of_the_unpacker_keep_their_codes() {
        let ours: BTreeSet<_> = Reason::ALL.into_iter().map(Reason::exit_code).collect();
        for verdict in Verdict::ALL.into_iter().filter(|verdict| !verdict.is_success()) {
            assert!(ours.contains(&verdict.exit_code()), "{verdict:?}");
        }
    }
}
