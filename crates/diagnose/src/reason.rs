//! [`Reason`]: the kinds of failures, with their exit codes and hints.

use serde::{Deserialize, Serialize};

/// Defines [`Reason`] from one list, so that no variant can be missing from [`Reason::ALL`] or have
/// no exit code. The compiler refuses two variants with the same code.
macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $code:literal,)+) => {
        /// The kind of a failure. Variants are added but never removed, and keep their exit codes.
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

            /// Returns the name of the reason in the style of Kubernetes, such as
            /// `ImageNotFound`. Names never change.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)+
                }
            }

            /// Returns the exit code of `unlade launch`: that of the unpacker's verdict
            /// (`docs/reference/exit-codes.md`), or a code from 40 to 89.
            pub fn exit_code(self) -> u8 {
                match self {
                    $(Self::$name => $code,)+
                }
            }
        }
    };
}

reasons! {
    /// The image reference is invalid.
    InvalidReference = 40,
    /// An option of the launch is invalid, such as a name, a label or a uid.
    InvalidOption = 49,
    /// The image does not exist in the registry.
    ImageNotFound = 41,
    /// The registry requires credentials, or refuses those that it got.
    Unauthorized = 42,
    /// The registry responds with 429, or the kubelet has reached its own limit on pulls.
    RateLimited = 43,
    /// The registry cannot be reached, because of name resolution, the network or TLS.
    RegistryUnreachable = 44,
    /// The registry responds with 5xx, or the connection breaks.
    RegistryFailing = 45,
    /// The image does not exist for the node's platform.
    NoMatchingPlatform = 46,
    /// The node's signature policy rejects the image.
    SignatureRefused = 47,
    /// The pull failed for another reason.
    PullFailed = 48,
    /// A quota of the namespace is exhausted, or requires requests and limits.
    Quota = 50,
    /// A LimitRange of the namespace does not allow the requests or limits.
    LimitRange = 51,
    /// Pod Security admission rejects the pod.
    PodSecurity = 52,
    /// An admission webhook rejects an object, or does not respond.
    Webhook = 53,
    /// An admission policy rejects an object.
    AdmissionPolicy = 54,
    /// The service account does not exist.
    NoServiceAccount = 55,
    /// A pull secret does not exist, or the kubelet could not retrieve it.
    NoPullSecret = 56,
    /// A pull secret has the wrong type or content, or has no entry for the registry.
    BadPullSecret = 57,
    /// No node accepts the pod, because of taints, selectors or resources.
    Unschedulable = 58,
    /// The cluster or the node does not support image volumes.
    VolumeUnsupported = 59,
    /// The node cannot set up the pod, because of its network, its runtime or a volume.
    Sandbox = 60,
    /// The image would run as root, which the pod does not allow.
    RunAsNonRoot = 61,
    /// The container cannot be created or started.
    ContainerConfig = 62,
    /// The unpacker is not built for the node's architecture.
    ExecFormat = 63,
    /// The node evicted the pod.
    Evicted = 64,
    /// The node was removed, or does not respond.
    NodeLost = 65,
    /// A container exceeded its memory limit.
    OutOfMemory = 66,
    /// A phase exceeded its deadline.
    Deadline = 67,
    /// Someone else deleted the Job.
    JobDeleted = 68,
    /// Someone else deleted the ConfigMap.
    ConfigMapDeleted = 69,
    /// Someone else made the ConfigMap immutable.
    ConfigMapImmutable = 71,
    /// The namespace does not exist or is being deleted.
    Namespace = 72,
    /// The launch was cancelled.
    Cancelled = 73,
    /// The API server cannot be reached from here, or is temporarily unavailable.
    ApiUnreachable = 74,
    /// The API server forbids a request of the launcher, or rejects its credentials.
    Forbidden = 75,
    /// An object with this name exists and does not belong to unlade.
    NameTaken = 76,
    /// The API server rejects an object for another reason.
    ApiRefused = 77,
    /// Someone else changed an object before each attempt to write it, or changed the content after
    /// the pod wrote it.
    Conflict = 79,
    /// A container exited without a message that says why.
    Killed = 78,
    /// The command line of the unpacker is wrong: the versions of launcher and tool image differ.
    Usage = 10,
    /// The bundle is invalid.
    BadBundle = 11,
    /// The container's user may not read a file of the bundle.
    Unreadable = 12,
    /// The bundle exceeds a limit.
    TooLarge = 13,
    /// The pod has no usable service account.
    Configuration = 20,
    /// The pod's service account may not get and update the ConfigMap.
    NoPermission = 21,
    /// The ConfigMap no longer existed when the unpacker started.
    NoConfigMap = 22,
    /// The API server rejected the filled ConfigMap.
    Refused = 23,
    /// The API server's certificate is not trusted in the pod.
    Untrusted = 24,
    /// The API server cannot be reached from the pod, or did not respond in time.
    ApiUnreachableFromPod = 30,
    /// The unpacker could not read or write a local file.
    System = 31,
    /// A signal terminated the unpacker.
    Interrupted = 32,
    /// The pod ran or mounted a different image from the requested one.
    ImageReplaced = 80,
    /// An image was requested by digest, and nothing shows which image the content came from.
    ImageUnverified = 81,
    /// A bug in unlade.
    Internal = 70,
}

