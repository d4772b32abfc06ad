//! Annotations of a bundle and of its ConfigMap: their keys, their rules, and `annotations.yaml`.

mod file;
mod rule;

pub(crate) use file::{AnnotationsFile, Illegal, read};
pub use file::{EntryFault, EntryProblem, Error};
pub use rule::{SIZE, check_size, is_reserved, size};

/// The media type of the bundle, such as `registry+v1`.
pub const MEDIA_TYPE: &str = "operators.operatorframework.io.bundle.mediatype.v1";
/// The path of the manifests in the image.
pub const MANIFESTS: &str = "operators.operatorframework.io.bundle.manifests.v1";
/// The path of the metadata in the image.
pub const METADATA: &str = "operators.operatorframework.io.bundle.metadata.v1";
/// The name of the package.
pub const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
/// The channels, separated by commas.
pub const CHANNELS: &str = "operators.operatorframework.io.bundle.channels.v1";
/// The default channel of the package.
pub const DEFAULT_CHANNEL: &str = "operators.operatorframework.io.bundle.channel.default.v1";
/// The six annotations that upstream's writer keeps (operator-registry
/// `pkg/configmap/configmap_writer.go`).
pub const UPSTREAM: [&str; 6] =
    [MEDIA_TYPE, MANIFESTS, METADATA, PACKAGE, CHANNELS, DEFAULT_CHANNEL];

/// The image that the ConfigMap was filled from. OLM and opm write this annotation.
pub const SOURCE_IMAGE: &str = "olm.sourceImage";
/// The name of [`SOURCE_IMAGE`] in the original design (design 004.9). It is read, but never
/// written.
pub const LEGACY_SOURCE_IMAGE: &str = "olm.imageSource";
/// The encoding of the values. Absent if they are plain.
pub const CONTENT_ENCODING: &str = "olm.contentEncoding";
/// The annotations that OLM and opm write beside [`UPSTREAM`].
pub const OLM: [&str; 3] = [SOURCE_IMAGE, LEGACY_SOURCE_IMAGE, CONTENT_ENCODING];
/// The label by which OLM's caches find its ConfigMaps. Its value is `true`.
pub const MANAGED_LABEL: &str = "olm.managed";

/// The prefix of the annotations of unlade.
pub const PREFIX: &str = "unlade.dev/";
