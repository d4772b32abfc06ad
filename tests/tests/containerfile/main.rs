//! `images/Containerfile` builds the same image as `cargo xtask image`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

mod engine;
mod instruction;

use std::fs;
use std::path::{Path, PathBuf};

use unlade_images::unpacker::{Documents, Unpacker};
use unlade_oci::build::Image;

use self::instruction::{Instruction, instructions};

/// Returns the text of the Containerfile.
fn containerfile() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../images/Containerfile");
    fs::read_to_string(path).unwrap()
}

/// Returns the image, with files that are created in `directory`.
fn image(directory: &Path) -> Image {
    let file = |name: &str| -> PathBuf {
        let path = directory.join(name);
        fs::write(&path, name).unwrap();
        path
    };
    let documents = Documents {
        licence: file("licence"),
        licences: file("licences"),
        bom: file("bom.cdx.json"),
    };
    Unpacker { documents: Some(documents), ..Unpacker::new(file("program")) }.image()
}

/// Returns the instructions of the last stage, which builds the image.
fn last_stage(text: &str) -> Vec<Instruction> {
    let mut all = instructions(text);
    let from = all.iter().rposition(|it| it.name == "FROM").unwrap();
    all.split_off(from)
}

#[test]
fn the_containerfile_says_what_the_image_is() {
    let directory = tempfile::tempdir().unwrap();
    let config = image(directory.path()).config;
    let stage = last_stage(&containerfile());
    let of = |name: &str| -> Vec<&str> {
        let named = stage.iter().filter(|it| it.name == name);
        named.map(|it| it.arguments.as_str()).collect()
    };
    assert_eq!(of("FROM"), ["scratch"]);
    assert_eq!(of("USER"), [config.user.unwrap()]);
    assert_eq!(of("ENV"), config.env);
    assert_eq!(of("ENTRYPOINT"), [serde_json::to_string(&config.entrypoint).unwrap()]);
    let labels = config.labels.iter().map(|(name, value)| format!("{name}={value:?}"));
    let mut said = of("LABEL");
    said.sort_unstable();
    assert_eq!(said, labels.collect::<Vec<_>>());
    // The builder creates the content from the description of the image.
    assert_eq!(of("COPY"), ["--from=build /image/ /"]);
    let known = ["FROM", "USER", "ENV", "ENTRYPOINT", "LABEL", "COPY"];
    assert!(stage.iter().all(|it| known.contains(&it.name.as_str())), "{stage:?}");
}

#[test]
fn the_builder_lays_the_image_out_with_the_rust_of_the_workspace() {
    let all = instructions(&containerfile());
    let has = |name: &str, arguments: &str| {
        all.iter().any(|it| it.name == name && it.arguments == arguments)
    };
    assert!(has("FROM", "${BUILDER} AS build"), "{all:?}");
    assert!(has("RUN", "cargo xtask image --tree /image"), "{all:?}");
    let tag = format!("BUILDER=rust:{}-", env!("CARGO_PKG_RUST_VERSION"));
    assert!(all.iter().any(|it| it.name == "ARG" && it.arguments.starts_with(&tag)), "{all:?}");
}

#[test]
#[ignore = "needs buildah"]
fn buildah_makes_the_same_image() {
    let directory = tempfile::tempdir().unwrap();
    let image = image(directory.path());
    // Replaces the builder, which would take minutes, by the files that it would create.
    let stage = containerfile();
    let (_, stage) = stage.rsplit_once("\nFROM ").unwrap();
    let text = format!("FROM scratch AS build\nCOPY image/ /image/\nFROM {stage}");
    let built = engine::build(&text, &image, directory.path());
    let ours = engine::ours(&image, directory.path());
    assert_eq!(built.config, ours.config);
    assert_eq!(built.files, ours.files);
}
