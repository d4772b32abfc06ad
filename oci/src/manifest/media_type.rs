//! The media types of the parts of an image.

use oci_spec::image::Descriptor;

/// Checks whether a layer is not distributable.
pub(crate) fn is_foreign(layer: &Descriptor) -> bool {
    let media_type = layer.media_type().as_ref();
    media_type.contains(".nondistributable.") || media_type.contains(".foreign.")
}

/// Checks whether this is the media type of the manifest of an image.
pub(crate) fn is_manifest(media_type: &str) -> bool {
    [
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    ]
    .contains(&media_type)
}

/// Checks whether this is the media type of an index.
pub(crate) fn is_index(media_type: &str) -> bool {
    [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
    ]
    .contains(&media_type)
}

pub(super) fn is_configuration(media_type: &str) -> bool {
    [
        "application/vnd.oci.image.config.v1+json",
        "application/vnd.docker.container.image.v1+json",
        // Docker 1.10 and 1.11.
        "application/octet-stream",
    ]
    .contains(&media_type)
}

pub(super) fn is_layer(media_type: &str) -> bool {
    [
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.v1.tar+gzip",
        "application/vnd.oci.image.layer.v1.tar+zstd",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.diff.tar.gzip",
        "application/vnd.docker.image.rootfs.diff.tar.zstd",
    ]
    .contains(&media_type)
}
