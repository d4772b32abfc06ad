use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::json;
use unlade_tests::example;

use crate::{
    bundle::Bundle,
    corpus::sha256,
    run::{piped, unlade},
};

/// Writes a docker archive with the files of `bundle` in its only layer.
fn docker_archive(bundle: &Path, directory: &Path) -> PathBuf {
    let mut layer = tar::Builder::new(Vec::new());
    layer.append_dir_all(".", bundle).unwrap();
    let layer = layer.into_inner().unwrap();
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [format!("sha256:{}", sha256(&layer))]},
    })
    .to_string();
    let config_name = format!("{}.json", sha256(config.as_bytes()));
    let manifest = json!([{"Config": config_name, "RepoTags": ["tea:1"], "Layers": ["layer.tar"]}])
        .to_string();
    let path = directory.join("image.tar");
    let mut archive = tar::Builder::new(File::create(&path).unwrap());
    for (name, bytes) in [
        ("layer.tar", layer.as_slice()),
        (&config_name, config.as_bytes()),
        ("manifest.json", manifest.as_bytes()),
    ] {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes).unwrap();
    }
    archive.finish().unwrap();
    path
}

/// Writes an OCI layout with the files of `bundle` in its only layer, and returns the digest of
/// the manifest.
pub(crate) fn layout(bundle: &Path, directory: &Path) -> String {
    let blobs = directory.join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let blob = |kind: &str, bytes: &[u8]| {
        let name = sha256(bytes);
        fs::write(blobs.join(&name), bytes).unwrap();
        let media_type = format!("application/vnd.oci.image.{kind}");
        let digest = format!("sha256:{name}");
        (json!({"mediaType": media_type, "digest": digest, "size": bytes.len()}), digest)
    };
    let mut layer = tar::Builder::new(Vec::new());
    layer.append_dir_all(".", bundle).unwrap();
    let (layer, diff_id) = blob("layer.v1.tar", &layer.into_inner().unwrap());
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [diff_id]},
    });
    let (config, _) = blob("config.v1+json", config.to_string().as_bytes());
    let manifest = json!({"schemaVersion": 2, "config": config, "layers": [layer]});
    let (manifest, digest) = blob("manifest.v1+json", manifest.to_string().as_bytes());
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    fs::write(directory.join("index.json"), index.to_string()).unwrap();
    fs::write(directory.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    digest
}

#[test]
fn the_summary_of_an_image_tells_its_digest() {
    let directory = tempfile::tempdir().unwrap();
    let digest = layout(&example(), directory.path());
    let image = directory.path().to_str().unwrap();
    let text = unlade(["unpack", image, "-o", "summary"]).success();
    assert!(text.contains(&format!("\nImage digest  {digest}\n")), "{text}");
    let text = unlade(["unpack", example().to_str().unwrap(), "-o", "summary"]).success();
    assert!(!text.contains("digest"), "{text}");
}

#[test]
fn an_image_gives_the_same_config_map_as_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let archive = docker_archive(&example(), directory.path());
    let archive = archive.to_str().unwrap();
    let expected = unlade(["unpack", example().to_str().unwrap()]).success();
    for source in [
        archive.to_owned(),
        format!("docker-archive:{archive}"),
        format!("docker-archive:{archive}:tea:1"),
    ] {
        assert!(unlade(["unpack", &source]).success() == expected, "{source}");
    }
}

#[test]
fn a_missing_or_broken_image_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let path = docker_archive(Bundle::new().path(), directory.path());
    let archive = path.to_str().unwrap();
    let stderr = unlade(["unpack", &format!("docker-archive:{archive}:tea:2")]).failure(3);
    assert!(stderr.contains("tea:1"), "{stderr}");
    let stderr = unlade(["unpack", archive, "--max-file-size=100"]).failure(4);
    assert!(stderr.contains("hint: raise the limit with --max-file-size"), "{stderr}");
    let mut bytes = fs::read(&path).unwrap();
    let position = bytes.windows(9).position(|window| window == b"kind: Tea").unwrap();
    bytes[position] = b'K';
    fs::write(&path, bytes).unwrap();
    let stderr = unlade(["unpack", archive]).failure(3);
    assert!(stderr.contains("sha256:"), "{stderr}");
}

#[test]
fn a_directory_with_an_image_layout_is_read_as_one() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    let stderr = unlade(["unpack", directory.path().to_str().unwrap()]).failure(3);
    assert!(stderr.contains("image layout"), "{stderr}");
}

#[test]
fn a_tar_of_a_bundle_directory_is_unpacked_also_from_standard_input() {
    let bundle = Bundle::new();
    let directory = tempfile::tempdir().unwrap();
    let expected = unlade(["unpack", bundle.argument()]).success();
    let mut tar = tar::Builder::new(Vec::new());
    tar.append_dir_all(".", bundle.path()).unwrap();
    let tar = tar.into_inner().unwrap();
    let path = directory.path().join("bundle.tar");
    fs::write(&path, &tar).unwrap();
    assert_eq!(unlade(["unpack", path.to_str().unwrap()]).success(), expected);
    assert_eq!(piped(["unpack", "-"], tar).success(), expected);
    // This is an image, too.
    let image = docker_archive(bundle.path(), directory.path());
    assert_eq!(piped(["unpack", "-"], fs::read(image).unwrap()).success(), expected);
    let stderr = piped(["unpack", "-"], "text").failure(3);
    assert!(stderr.contains("standard input is not a tar archive"), "{stderr}");
}
