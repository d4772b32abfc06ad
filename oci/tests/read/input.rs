//! Paths of a layout or an archive that are not regular files.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::fixture::*;

/// Returns the path of the blob of the only layer.
fn blob(layout: &Path, layer: &Layer) -> std::path::PathBuf {
    layout.join("blobs").join(digest(&layer.stored).replace(':', "/"))
}

#[test]
fn a_blob_that_is_not_a_regular_file_is_refused() {
    let place = Place::new();
    let layer = Layer::plain(Tar::bundle());
    let path = place.layout(&Layout::of(std::slice::from_ref(&layer)));
    let blob = blob(&path, &layer);
    let source = format!("oci:{}", path.display());
    for target in ["/dev/zero", "/", "/dev/tty"] {
        fs::remove_file(&blob).unwrap();
        symlink(target, &blob).unwrap();
        let error = refusal(read(&source));
        assert!(error.contains("is not a regular file"), "{target}: {error}");
    }
    fs::remove_file(&blob).unwrap();
    assert!(Command::new("mkfifo").arg(&blob).status().unwrap().success());
    let error = refusal(read(&source));
    assert!(error.contains("is not a regular file"), "{error}");
}

#[test]
fn a_blob_that_is_a_link_is_verified_as_any_other() {
    let place = Place::new();
    let layer = Layer::plain(Tar::bundle());
    let path = place.layout(&Layout::of(std::slice::from_ref(&layer)));
    let blob = blob(&path, &layer);
    let elsewhere = place.file("elsewhere", &layer.stored);
    fs::remove_file(&blob).unwrap();
    // Bazel builds such layouts.
    symlink(elsewhere, &blob).unwrap();
    assert!(read(&format!("oci:{}", path.display())).is_ok());
    fs::remove_file(&blob).unwrap();
    symlink("/etc/passwd", &blob).unwrap();
    let error = refusal(read(&format!("oci:{}", path.display())));
    assert!(error.contains("does not match its digest or size"), "{error}");
    assert!(!error.contains("root"), "{error}");
}

/// The files of `/proc` have size 0, and some of them block.
#[test]
fn files_of_proc_have_nothing_to_read() {
    for target in ["/proc/self/environ", "/proc/kmsg", "/proc/self/mem"] {
        let place = Place::new();
        let path = place.layout(&Layout::of(&[Layer::plain(Tar::bundle())]));
        fs::remove_file(path.join("index.json")).unwrap();
        symlink(target, path.join("index.json")).unwrap();
        let error = refusal(read(&format!("oci:{}", path.display())));
        assert!(error.contains("index.json"), "{target}: {error}");
        let error = refusal(read(&format!("oci-archive:{target}")));
        assert!(error.contains(target), "{target}: {error}");
    }
}

#[test]
fn errors_about_an_index_that_is_a_link_quote_no_value_of_its_target() {
    let place = Place::new();
    let path = place.layout(&Layout::of(&[Layer::plain(Tar::bundle())]));
    for text in ["root:secret:0:0", "secret", "\"secret\"", r#"{"manifests":"secret"}"#] {
        fs::remove_file(path.join("index.json")).unwrap();
        symlink(place.file("elsewhere", text.as_bytes()), path.join("index.json")).unwrap();
        let error = refusal(read(&format!("oci:{}", path.display())));
        assert!(error.contains("index.json is not a valid document"), "{text}: {error}");
        assert!(!error.contains("secret"), "{text}: {error}");
    }
}

/// A sparse blob of one tebibyte, whose descriptor has the correct size.
#[test]
fn a_layer_of_holes_is_refused_by_its_stored_size() {
    let place = Place::new();
    let mut layout = Layout::new();
    let layer = Layer::plain(Tar::bundle());
    let size = 1_u64 << 40;
    let config = layout.json(CONFIG, &configuration(std::slice::from_ref(&layer), "amd64"));
    let digest = format!("sha256:{}", "0".repeat(64));
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config,
        "layers": [{"mediaType": LAYER, "digest": digest, "size": size}],
    });
    let image = layout.json(MANIFEST, &manifest);
    layout.manifests.push(image);
    let path = place.layout(&layout);
    let mut tar = Tar::bundle().done();
    tar.truncate(tar.len() - 1024);
    let blob = path.join(format!("blobs/sha256/{}", "0".repeat(64)));
    fs::write(&blob, tar).unwrap();
    File::options().write(true).open(&blob).unwrap().set_len(size).unwrap();
    let options = limited(|limits| limits.ratio_from = 8 << 20);
    let source = format!("oci:{}", path.display()).parse().unwrap();
    let error = unlade_oci::read(&source, &options).unwrap_err();
    assert!(error.is_limit(), "{}", unlade_text::chain(&error));
    assert!(
        unlade_text::chain(&error).contains("for each byte of the image"),
        "{}",
        unlade_text::chain(&error)
    );
}

#[test]
fn a_repeated_layer_is_read_as_often_as_its_size_allows() {
    let layer = Layer::plain(Tar::bundle().file("usr/large", vec![7; 1 << 16]));
    let options = limited(|limits| (limits.ratio, limits.ratio_from) = (50, 1 << 16));
    let times = |n| read_with(&vec![layer.clone(); n], &options);
    assert!(times(10).is_ok());
    let error = refusal(times(100));
    assert!(error.contains("50 bytes have to be read and decompressed for each byte"), "{error}");
    // A layer of a compressed archive that is kept in memory counts too.
    let place = Place::new();
    let options = limited(|limits| (limits.ratio, limits.ratio_from) = (1, 1 << 20));
    let times = |n| {
        let file = place.file("a.tgz", &gzip(&Layout::of(&vec![layer.clone(); n]).tar()));
        unlade_oci::read(&format!("oci-archive:{}", file.display()).parse().unwrap(), &options)
    };
    assert!(times(10).is_ok());
    let error = refusal(times(20));
    assert!(error.contains("1 bytes have to be read and decompressed for each byte"), "{error}");
}

