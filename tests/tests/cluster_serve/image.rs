//! The images: ours, and those of bundles.

use std::path::Path;

use unlade_format::Limits;
use unlade_oci::Platform;
use unlade_oci::build::{self, Entry, Image, Layer};
use unlade_tests::shipped;

/// The image with the unpacker in it.
pub(crate) fn unpacker() -> Option<Image> {
    let program = Entry::copy("unlade-unpacker", shipped::unpacker("the unpacker in real pods")?)
        .with_mode(0o755);
    let mut image = Image::from_scratch(Platform::host());
    image.config.user = Some("65532:65532".to_owned());
    image.config.entrypoint = vec!["/unlade-unpacker".to_owned()];
    image.layers.push(Layer::new([program]));
    Some(image)
}

/// The image of the bundle in a directory: from scratch, as upstream's tools make it.
pub(crate) fn bundle(directory: &Path) -> Image {
    build::bundle::image(directory, Platform::host(), &Limits::default()).unwrap()
}
