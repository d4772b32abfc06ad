use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use unlade_oci::build::{Compression, Entry, Layer, write, write_index};

use crate::fixture::*;

#[track_caller]
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns three layers, one of each compression, with removals.
fn layers() -> [Layer; 3] {
    let long = format!("manifests/{}.yaml", "x".repeat(150));
    let mut top = bundle();
    top.extend([Entry::removed("manifests/old.yaml"), Entry::opaque("gone")]);
    [
        Layer::new([
            Entry::file("manifests/old.yaml", "old"),
            Entry::file("gone/a", "x"),
            Entry::file("bin/x", "x").with_mode(0o755),
            Entry::hard_link("bin/y", "bin/x"),
            Entry::link("z", "bin/y"),
        ])
        .compressed(Compression::Gzip),
        Layer::new([Entry::file(long, "long")]).compressed(Compression::Zstd),
        Layer::new(top),
    ]
}

/// The formats of Docker do not support zstd, and umoci supports it only since 0.5.
fn without_zstd() -> [Layer; 3] {
    layers().map(|layer| match layer.compression {
        Compression::Zstd => layer.compressed(Compression::Gzip),
        _ => layer,
    })
}

#[test]
#[ignore = "needs skopeo"]
fn skopeo_inspects_and_converts_an_archive() {
    let place = Place::new();
    let mut image = image(layers());
    image.config.labels.insert("one".to_owned(), "1".to_owned());
    image.config.env.push("A=b".to_owned());
    let (written, archive) = place.write(&image, "oci-archive");
    let inspected = json(run("skopeo", &["inspect", &archive]).as_bytes());
    assert_eq!(inspected["Digest"], written.digest.to_string());
    assert_eq!(inspected["Labels"], serde_json::json!({"one": "1"}));
    assert_eq!((&inspected["Os"], &inspected["Architecture"]), (&"linux".into(), &"amd64".into()));
    assert_eq!(inspected["Env"], serde_json::json!(["A=b"]));

    // It decompresses the layers, including zstd, and compares the tars with the configuration.
    let directory = place.path().join("plain");
    let plain = format!("dir:{}", directory.display());
    run("skopeo", &["copy", "--quiet", "--insecure-policy", "--dest-decompress", &archive, &plain]);
    let manifest = json(&fs::read(directory.join("manifest.json")).unwrap());
    let file = |digest: &Value| directory.join(digest.as_str().unwrap().replace("sha256:", ""));
    let configuration = json(&fs::read(file(&manifest["config"]["digest"])).unwrap());
    let diff_ids = configuration["rootfs"]["diff_ids"].as_array().unwrap();
    assert!(diff_ids.len() == 3 && diff_ids.iter().all(|id| file(id).is_file()), "{diff_ids:?}");
}

#[test]
#[ignore = "needs skopeo"]
fn skopeo_makes_a_docker_archive_that_is_the_same_bundle() {
    let place = Place::new();
    let (_, archive) = place.write(&image(without_zstd()), "oci-archive");
    let converted = format!("docker-archive:{}:x:v1", place.path().join("docker.tar").display());
    run("skopeo", &["copy", "--quiet", "--insecure-policy", &archive, &converted]);
    assert_eq!(read_back(&converted), read_back(&archive));
}

#[test]
#[ignore = "needs skopeo"]
fn skopeo_finds_each_platform_of_an_index() {
    let place = Place::new();
    let images = ["amd64", "arm64"].map(|architecture| {
        let mut image = image(layers());
        image.platform = platform(&format!("linux/{architecture}"));
        image
    });
    let index = format!("oci:{}:v1", place.path().join("index").display());
    let written = write_index(&images, &index.parse().unwrap()).unwrap();
    let raw = json(run("skopeo", &["inspect", "--raw", &index]).as_bytes());
    for (number, one) in written.images.iter().enumerate() {
        assert_eq!(raw["manifests"][number]["digest"], one.digest.to_string());
        let architecture = ["--override-arch", &one.platform.architecture];
        let inspected = run("skopeo", &[&architecture[..], &["inspect", &index]].concat());
        assert_eq!(json(inspected.as_bytes())["Architecture"], one.platform.architecture);
    }
    let copy = format!("oci:{}:v1", place.path().join("copy").display());
    run("skopeo", &["copy", "--quiet", "--insecure-policy", "--all", &index, &copy]);
    assert_eq!(read_back(&copy), read_back(&index));
}

#[test]
#[ignore = "needs umoci"]
fn umoci_unpacks_the_same_files() {
    let place = Place::new();
    let layout = place.path().join("layout").display().to_string();
    write(&image(without_zstd()), &format!("oci:{layout}:v1").parse().unwrap()).unwrap();
    let target = place.path().join("unpacked");
    let (image, target) = (format!("{layout}:v1"), target.display().to_string());
    run("umoci", &["unpack", "--rootless", "--image", &image, &target]);
    let root = Path::new(&target).join("rootfs");
    let text = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    assert_eq!((text("manifests/csv.yaml").as_str(), text("z").as_str()), ("kind: A", "x"));
    assert_eq!(text(&format!("manifests/{}.yaml", "x".repeat(150))), "long");
    assert!(!root.join("manifests/old.yaml").exists() && !root.join("gone/a").exists());
    assert!(root.join("gone").is_dir());
}
