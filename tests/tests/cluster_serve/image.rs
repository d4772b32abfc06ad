//! The images: ours, and those of bundles.

use std::path::{Path, PathBuf};

use unlade_format::Limits;
use unlade_oci::Platform;
use unlade_oci::build::{self, Entry, Image, Layer};
use unlade_tests::left_out;

/// The static build, which `cargo xtask dist` makes; its image is made from nothing.
fn program() -> Option<PathBuf> {
    let path = std::env::var_os("UNLADE_UNPACKER").map_or_else(
        || {
            let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
            workspace.join("target/shipped/unlade-unpacker-x86_64")
        },
        PathBuf::from,
    );
    if path.exists() {
        return Some(path);
    }
    let why = "no static build: run cargo xtask dist, or name one in UNLADE_UNPACKER";
    left_out::say("the unpacker in real pods", why);
    None
}

/// The image with the unpacker in it.
pub(crate) fn unpacker() -> Option<Image> {
    let program = Entry::copy("unlade-unpacker", program()?).with_mode(0o755);
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
