//! [`ObservedImage`]: the image that a pod ran or mounted.

use serde::Serialize;

/// What is known about the image that a pod ran or mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ObservedImage {
    /// The reference in the admitted pod, or `None` if no pod was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The digest of the image: `sha256:` and 64 hex digits, or the digest in the reference if it
    /// uses another algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// How the digest is known. `None` if and only if the digest is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest_source: Option<DigestSource>,
}

/// How the digest of an image is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DigestSource {
    /// The node reports it for the container in `imageID`.
    ContainerStatus,
    /// The node reports it for the volume in `volumeStatus.image.imageRef`, which needs the feature
    /// gate `ImageVolumeWithDigest` of Kubernetes 1.35.
    VolumeStatus,
    /// The admitted pod names it, and the node pulls what the pod names.
    PodReference,
    /// An earlier launch verified it, and the content has not changed since.
    EarlierLaunch,
}
