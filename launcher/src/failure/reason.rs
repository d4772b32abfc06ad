//! [`Reason`]: the kinds of failures, their exit codes and hints.

use serde::{Deserialize, Serialize};

/// What kind of failure it is. Variants are only ever added, and keep their exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Reason {
    /// The name of the image is none.
    InvalidReference,
    /// An option of the launch isn't legal: a name, a label, a uid.
    InvalidOption,
    /// The registry has no such image.
    ImageNotFound,
    /// The registry wants other credentials, or any.
    Unauthorized,
    /// The registry answers 429, or the kubelet pulls too much at once.
    RateLimited,
    /// The registry can't be reached: name, route, TLS.
    RegistryUnreachable,
    /// The registry answers 5xx, or breaks off.
    RegistryFailing,
    /// The image is an index without the node's platform.
    NoMatchingPlatform,
    /// The nodes' signature policy refuses the image.
    SignatureRefused,
    /// The image can't be pulled for another reason.
    PullFailed,
    /// A quota of the namespace is full.
    Quota,
    /// A LimitRange of the namespace refuses the requests or limits.
    LimitRange,
    /// Pod Security admission refuses the pod.
    PodSecurity,
    /// An admission webhook refuses an object, or doesn't answer.
    Webhook,
    /// An admission policy refuses an object.
    AdmissionPolicy,
    /// The service account is missing.
    NoServiceAccount,
    /// A pull secret is missing.
    NoPullSecret,
    /// A pull secret is of another type, or doesn't cover the registry.
    BadPullSecret,
    /// No node takes the pod: taints, selectors, resources.
    Unschedulable,
    /// The cluster or the node has no image volumes.
    VolumeUnsupported,
    /// The node can't set the pod up: network, runtime, volumes.
    Sandbox,
    /// The image would run as root, which the pod may not.
    RunAsNonRoot,
    /// The container can't be created.
    ContainerConfig,
    /// The unpacker isn't of the node's architecture.
    ExecFormat,
    /// The node evicted the pod.
    Evicted,
    /// The node went away.
    NodeLost,
    /// A container had more memory than its limit.
    OutOfMemory,
    /// A phase took longer than its deadline.
    Deadline,
    /// Someone else deleted the Job.
    JobDeleted,
    /// Someone else deleted the ConfigMap.
    ConfigMapDeleted,
    /// Someone else made the ConfigMap immutable.
    ConfigMapImmutable,
    /// The namespace is missing or on its way out.
    Namespace,
    /// The launch was cancelled.
    Cancelled,
    /// The API server can't be reached from here, or answers that it can't serve now.
    ApiUnreachable,
    /// The API server forbids something to the launcher.
    Forbidden,
    /// An object of this name is there and isn't ours.
    NameTaken,
    /// The API server refuses an object for another reason.
    ApiRefused,
    /// Someone else changed an object each time that it was to be written.
    Conflict,
    /// A container ended without saying why.
    Killed,
    /// The unpacker was called wrongly: other versions of launcher and tool image.
    Usage,
    /// The bundle isn't legal.
    BadBundle,
    /// The uid may not read a file of the bundle.
    Unreadable,
    /// The bundle passes a limit.
    TooLarge,
    /// The pod has no usable service account.
    Configuration,
    /// The pod's service account may not get and update the ConfigMap.
    NoPermission,
    /// The ConfigMap was gone when the unpacker came.
    NoConfigMap,
    /// The API server refused the filled ConfigMap.
    Refused,
    /// The pod doesn't trust the API server's certificate.
    Untrusted,
    /// The API server can't be reached from the pod, or didn't answer in time.
    ApiUnreachableFromPod,
    /// The unpacker couldn't read or write a local file.
    System,
    /// The unpacker was ended by a signal.
    Interrupted,
    /// The pod ran or mounted another image than the one that was asked for.
    ImageReplaced,
    /// Nothing shows which image the content came from, and one was asked for by its digest.
    ImageUnverified,
    /// A bug in unlade.
    Internal,
}

impl Reason {
    /// All of them.
    pub const ALL: [Self; 54] = [
        Self::InvalidReference,
        Self::InvalidOption,
        Self::ImageNotFound,
        Self::Unauthorized,
        Self::RateLimited,
        Self::RegistryUnreachable,
        Self::RegistryFailing,
        Self::NoMatchingPlatform,
        Self::SignatureRefused,
        Self::PullFailed,
        Self::Quota,
        Self::LimitRange,
        Self::PodSecurity,
        Self::Webhook,
        Self::AdmissionPolicy,
        Self::NoServiceAccount,
        Self::NoPullSecret,
        Self::BadPullSecret,
        Self::Unschedulable,
        Self::VolumeUnsupported,
        Self::Sandbox,
        Self::RunAsNonRoot,
        Self::ContainerConfig,
        Self::ExecFormat,
        Self::Evicted,
        Self::NodeLost,
        Self::OutOfMemory,
        Self::Deadline,
        Self::JobDeleted,
        Self::ConfigMapDeleted,
        Self::ConfigMapImmutable,
        Self::Namespace,
        Self::Cancelled,
        Self::ApiUnreachable,
        Self::Forbidden,
        Self::NameTaken,
        Self::ApiRefused,
        Self::Conflict,
        Self::Killed,
        Self::Usage,
        Self::BadBundle,
        Self::Unreadable,
        Self::TooLarge,
        Self::Configuration,
        Self::NoPermission,
        Self::NoConfigMap,
        Self::Refused,
        Self::Untrusted,
        Self::ApiUnreachableFromPod,
        Self::System,
        Self::Interrupted,
        Self::ImageReplaced,
        Self::ImageUnverified,
        Self::Internal,
    ];

