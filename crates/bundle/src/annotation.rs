//! Annotation keys: upstream's, ours, and which may be taken from a bundle.

mod file;
mod rule;

pub(crate) use file::{AnnotationsFile, Illegal, read};
pub use file::{EntryProblem, Error};
pub(crate) use rule::name_problem;
pub use rule::{SIZE, check_size, is_reserved, size};

/// Media type of the bundle, such as `registry+v1`.
pub const MEDIA_TYPE: &str = "operators.operatorframework.io.bundle.mediatype.v1";
/// Path of the manifests in the image.
pub const MANIFESTS: &str = "operators.operatorframework.io.bundle.manifests.v1";
/// Path of the metadata in the image.
pub const METADATA: &str = "operators.operatorframework.io.bundle.metadata.v1";
/// Name of the package.
pub const PACKAGE: &str = "operators.operatorframework.io.bundle.package.v1";
/// Comma-separated channels.
pub const CHANNELS: &str = "operators.operatorframework.io.bundle.channels.v1";
/// The default channel of the package.
pub const DEFAULT_CHANNEL: &str = "operators.operatorframework.io.bundle.channel.default.v1";
/// The six that upstream's writer keeps (operator-registry `pkg/configmap/configmap_writer.go`).
pub const UPSTREAM: [&str; 6] =
    [MEDIA_TYPE, MANIFESTS, METADATA, PACKAGE, CHANNELS, DEFAULT_CHANNEL];

/// The image that the ConfigMap was filled from, as OLM and opm write it.
pub const SOURCE_IMAGE: &str = "olm.sourceImage";
/// The same as the design of 2019 calls it (004.9); read, never written.
pub const SOURCE_IMAGE_OF_DESIGN: &str = "olm.imageSource";
/// How the values are encoded; absent for plain.
pub const CONTENT_ENCODING: &str = "olm.contentEncoding";
/// The label by which OLM's caches find its ConfigMaps; the value is `true`.
pub const MANAGED_LABEL: &str = "olm.managed";

/// The prefix of our own annotations.
pub const PREFIX: &str = "unlade.dev/";
