//! Tests the memory of the reader with a limited address space. An allocation beyond it aborts.

use std::env;
use std::process::Command;

use tar::EntryType;

use crate::fixture::*;

/// The limit of the address space in KiB, which is the memory of the unpacker's pod.
const SPACE: &str = "262144";
/// The image that the child reads.
const SOURCE: &str = "UNLADE_TEST_SOURCE";

/// Reads `source` in a separate process with 256 MiB, and returns its output.
#[track_caller]
fn read_in_256_mib(source: &str) -> String {
    let script = format!("ulimit -v {SPACE} && exec \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, "sh"])
        .arg(env::current_exe().unwrap())
        .args([
            "--exact",
            "memory::child_reads_an_image",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(SOURCE, source)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
#[ignore = "child: the tests below run it"]
fn child_reads_an_image() {
    let source = env::var(SOURCE).unwrap();
    match read(&source) {
        Ok(image) => println!("read {} files", image.reading.content.files().len()),
        Err(error) => println!("limit {}: {}", error.is_limit(), unlade_text::chain(&error)),
    }
}

#[track_caller]
fn bounded(layers: &[Layer], text: &str) {
    let place = Place::new();
    let path = place.layout(&Layout::of(layers));
    let found = read_in_256_mib(&format!("oci:{}", path.display()));
    assert!(found.contains(text), "{found}");
}

/// Returns a path with this number of parts, each of one letter.
fn deep(parts: usize) -> String {
    format!("{}x", "d/".repeat(parts - 1))
}

#[test]
fn a_hard_link_to_a_deep_path_is_refused() {
    for parts in [200, 16_000, 500_000] {
        let tar = Tar::bundle().long_link(EntryType::Link, "manifests/x", &deep(parts));
        bounded(&[Layer::gzip(tar)], "limit true: failed to apply the layer");
    }
    let tar = Tar::bundle().long_link(EntryType::Link, "manifests/x", &deep(100));
    bounded(&[Layer::gzip(tar)], "does not lead to a file");
}

#[test]
fn names_and_targets_of_a_mebibyte_are_refused() {
    let long = "x".repeat((1 << 20) - 2000);
    let names = Tar::bundle().long_name(EntryType::Regular, &format!("manifests/{long}"));
    bounded(&[Layer::gzip(names)], "limit true: failed to apply the layer");
    let targets = Tar::bundle().long_link(EntryType::Symlink, "manifests/x", &long);
    bounded(&[Layer::gzip(targets)], "limit true: failed to apply the layer");
}

#[test]
fn many_names_and_targets_count_together() {
    let target = "x".repeat(4_000);
    let each = |kind| {
        let tar = (0..8_500).fold(Tar::bundle(), |tar, n| {
            tar.long_link(kind, &format!("manifests/{n}"), &format!("{n}/{target}"))
        });
        bounded(
            &[Layer::gzip(tar)],
            "names, link targets and digests take more than 33554432 bytes",
        );
    };
    each(EntryType::Symlink);
    each(EntryType::Link);
    let tar = (0..8_500).fold(Tar::bundle(), |tar, n| {
        tar.long_name(EntryType::Regular, &format!("manifests/{n}{target}"))
    });
    bounded(&[Layer::gzip(tar)], "names, link targets and digests take more than 33554432 bytes");
}

#[test]
fn names_of_an_archive_count_too() {
    let place = Place::new();
    let name = "x".repeat(1_000);
    let archive = (0..30_000)
        .fold(Tar::new(), |tar, n| tar.long_name(EntryType::Regular, &format!("{n}{name}")));
    let file = place.file("a.tar.gz", &gzip(&archive.done()));
    let found = read_in_256_mib(&file.display().to_string());
    assert!(found.contains("names, link targets and digests take more than"), "{found}");
}

#[test]
fn files_at_the_limit_of_their_sizes_are_read() {
    let large = vec![b'#'; unlade_bundle::Limits::default().file_size - 1_000];
    let tar = Tar::bundle().file("manifests/a", &large).file("manifests/b", &large);
    bounded(&[Layer::gzip(tar)], "read 3 files");
}

#[test]
fn a_large_window_is_refused() {
    // A frame with a window of 64 MiB and one block of zeros.
    let frame = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 16 << 3, 0x03, 0x40, 0x00, 0x00];
    let layer = Layer { media_type: LAYER, stored: frame.to_vec(), tar: Vec::new() };
    let text = refusal(read_layers(&[layer]));
    assert!(text.contains("window"), "{text}");
}