    /// The exit code of `unlade launch`: those of the unpacker's verdicts
    /// (`docs/reference/exit-codes.md`), else 40 to 89.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::InvalidReference => 40,
            Self::InvalidOption => 49,
            Self::ImageNotFound => 41,
            Self::Unauthorized => 42,
            Self::RateLimited => 43,
            Self::RegistryUnreachable => 44,
            Self::RegistryFailing => 45,
            Self::NoMatchingPlatform => 46,
            Self::SignatureRefused => 47,
            Self::PullFailed => 48,
            Self::Quota => 50,
            Self::LimitRange => 51,
            Self::PodSecurity => 52,
            Self::Webhook => 53,
            Self::AdmissionPolicy => 54,
            Self::NoServiceAccount => 55,
            Self::NoPullSecret => 56,
            Self::BadPullSecret => 57,
            Self::Unschedulable => 58,
            Self::VolumeUnsupported => 59,
            Self::Sandbox => 60,
            Self::RunAsNonRoot => 61,
            Self::ContainerConfig => 62,
            Self::ExecFormat => 63,
            Self::Evicted => 64,
            Self::NodeLost => 65,
            Self::OutOfMemory => 66,
            Self::Deadline => 67,
            Self::JobDeleted => 68,
            Self::ConfigMapDeleted => 69,
            Self::ConfigMapImmutable => 71,
            Self::Namespace => 72,
            Self::Cancelled => 73,
            Self::ApiUnreachable => 74,
            Self::Forbidden => 75,
            Self::NameTaken => 76,
            Self::ApiRefused => 77,
            Self::Killed => 78,
            Self::Conflict => 79,
            Self::Usage => 10,
            Self::BadBundle => 11,
            Self::Unreadable => 12,
            Self::TooLarge => 13,
            Self::Configuration => 20,
            Self::NoPermission => 21,
            Self::NoConfigMap => 22,
            Self::Refused => 23,
            Self::Untrusted => 24,
            Self::ApiUnreachableFromPod => 30,
            Self::System => 31,
            Self::Interrupted => 32,
            Self::Internal => 70,
            Self::ImageReplaced => 80,
            Self::ImageUnverified => 81,
        }
    }

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

    /// What to do, where that is known.
    pub(crate) fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::InvalidReference => {
                "a reference looks like registry.example/group/name:tag or ...@sha256:DIGEST"
            }
            Self::ImageNotFound => {
                "check the name, the tag and that the image was pushed; mirrors must have it too"
            }
            Self::Unauthorized => "give a pull secret for this registry (--pull-secret)",
            Self::RegistryUnreachable => {
                "the node must reach the registry; its runtime's mirrors and certificate authorities count"
            }
            Self::NoMatchingPlatform => {
                "choose nodes of a platform that it has (--node-selector), or push a single image"
            }
            Self::Quota => {
                "raise the quota, or free what it counts; what a quota wants set can be set (--requests, --limits)"
            }
            Self::LimitRange => "set others (--requests, --limits)",
            Self::NoServiceAccount => "create it, or leave it to unlade",
            Self::NoPullSecret => {
                "create it in this namespace: kubectl create secret docker-registry"
            }
            Self::BadPullSecret => {
                "kubectl create secret docker-registry makes one of the right type"
            }
            Self::VolumeUnsupported => "--strategy inject works everywhere",
            Self::RunAsNonRoot => "give a uid (--user)",
            Self::ExecFormat => {
                "use a tool image for the nodes' architectures, or choose nodes (--node-selector)"
            }
            Self::OutOfMemory => "raise the limit (--limits memory=...)",
            Self::JobDeleted | Self::ConfigMapDeleted | Self::NoConfigMap => "launch again",
            Self::ConfigMapImmutable => "delete it, and launch again",
            Self::Cancelled => "launch again: what is running is taken up",
            Self::Forbidden => "unlade check tells which rights are missing",
            Self::NameTaken => "choose another name (--name)",
            Self::Usage => "use the tool image of this version",
            Self::Unreadable => {
                "--strategy image-volume doesn't depend on it, or give another uid (--user)"
            }
            Self::NoPermission => "a given service account needs get and update on this ConfigMap",
            Self::ApiUnreachableFromPod => "a NetworkPolicy must let the pod reach the API server",
            Self::ImageReplaced => {
                "a mutating admission policy or webhook changed the image; only a mirror that keeps the digest is accepted"
            }
            Self::ImageUnverified => {
                "launch again; --strategy image-volume needs no report from the node"
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

    use unlade_format::outcome::Verdict;

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
