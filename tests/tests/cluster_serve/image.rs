//! Builds the image of the bundle in a directory.

use std::path::Path;

use unlade_bundle::Limits;
use unlade_oci::Platform;
use unlade_oci::build::{Image, bundle};

/// Builds the image from scratch, as upstream's tools do.
pub(crate) fn bundle(directory: &Path) -> Image {
    bundle::image(directory, Platform::host(), &Limits::default()).unwrap()
}
