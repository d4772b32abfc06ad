//! The image of the bundle in a directory.

use std::path::Path;

use unlade_bundle::Limits;
use unlade_oci::Platform;
use unlade_oci::build::{Image, bundle};

/// From scratch, as upstream's tools make it.
pub(crate) fn bundle(directory: &Path) -> Image {
    bundle::image(directory, Platform::host(), &Limits::default()).unwrap()
}
