use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::{
    bundle::{Bundle, example},
    corpus::sha256,
    run::unlade,
};

/// Writes a docker archive with the files of `bundle` in its one layer.
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
fn an_image_that_is_not_there_or_broken_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let path = docker_archive(Bundle::new().path(), directory.path());
    let archive = path.to_str().unwrap();
    let stderr = unlade(["unpack", &format!("docker-archive:{archive}:tea:2")]).failure(3);
    assert!(stderr.contains("tea:1"), "{stderr}");
    let stderr = unlade(["unpack", archive, "--max-file-size=100"]).failure(4);
    assert!(stderr.contains("hint: --max-file-size"), "{stderr}");
    let mut bytes = fs::read(&path).unwrap();
    let position = bytes.windows(9).position(|window| window == b"kind: Tea").unwrap();
    bytes[position] = b'K';
    fs::write(&path, bytes).unwrap();
    let stderr = unlade(["unpack", archive]).failure(3);
    assert!(stderr.contains("sha256:"), "{stderr}");
}

#[test]
fn a_name_of_a_registry_is_refused_with_what_to_do() {
    let stderr = unlade(["unpack", "example.com/tea/operator:v1"]).failure(1);
    assert!(stderr.contains("\nhint: "), "{stderr}");
    assert!(stderr.contains("skopeo copy docker://example.com/tea/operator:v1"), "{stderr}");
}

#[test]
fn a_directory_with_an_image_layout_is_read_as_one() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    let stderr = unlade(["unpack", directory.path().to_str().unwrap()]).failure(3);
    assert!(stderr.contains("image layout"), "{stderr}");
}