impl Reason {
    /// Returns the reason with this exit code.
    pub(crate) fn from_exit_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.exit_code() == code)
    }

    /// Returns how precisely the reason names the cause.
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

    /// Checks whether the failure may be temporary, if nothing but the reason is known.
    pub fn is_transient(self) -> bool {
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

    /// Checks whether the failure concerns this launcher only, and not the Job that it watches.
    pub fn is_of_launcher(self) -> bool {
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

    /// Checks whether the content of the attempt might come from another image.
    pub fn is_of_image(self) -> bool {
        matches!(self, Self::ImageReplaced | Self::ImageUnverified)
    }

    /// Checks whether a Job with other pod options may succeed.
    pub fn depends_on_options(self) -> bool {
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

    /// Returns what to do outside the launch, if that is known.
    pub(crate) fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::InvalidReference => {
                "use a reference such as registry.example/group/name:tag or ...@sha256:DIGEST"
            }
            Self::ImageNotFound => {
                "check the name and the tag, and that the image was pushed to the registry and to \
                 every mirror"
            }
            Self::RegistryUnreachable => {
                "check that the node can reach the registry: the mirrors and certificate \
                 authorities in the configuration of its container runtime apply"
            }
            Self::NoMatchingPlatform => "push the image for the platform of the nodes",
            Self::Quota => "raise the quota, or delete objects that count against it",
            Self::NoServiceAccount => "create the service account, or let unlade create one",
            Self::NoPullSecret => {
                "create the secret in this namespace with `kubectl create secret docker-registry`"
            }
            Self::BadPullSecret => {
                "create a secret of the right type with `kubectl create secret docker-registry`"
            }
            Self::ExecFormat => "use a tool image that supports the architectures of the nodes",
            Self::JobDeleted
            | Self::ConfigMapDeleted
            | Self::NoConfigMap
            | Self::ImageUnverified => "launch again",
            Self::ConfigMapImmutable => "delete the ConfigMap, and launch again",
            Self::Cancelled => "launch again: the new launch adopts a Job that is still running",
            Self::Usage => "use the tool image of the same version as the launcher",
            Self::NoPermission => {
                "grant the service account of the pod the verbs get and update on this ConfigMap"
            }
            Self::ApiUnreachableFromPod => {
                "check that NetworkPolicies allow the pod to reach the API server"
            }
            Self::ImageReplaced => {
                "check the mutating admission policies and webhooks, which changed the image: only \
                 a mirror that keeps the digest is accepted"
            }
            Self::Internal => "report this bug in unlade",
            _ => return None,
        })
    }
}

/// How precisely a reason names the cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// Something was terminated, and the reason does not say by what.
    End,
    /// The reason says where it failed, but not why.
    Vague,
    /// The reason says why it failed.
    Cause,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use unlade_config_map::protocol::outcome::Verdict;

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
