//! Indexes from which container engines choose different images.

use serde_json::{Value, json};
use unlade_oci::{Error, Image};

use super::fixture::{Layer, Layout, Place, Tar, manifests, named, read_for};

const LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER: &str = "application/vnd.docker.distribution.manifest.v2+json";
const ZSTD: &str = "io.github.containers.compression.zstd";

/// Returns a layout with two images for linux/amd64 that have different content, and their
/// descriptors.
fn two_images() -> (Layout, [Value; 2]) {
    let mut layout = Layout::new();
    let images = ["0", "1"].map(|number| {
        let tar = Tar::bundle().file("manifests/number.yaml", number);
        with(&layout.image(&[Layer::plain(tar)], "amd64"), &json!({"platform": platform("amd64")}))
    });
    (layout, images)
}

fn platform(architecture: &str) -> Value {
    json!({"os": "linux", "architecture": architecture})
}

/// Replaces fields of a descriptor. Null removes a field.
fn with(descriptor: &Value, changes: &Value) -> Value {
    let mut descriptor = descriptor.clone();
    let fields = descriptor.as_object_mut().unwrap();
    for (name, value) in changes.as_object().unwrap() {
        fields.insert(name.clone(), value.clone());
    }
    fields.retain(|_, value| !value.is_null());
    descriptor
}

fn read_index(
    mut layout: Layout,
    media_type: Option<&str>,
    entries: &[Value],
) -> Result<Image, Error> {
    let index = layout.index(entries);
    let index = media_type.map_or(index, |media_type| {
        let list = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": entries});
        layout.json(media_type, &list)
    });
    layout.manifests = vec![named(index, "v1")];
    let place = Place::new();
    read_for(&format!("oci:{}:v1", place.layout(&layout).display()), "linux/amd64")
}

/// Reads an index of two images with these changes. Returns the number of the image, or the error.
fn choose(media_type: Option<&str>, changes: &[Value; 2]) -> Result<String, Error> {
    let (layout, images) = two_images();
    let entries = [0, 1].map(|at| with(&images[at], &changes[at]));
    let image = read_index(layout, media_type, &entries)?;
    let number = manifests(&image).into_iter().find(|(name, _)| *name == "number.yaml");
    Ok(number.unwrap().1.to_owned())
}

#[track_caller]
fn assert_refused(result: Result<String, Error>, label: &str) {
    let error = result.err().unwrap_or_else(|| panic!("{label}: an image is read"));
    let text = unlade_text::chain(&error);
    assert!(text.contains("container engines may choose different images"), "{label}: {text}");
    assert!(error.hint().unwrap().contains("@sha256:"), "{label}");
}

#[test]
fn an_index_from_which_engines_choose_another_image_is_refused() {
    let none = || json!({});
    let reference = || json!({"annotations": {"vnd.docker.reference.type": "x"}});
    for (label, changes) in [
        ("reference type", [reference(), none()]),
        ("artifact type", [json!({"artifactType": "a/b"}), none()]),
        (
            "media type",
            [json!({"mediaType": "application/vnd.oci.artifact.manifest.v1+json"}), none()],
        ),
        ("other name of the architecture", [json!({"platform": platform("x86_64")}), none()]),
        ("upper case", [json!({"platform": {"os": "Linux", "architecture": "amd64"}}), none()]),
        ("no system", [json!({"platform": {"os": "", "architecture": "amd64"}}), none()]),
        (
            "variant",
            [
                json!({"platform": {"os": "linux", "architecture": "amd64", "variant": "v1"}}),
                none(),
            ],
        ),
        ("zstd", [none(), json!({"annotations": {ZSTD: "true"}})]),
        (
            "zstd and reference type",
            [none(), json!({"annotations": {ZSTD: "true", "vnd.docker.reference.type": "x"}})],
        ),
        ("two images", [none(), none()]),
        ("older processor", [json!({"platform": platform("386")}), json!({"platform": null})]),
        (
            "features of the system",
            [
                json!({"platform": {"os": "linux", "architecture": "amd64", "os.features": ["a"]}}),
                json!({"platform": platform("386")}),
            ],
        ),
        (
            "artifact without a platform",
            [json!({"platform": null, "artifactType": "a/b"}), json!({"platform": null})],
        ),
    ] {
        assert_refused(choose(None, &changes), label);
    }
    let docker = json!({"mediaType": DOCKER});
    let marked = with(&docker, &reference());
    assert_refused(choose(Some(LIST), &[marked, docker]), "manifest list");
}

#[test]
fn an_index_from_which_engines_choose_the_same_image_is_read() {
    let none = || json!({});
    for (label, changes, number) in [
        ("artifact behind the image", [none(), json!({"artifactType": "a/b"})], "0"),
        (
            "attestation",
            [json!({"platform": {"os": "unknown", "architecture": "unknown"}}), none()],
            "1",
        ),
        ("no platform", [json!({"platform": null}), none()], "1"),
        (
            "better processor",
            [
                json!({"platform": {"os": "linux", "architecture": "amd64", "variant": "v2"}}),
                none(),
            ],
            "1",
        ),
        ("another platform", [json!({"platform": platform("s390x")}), none()], "1"),
        (
            "another platform, and none",
            [json!({"platform": platform("s390x")}), json!({"platform": null})],
            "1",
        ),
        (
            "another system",
            [json!({"platform": {"os": "windows", "architecture": "amd64"}}), none()],
            "1",
        ),
    ] {
        let found = choose(None, &changes).unwrap_or_else(|error| panic!("{label}: {error:?}"));
        assert_eq!(found, number, "{label}");
    }
}

