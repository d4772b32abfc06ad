use std::fs;

use serde_json::{Value, json};
use unlade_oci::{Error, Image};

use crate::fixture::*;

/// Reads a layout of one image after `change`.
fn changed(change: impl FnOnce(&mut Layout)) -> Result<Image, Error> {
    let mut layout = Layout::of(&[Layer::gzip(Tar::bundle())]);
    change(&mut layout);
    let place = Place::new();
    read(&format!("oci:{}", place.layout(&layout).display()))
}

/// Changes the manifest of the image, and updates its digest.
fn with_manifest(change: impl FnOnce(&mut Value)) -> Result<Image, Error> {
    changed(|layout| {
        let mut manifest = manifest_of(layout);
        change(&mut manifest);
        let descriptor = layout.json(MANIFEST, &manifest);
        layout.manifests = vec![descriptor];
    })
}

fn manifest_of(layout: &Layout) -> Value {
    serde_json::from_slice(&layout.files[&file_of(&layout.manifests[0])]).unwrap()
}

fn file_of(descriptor: &Value) -> String {
    format!("blobs/{}", descriptor["digest"].as_str().unwrap().replace(':', "/"))
}

#[test]
fn a_damaged_blob_is_named() {
    let sound = Layout::of(&[Layer::gzip(Tar::bundle())]);
    let manifest = manifest_of(&sound);
    for descriptor in [&sound.manifests[0], &manifest["config"], &manifest["layers"][0]] {
        let file = file_of(descriptor);
        let digest = descriptor["digest"].as_str().unwrap();
        // A bit in the middle, so that decompression fails too.
        let text = refusal(changed(|layout| {
            let bytes = layout.files.get_mut(&file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }));
        assert!(
            text.contains(&format!("{digest} does not match its digest or size: the digest is")),
            "{text}"
        );
        let text = refusal(changed(|layout| layout.files.get_mut(&file).unwrap().push(b' ')));
        assert!(
            text.contains(&format!("{digest} does not match its digest or size: the size is")),
            "{text}"
        );
        let text = refusal(changed(|layout| {
            layout.files.get_mut(&file).unwrap().pop();
        }));
        assert!(
            text.contains(&format!("{digest} does not match its digest or size: the size is")),
            "{text}"
        );
        let text = refusal(changed(|layout| {
            layout.files.remove(&file);
        }));
        assert!(text.contains(&format!("{file} does not exist")), "{text}");
    }
}

#[test]
fn a_wrong_size_is_refused() {
    for by in [-1_i64, 1] {
        let lie = |descriptor: &mut Value| {
            descriptor["size"] = json!(descriptor["size"].as_i64().unwrap() + by);
        };
        let text = refusal(changed(|layout| lie(&mut layout.manifests[0])));
        assert!(text.contains("size is"), "{text}");
        let text = refusal(with_manifest(|manifest| lie(&mut manifest["config"])));
        assert!(text.contains("size is"), "{text}");
        let text = refusal(with_manifest(|manifest| lie(&mut manifest["layers"][0])));
        assert!(text.contains("size is"), "{text}");
    }
}

#[test]
fn a_tar_other_than_the_configuration_says_is_refused() {
    let tar = Tar::bundle().done();
    let layer = Layer { media_type: LAYER, stored: gzip(&tar), tar: Tar::new().done() };
    let text = refusal(read_layers(&[layer]));
    assert!(text.contains("does not match the configuration: the digest is"), "{text}");
}

#[test]
fn docker_archives_are_verified_by_the_configuration() {
    let layer = Layer::plain(Tar::bundle());
    let config = configuration(std::slice::from_ref(&layer), "amd64").to_string();
    let hex = digest(config.as_bytes()).replace("sha256:", "");
    let with_layers = |layers: &[&str], config_bytes: &str, tar: &[u8]| {
        let items = json!([{"Config": format!("{hex}.json"), "Layers": layers}]);
        let place = Place::new();
        let bytes = Tar::new()
            .file("manifest.json", items.to_string())
            .file(&format!("{hex}.json"), config_bytes)
            .file("l.tar", tar)
            .done();
        read(&format!("docker-archive:{}", place.file("a.tar", &bytes).display()))
    };
    let archive = |config_bytes: &str, tar: &[u8]| with_layers(&["l.tar"], config_bytes, tar);
    assert!(archive(&config, &layer.tar).is_ok());
    for layers in [&[][..], &["l.tar"; 2]] {
        let text = refusal(with_layers(layers, &config, &layer.tar));
        let n = layers.len();
        assert!(
            text.contains(&format!("the manifest has {n} layers, but the configuration has 1")),
            "{text}"
        );
    }
    let text = refusal(archive(&format!("{config} "), &layer.tar));
    assert!(text.contains(&format!("{hex}.json does not match its digest")), "{text}");
    let text = refusal(archive(&config, &Tar::bundle().file("manifests/b", "b").done()));
    assert!(text.contains("tar of the layer l.tar does not match the configuration"), "{text}");
}

#[test]
fn manifest_and_configuration_have_as_many_layers() {
    let text = refusal(with_manifest(|manifest| {
        let layer = manifest["layers"][0].clone();
        manifest["layers"].as_array_mut().unwrap().push(layer);
    }));
    assert!(text.contains("the manifest has 2 layers, but the configuration has 1"), "{text}");
}

#[test]
fn the_error_about_another_artifact_names_its_media_type() {
    let chart = "application/vnd.cncf.helm.config.v1+json";
    let text = refusal(with_manifest(|manifest| manifest["config"]["mediaType"] = json!(chart)));
    assert!(
        text.contains(chart) && text.contains("not the media type of an image configuration"),
        "{text}"
    );
    let other = "application/vnd.oci.image.layer.v1.tar+gzip+encrypted";
    let text = refusal(with_manifest(|manifest| manifest["layers"][0]["mediaType"] = json!(other)));
    assert!(text.contains(other) && text.contains("not the media type of a layer"), "{text}");
    let old = "application/vnd.docker.distribution.manifest.v1+prettyjws";
    let text = refusal(changed(|layout| layout.manifests[0]["mediaType"] = json!(old)));
    assert!(text.contains(old) && text.contains("not the media type of an image"), "{text}");
}

#[test]
fn layers_that_are_stored_elsewhere_are_refused() {
    for media_type in [
        "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
        "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
    ] {
        let text = refusal(with_manifest(|manifest| {
            manifest["layers"][0]["mediaType"] = json!(media_type);
        }));
        assert!(text.contains("is not distributable"), "{text}");
    }
}

#[test]
fn docker_media_types_are_known() {
    let result = changed(|layout| {
        let mut manifest = manifest_of(layout);
        let types = "application/vnd.docker";
        manifest["mediaType"] = json!(format!("{types}.distribution.manifest.v2+json"));
        manifest["config"]["mediaType"] = json!(format!("{types}.container.image.v1+json"));
        let layer = json!(format!("{types}.image.rootfs.diff.tar.gzip"));
        manifest["layers"][0]["mediaType"] = layer;
        let media_type = manifest["mediaType"].as_str().unwrap().to_owned();
        let image = layout.json(&media_type, &manifest);
        let list = json!({"schemaVersion": 2, "manifests": [image]});
        let list_type = format!("{types}.distribution.manifest.list.v2+json");
        layout.manifests = vec![layout.json(&list_type, &list)];
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn a_manifest_that_could_be_an_index_is_refused() {
    let text = refusal(with_manifest(|manifest| manifest["manifests"] = json!([])));
    assert!(text.contains("ambiguous"), "{text}");
}

#[test]
fn algorithms_that_cannot_be_verified_are_refused() {
    let text = refusal(changed(|layout| {
        layout.manifests[0]["digest"] = json!("md5:d41d8cd98f00b204e9800998ecf8427e");
        layout.files.insert("blobs/md5/d41d8cd98f00b204e9800998ecf8427e".into(), Vec::new());
    }));
    assert!(text.contains("the digest algorithm \"md5\" is not supported"), "{text}");
}

#[test]
fn a_digest_cannot_lead_out_of_the_layout() {
    let text = refusal(changed(|layout| {
        layout.manifests[0]["digest"] = json!("sha256:../../../../etc/passwd");
    }));
    assert!(text.contains("index.json is not a valid document"), "{text}");
}

#[test]
fn a_layout_of_another_version_is_refused() {
    let place = Place::new();
    let path = place.layout(&Layout::of(&[Layer::plain(Tar::bundle())]));
    let source = format!("oci:{}", path.display());
    fs::write(path.join("oci-layout"), r#"{"imageLayoutVersion":"2.0\u001b\u202e"}"#).unwrap();
    let text = refusal(read(&source));
    assert!(text.contains(r#"version "2.0\u{1b}\u{202e}""#), "{text}");
    // containers/image does not require the file.
    fs::remove_file(path.join("oci-layout")).unwrap();
    assert!(read(&source).is_ok());
}
