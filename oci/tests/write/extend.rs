//! Layers on top of existing images.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use unlade_oci::build::{Config, Entry, Error, Layer, extend, write};
use unlade_oci::digest::sha256;

use crate::fixture::*;

/// Stores a document in a layout, and returns its descriptor.
fn store(layout: &Path, media_type: &str, document: &Value) -> Value {
    let bytes = serde_json::to_vec(document).unwrap();
    let digest = sha256(&bytes).unwrap().to_string();
    fs::write(layout.join("blobs").join(digest.replace(':', "/")), &bytes).unwrap();
    json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
}

/// Writes an image with the documents of docker, in an index with an attestation. `change` changes
/// the configuration.
fn docker_base(place: &Place, change: impl FnOnce(&mut Value)) -> std::path::PathBuf {
    let docker = |name: &str| format!("application/vnd.docker.{name}");
    let layer = Layer::new([Entry::file("bin/opm", "x")]);
    write(
        &image([layer]),
        &format!("oci:{}:base", place.path().join("image").display()).parse().unwrap(),
    )
    .unwrap();
    let layout = place.path().join("image");
    let (mut manifest, mut configuration) = documents(&layout);
    configuration["history"] = json!([{"created_by": "a"}]);
    configuration["docker_version"] = json!("1");
    change(&mut configuration);
    let image_type = docker("container.image.v1+json");
    manifest["config"] = store(&layout, &image_type, &configuration);
    manifest["layers"][0]["mediaType"] = json!(docker("image.rootfs.diff.tar"));
    let manifest_type = docker("distribution.manifest.v2+json");
    manifest["mediaType"] = json!(manifest_type);
    let mut entry = store(&layout, &manifest_type, &manifest);
    entry["platform"] = platform();
    let mut attestation = entry.clone();
    attestation["platform"] = json!({"os": "unknown", "architecture": "unknown"});
    let list_type = docker("distribution.manifest.list.v2+json");
    let list =
        json!({"schemaVersion": 2, "mediaType": list_type, "manifests": [entry, attestation]});
    let mut root = store(&layout, &list_type, &list);
    root["annotations"] = json!({"org.opencontainers.image.ref.name": "base"});
    let index = json!({"schemaVersion": 2, "manifests": [root]});
    fs::write(layout.join("index.json"), index.to_string()).unwrap();
    layout
}

fn platform() -> Value {
    json!({"os": "linux", "architecture": "amd64", "os.version": "1", "os.features": ["a"]})
}

fn config() -> Config {
    let labels = [("a".to_owned(), "b".to_owned())].into();
    Config { env: vec!["A=1".to_owned()], labels, ..Config::default() }
}

#[test]
fn an_image_of_docker_becomes_one_of_the_oci_specification() {
    let place = Place::new();
    let layout = docker_base(&place, |_| {});
    let layers = [Layer::new([Entry::file("configs/a.yaml", "schema: a\n")])];
    let written = extend(&layout, &config(), &layers).unwrap();
    let index = json(&fs::read(layout.join("index.json")).unwrap());
    let root = &index["manifests"][0];
    assert_eq!(root["digest"], written.digest.to_string());
    assert_eq!(root["annotations"]["org.opencontainers.image.ref.name"], "base");
    let list = json(&blob(&layout, root));
    let entries = list["manifests"].as_array().unwrap();
    assert_eq!((entries.len(), &entries[0]["platform"]), (1, &platform()));
    let manifest = json(&blob(&layout, &entries[0]));
    let configuration = json(&blob(&layout, &manifest["config"]));
    let mut media_types = vec![&list["mediaType"], &manifest["mediaType"]];
    media_types.push(&manifest["config"]["mediaType"]);
    media_types.extend(manifest["layers"].as_array().unwrap().iter().map(|it| &it["mediaType"]));
    let oci = |name: &str| json!(format!("application/vnd.oci.image.{name}"));
    let tar = oci("layer.v1.tar");
    let expected =
        [oci("index.v1+json"), oci("manifest.v1+json"), oci("config.v1+json"), tar.clone(), tar];
    assert_eq!(media_types, expected.iter().collect::<Vec<_>>());
    assert_eq!(configuration["rootfs"]["diff_ids"].as_array().unwrap().len(), 2);
    assert_eq!(configuration["history"].as_array().unwrap().len(), 2);
    assert_eq!(configuration["docker_version"], "1");
    let settings = json!({"Env": ["A=1"], "Labels": {"a": "b"}});
    assert_eq!(configuration["config"], settings);
    assert_eq!(written.images[0].platform.to_string(), "linux/amd64");
}

#[test]
fn a_base_that_contradicts_itself_is_refused() {
    let changes: [fn(&mut Value); 6] = [
        |it| it["rootfs"]["diff_ids"] = json!([]),
        |it| it["rootfs"] = json!(7),
        |it| it["config"] = json!([]),
        |it| it["os"] = json!(null),
        // Go reads the names of fields in any letter case.
        |it| it["Config"] = it["config"].take(),
        |it| it["config"]["entrypoint"] = json!(["/evil"]),
    ];
    for change in changes {
        let place = Place::new();
        let layout = docker_base(&place, change);
        let error = extend(&layout, &config(), &[]).unwrap_err();
        assert!(matches!(error, Error::Base { .. }), "{error}");
    }
    let place = Place::new();
    let layout = docker_base(&place, |_| {});
    let index = json(&fs::read(layout.join("index.json")).unwrap());
    let twice =
        json!({"schemaVersion": 2, "manifests": [index["manifests"][0], index["manifests"][0]]});
    fs::write(layout.join("index.json"), twice.to_string()).unwrap();
    assert!(matches!(extend(&layout, &config(), &[]).unwrap_err(), Error::Base { .. }));
}

/// A small index can name a large image thousands of times.
#[test]
fn each_image_of_a_base_counts_even_if_its_documents_are_the_same() {
    let place = Place::new();
    let layout = docker_base(&place, |_| {});
    let index = json(&fs::read(layout.join("index.json")).unwrap());
    let list = json(&blob(&layout, &index["manifests"][0]));
    let extend_repeated = |count| {
        let manifests = vec![&list["manifests"][0]; count];
        let list = json!({"schemaVersion": 2, "manifests": manifests});
        let root = store(&layout, "application/vnd.oci.image.index.v1+json", &list);
        let index = json!({"schemaVersion": 2, "manifests": [root]});
        fs::write(layout.join("index.json"), index.to_string()).unwrap();
        extend(&layout, &config(), &[])
    };
    assert_eq!(extend_repeated(30).unwrap().images.len(), 30);
    let error = extend_repeated(300).unwrap_err();
    assert!(error.to_string().contains("its images are too many"), "{error}");
}

#[test]
fn a_base_whose_values_need_much_memory_is_refused() {
    let place = Place::new();
    let layout = docker_base(&place, |it| it["x"] = json!(vec![json!({"": 0}); 100_000]));
    let text = unlade_text::chain(&extend(&layout, &config(), &[]).unwrap_err());
    assert!(text.contains("its values need more than 67108864 bytes of memory"), "{text}");
}
