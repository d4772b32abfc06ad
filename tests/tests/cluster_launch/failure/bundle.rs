//! Bundles that cannot be unpacked.

use unlade_launcher::{Reason, Strategy};
use unlade_oci::Platform;
use unlade_oci::build::{Entry, Image, Layer, bundle};
use unlade_tests::example;

use super::observer::Knows;
use super::start::memory;
use super::{Case, run};
use crate::stage::Stage;

/// A size that no ConfigMap can hold, even compressed.
const TOO_LARGE: usize = 3 << 20;

/// A size above the memory of the pod in the case that exhausts it, and below the limit of a file
/// in a bundle.
const MORE_THAN_MEMORY: usize = 15 << 20;

/// Pushes the example bundle with additional entries.
fn with(stage: &Stage<'_>, name: &str, entries: impl IntoIterator<Item = Entry>) -> String {
    let limits = unlade_bundle::Limits::default();
    let mut image = bundle::image(&example(), Platform::host(), &limits).unwrap();
    image.layers.push(Layer::new(entries));
    stage.push_image(name, &image).by_tag
}

/// Returns bytes that cannot be compressed (xorshift).
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(length).collect()
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_an_invalid_bundle_is_reported_before_any_deadline() {
    Stage::open("failure-bundle", async |stage| {
        let empty = stage.push_image("empty", &Image::from_scratch(Platform::host())).by_tag;
        let annotations = [Entry::file("metadata/annotations.yaml", "annotations: [")];
        let annotations = with(stage, "annotations", annotations);
        let leaving = with(stage, "leaving", [Entry::link("manifests/a.yaml", "/etc/passwd")]);
        let nested = with(stage, "nested", [Entry::file("manifests/more/a.yaml", "kind: A\n")]);
        let large = with(stage, "large", [Entry::file("manifests/a.bin", noise(TOO_LARGE))]);
        let huge = Entry::file("manifests/a.bin", noise(MORE_THAN_MEMORY));
        let huge = with(stage, "huge", [huge]);
        let secret = Entry::file("manifests/secret.yaml", "kind: Secret\n").with_mode(0o600);
        let unreadable = with(stage, "unreadable", [secret]);
        let bad = |name, image: &str, says| {
            let case = Case::new(stage, name, image, Reason::BadBundle).saying(says);
            case.known_by(Knows::Ended)
        };
        let case = |name, image: &str, reason, strategy| {
            let case = Case::new(stage, name, image, reason).known_by(Knows::Ended);
            case.with(|options| options.strategy = strategy)
        };
        run([
            bad("nothing", &empty, "metadata does not exist"),
            bad("bad-annotations", &annotations, "annotations.yaml"),
            bad("leaving-link", &leaving, "a.yaml"),
            bad("nested", &nested, "more"),
            case("too-large", &large, Reason::TooLarge, Strategy::Inject),
            case("unreadable-inject", &unreadable, Reason::Unreadable, Strategy::Inject)
                .saying("secret.yaml"),
            case("unreadable-volume", &unreadable, Reason::Unreadable, Strategy::ImageVolume)
                .saying("secret.yaml"),
            case("memory", &huge, Reason::OutOfMemory, Strategy::ImageVolume)
                .with(|options| memory(options, "7Mi")),
        ])
        .await;
    });
}
