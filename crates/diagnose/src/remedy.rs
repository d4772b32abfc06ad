//! [`Remedy`]: a change to a launch that may help.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use super::{Failure, Reason};

#[cfg(test)]
mod tests;

/// What to change about a launch so that it may succeed. The caller decides how to express it on
/// its command line; [`Display`](fmt::Display) describes the change. Variants are added but never
/// removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Remedy {
    /// Pull secrets with an entry for the registry.
    PullSecret,
    /// A selector of other nodes.
    NodeSelector,
    /// The architectures of the nodes.
    Architecture,
    /// A toleration of the taints of the nodes.
    Toleration,
    /// Requests and limits of the pod.
    Resources,
    /// Lower requests of the pod.
    LowerRequests,
    /// A higher memory limit of the pod.
    MemoryLimit,
    /// Injection of the unpacker instead of an image volume.
    Inject,
    /// An image volume instead of injection of the unpacker.
    ImageVolume,
    /// Another uid of the pod.
    User,
    /// No uid, so that the cluster chooses it.
    UnsetUser,
    /// An existing service account.
    ServiceAccount,
    /// Another priority class of the pod.
    PriorityClass,
    /// Another name of the ConfigMap.
    Name,
    /// Another namespace.
    Namespace,
    /// A check of the permissions, which names the missing ones.
    Check,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PullSecret => "specify a pull secret for this registry",
            Self::NodeSelector => "select other nodes",
            Self::Architecture => "specify the architectures of the tool image",
            Self::Toleration => "add a toleration",
            Self::Resources => "set the requests and limits",
            Self::LowerRequests => "lower the requests",
            Self::MemoryLimit => "raise the memory limit",
            Self::Inject => "inject the unpacker, which works on every cluster",
            Self::ImageVolume => "mount the bundle image as a volume",
            Self::User => "set a different uid",
            Self::UnsetUser => "let the cluster choose the uid",
            Self::ServiceAccount => "specify a service account",
            Self::PriorityClass => "specify a different priority class",
            Self::Name => "choose a different name",
            Self::Namespace => "choose a different namespace",
            Self::Check => "check which permissions are missing",
        })
    }
}

impl Reason {
    /// Returns the remedies if nothing but the reason is known.
    pub(crate) fn remedies(self) -> &'static [Remedy] {
        match self {
            Self::Unauthorized => &[Remedy::PullSecret],
            Self::NoMatchingPlatform | Self::ExecFormat => &[Remedy::NodeSelector],
            Self::Quota | Self::LimitRange => &[Remedy::Resources],
            Self::VolumeUnsupported => &[Remedy::Inject],
            Self::RunAsNonRoot => &[Remedy::User],
            Self::OutOfMemory => &[Remedy::MemoryLimit],
            Self::Forbidden => &[Remedy::Check],
            Self::NameTaken => &[Remedy::Name],
            Self::Unreadable => &[Remedy::ImageVolume, Remedy::User],
            Self::ImageUnverified => &[Remedy::ImageVolume],
            _ => &[],
        }
    }
}

impl Failure {
    /// Returns the failure without a remedy that the launch has already applied.
    #[must_use]
    pub fn without_remedy(mut self, applied: Remedy) -> Self {
        self.remedies.retain(|remedy| *remedy != applied);
        self
    }
}

/// Reads the remedies of a record, without those that this version does not know.
pub(super) fn deserialize_known<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Remedy>, D::Error> {
    let values = Vec::<serde_json::Value>::deserialize(deserializer)?;
    Ok(values.into_iter().filter_map(|it| serde_json::from_value(it).ok()).collect())
}