#[test]
fn a_compressed_archive_is_decompressed_as_often_as_its_size_allows() {
    let place = Place::new();
    // The layers are too large to keep, so the archive is decompressed for each of them.
    let layers: Vec<_> =
        (0..8).map(|n| Layer::plain(Tar::bundle().file("usr/large", vec![n; 5 << 20]))).collect();
    let file = place.file("a.tgz", &gzip(&Layout::of(&layers).tar()));
    let source = format!("oci-archive:{}", file.display()).parse().unwrap();
    let read = unlade_oci::read(&source, &limited(|_| {}));
    assert!(read.is_ok(), "{}", refusal(read));
    let error = unlade_oci::read(&source, &limited(|limits| limits.ratio_from = 32 << 20));
    assert!(refusal(error).contains("for each byte of the image"));
}

fn docker(manifest: &str, tar: Tar) -> String {
    let place = Place::new();
    let file = place.file("a.tar", &tar.file("manifest.json", manifest).done());
    refusal(read(&format!("docker-archive:{}", file.display())))
}

#[test]
fn names_of_a_docker_archive_stay_in_it() {
    for name in ["../c.json", "/etc/passwd", "a/../../c.json"] {
        let manifest = json!([{"Config": name, "Layers": []}]).to_string();
        let error = docker(&manifest, Tar::new());
        assert!(error.contains("does not exist"), "{error}");
    }
    let manifest = r#"[{"Config":"c.json","Layers":[]}]"#;
    for tar in [
        Tar::new().link("c.json", "../../etc/passwd"),
        Tar::new().link("c.json", "/etc/passwd"),
        Tar::new().link("c.json", "c.json"),
        Tar::new().link("c.json", "b").link("b", "a").file("a", "{}"),
        Tar::new().entry(tar::EntryType::Fifo, "c.json", "", &[]),
    ] {
        let error = docker(manifest, tar);
        assert!(error.contains("c.json does not exist"), "{error}");
    }
}

#[test]
fn the_manifest_of_a_docker_archive_is_limited_in_size() {
    let error = docker(&" ".repeat(5 << 20), Tar::new());
    assert!(error.contains("manifest.json is larger than 4194304 bytes"), "{error}");
}

/// skopeo uses the first one, Docker uses the last one, and no digest verifies either.
#[test]
fn two_configurations_of_one_name_are_refused() {
    let layer = Layer::plain(Tar::bundle());
    let config = configuration(std::slice::from_ref(&layer), "amd64").to_string();
    let manifest = r#"[{"Config":"c.json","Layers":["l.tar"]}]"#;
    let tar = || Tar::new().file("l.tar", &layer.tar).file("c.json", &config);
    let error = docker(manifest, tar().file("c.json", &config));
    assert!(error.contains("contains c.json twice"), "{error}");
    let error = docker(manifest, tar().file("manifest.json", "[]"));
    assert!(error.contains("contains manifest.json twice"), "{error}");
}

/// skopeo follows a link to the first file with this name, and other readers to the last one, or to
/// the file that has the name when they find the link.
#[test]
fn a_file_without_a_digest_that_is_a_link_is_refused() {
    let config = configuration(&[], "amd64").to_string();
    let manifest = r#"[{"Config":"c.json","Layers":[]}]"#;
    let target = || Tar::new().file("r.json", &config);
    for tar in [target().link("c.json", "r.json"), target().hard_link("c.json", "r.json")] {
        let error = docker(manifest, tar);
        assert!(error.contains("contains c.json twice, or as a link"), "{error}");
    }
    let place = Place::new();
    for name in ["index.json", "manifest.json", "oci-layout"] {
        for tar in [Tar::new().link(name, "x"), Tar::new().hard_link(name, "x")] {
            let file = place.file("a.tar", &tar.done());
            let error = refusal(read(&format!("oci-archive:{}", file.display())));
            assert!(error.contains(&format!("contains {name} twice, or as a link")), "{error}");
        }
    }
}

#[test]
fn a_layer_that_is_compressed_twice_is_refused() {
    let tar = Tar::bundle().done();
    let layer = Layer { media_type: LAYER, stored: gzip(&gzip(&tar)), tar: gzip(&tar) };
    let error = refusal(read_layers(&[layer]));
    assert!(error.contains("checksum does not match") || error.contains("end of file"), "{error}");
}

#[test]
fn many_members_and_frames_are_read() {
    let tar = Tar::bundle().done();
    let empty = gzip(&[]);
    let members = [empty.repeat(10_000), gzip(&tar), empty.repeat(10_000)].concat();
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0].repeat(50_000);
    let frames = [skippable.clone(), zstd(&tar), skippable].concat();
    for stored in [members, frames] {
        let layer = Layer { media_type: LAYER, stored, tar: tar.clone() };
        assert!(read_layers(&[layer]).is_ok());
    }
}

#[test]
fn a_skippable_frame_longer_than_the_layer_is_refused() {
    let tar = Tar::bundle().done();
    let frame = [0x50, 0x2a, 0x4d, 0x18, 0xff, 0xff, 0xff, 0xff];
    let layer = Layer { media_type: LAYER, stored: [&frame[..], &zstd(&tar)].concat(), tar };
    let error = refusal(read_layers(&[layer]));
    assert!(error.contains("unexpected end of file"), "{error}");
}