/// containers/image detects the variant of the processor, and chooses the best one.
#[test]
fn an_image_for_arm_without_a_variant_must_be_that_of_every_node() {
    let read = |wanted: &str, variants: [Option<&str>; 2]| {
        let (mut layout, images) = two_images();
        let entries = [0, 1].map(|at| {
            let platform = json!({"os": "linux", "architecture": "arm", "variant": variants[at].unwrap_or_default()});
            with(&images[at], &json!({"platform": platform}))
        });
        layout.manifests = vec![layout.index(&entries)];
        let place = Place::new();
        let image = read_for(&format!("oci:{}", place.layout(&layout).display()), wanted)?;
        Ok((image.digest.unwrap().to_string() == entries[0]["digest"]).to_string())
    };
    for wanted in ["linux/arm", "linux/arm/v7", "linux/arm/v8"] {
        assert_refused(read(wanted, [None, Some("v6")]), wanted);
    }
    for wanted in ["linux/arm", "linux/arm/v7", "linux/arm/v8"] {
        assert_eq!(read(wanted, [Some("v7"), Some("v6")]).unwrap(), "true", "{wanted}");
    }
    assert_eq!(read("linux/arm/v6", [Some("v7"), Some("v6")]).unwrap(), "false");
}

/// podman pushes an image with two compressions in this way.
#[test]
fn images_with_one_configuration_are_interchangeable() {
    let mut layout = Layout::new();
    let image = json!({"platform": platform("amd64")});
    let gzip = with(&layout.image(&[Layer::gzip(Tar::bundle())], "amd64"), &image);
    let zstd = with(&layout.image(&[Layer::zstd(Tar::bundle())], "amd64"), &image);
    let zstd = with(&zstd, &json!({"annotations": {ZSTD: "true"}}));
    let found = read_index(layout, None, &[gzip.clone(), zstd]).unwrap();
    assert_eq!(found.digest.unwrap().as_ref(), gzip["digest"]);
}

/// containers/image does not compare layers with the diff IDs in the configuration.
#[test]
fn layers_other_than_the_shared_configuration_says_are_refused() {
    let evil = || Tar::bundle().file("manifests/evil.yaml", "");
    for (first, second) in [(Tar::bundle(), evil()), (evil(), Tar::bundle())] {
        let mut layout = Layout::new();
        let expected = Layer::gzip(Tar::bundle()).tar;
        let entries = [first, second].map(|tar| {
            let layer = Layer { tar: expected.clone(), ..Layer::gzip(tar) };
            with(&layout.image(&[layer], "amd64"), &json!({"platform": platform("amd64")}))
        });
        let error = read_index(layout, None, &entries).unwrap_err();
        let text = unlade_text::chain(&error);
        assert!(text.contains("failed to compare the image"), "{text}");
        assert!(text.contains("does not match the configuration"), "{text}");
        assert!(error.hint().unwrap().contains("@sha256:"));
    }
}

#[test]
fn an_entry_may_occur_twice() {
    let (layout, [image, _]) = two_images();
    let twice = with(&image, &json!({"annotations": {"a": "b"}}));
    assert!(read_index(layout, None, &[image, twice]).is_ok());
}

#[test]
fn a_few_small_manifests_with_one_configuration_are_compared() {
    let read = |n_others: usize, size: usize| {
        let mut layout = Layout::new();
        let image = layout.image(&[Layer::plain(Tar::bundle())], "amd64");
        let path = image["digest"].as_str().unwrap().replace(':', "/");
        let bytes = layout.files[&format!("blobs/{path}")].clone();
        let entries: Vec<_> = (0..=n_others)
            .map(|number| {
                let mut manifest: Value = serde_json::from_slice(&bytes).unwrap();
                manifest["annotations"] =
                    json!({"number": number.to_string(), "a": "a".repeat(size)});
                let entry = layout.json(image["mediaType"].as_str().unwrap(), &manifest);
                with(&entry, &json!({"platform": platform("amd64")}))
            })
            .collect();
        read_index(layout, None, &entries).map(|_| String::new())
    };
    assert!(read(4, 250_000).is_ok());
    assert_refused(read(5, 1), "five others");
    assert_refused(read(1, 256 << 10), "large manifests");
}

#[test]
fn images_for_several_versions_of_windows_are_read() {
    let (mut layout, images) = two_images();
    let entries = ["10.0.1", "10.0.2"].map(|version| {
        let platform = json!({"os": "windows", "architecture": "amd64", "os.version": version});
        let at = usize::from(version == "10.0.2");
        with(&images[at], &json!({"platform": platform}))
    });
    let index = layout.index(&entries);
    layout.manifests = vec![index];
    let place = Place::new();
    let image = read_for(&format!("oci:{}", place.layout(&layout).display()), "windows/amd64");
    assert_eq!(image.unwrap().digest.unwrap().as_ref(), entries[0]["digest"]);
}
