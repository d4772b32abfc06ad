use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use unlade_oci::build::{self, Compression, Layer, write_index};
use unlade_oci::copy::{BoxError, Copied, Destination, Error, Options, copy, to_disk};
use unlade_oci::{Descriptor, Options as ReadOptions, Reference, read};

use crate::fixture::*;
use crate::peer::run;

fn all() -> Options {
    Options::default().with_all(true)
}

pub(crate) fn copy_to(source: &str, output: &str, options: &Options) -> Result<Copied, Error> {
    let source = source.parse().unwrap();
    let output: Reference = output.parse().unwrap();
    to_disk(&output, |destination| copy(&source, destination, options))
}

pub(crate) fn in_place(place: &Place, transport: &str, name: &str) -> String {
    format!("{transport}:{}", place.path().join(name).display())
}

/// Writes an index of two images, and returns its name and its digest.
fn index(place: &Place) -> (String, String) {
    let images = ["linux/amd64", "linux/arm64"].map(|name| {
        let mut image = image([Layer::new(bundle()).compressed(Compression::Gzip)]);
        image.platform = platform(name);
        image
    });
    let output = in_place(place, "oci", "index");
    let written = write_index(&images, &output.parse().unwrap()).unwrap();
    (output, written.digest.to_string())
}

pub(crate) fn digest_of(source: &str) -> String {
    let image = read(&source.parse().unwrap(), &ReadOptions::default()).unwrap();
    image.digest.unwrap().to_string()
}

#[test]
fn a_copy_in_any_format_has_the_same_digest() {
    let place = Place::new();
    let image = image([Layer::new(bundle()).compressed(Compression::Gzip)]);
    let (written, mut source) = place.write(&image, "oci");
    let expected = read_back(&source);
    for (transport, name) in [("dir", "a"), ("oci-archive", "b"), ("dir", "c"), ("oci", "d")] {
        let output = in_place(&place, transport, name);
        let copied = copy_to(&source, &output, &Options::default()).unwrap();
        assert_eq!(copied.digest, written.digest);
        assert_eq!((copied.blobs, copied.present), (2, 0));
        assert_eq!(read_back(&output), expected);
        assert_eq!(digest_of(&output), written.digest.to_string());
        source = output;
    }
    // The format of a plain directory is detected.
    assert_eq!(read_back(place.path().join("a").to_str().unwrap()), expected);
    assert_eq!(place.names(), ["a", "b", "c", "d", "image"]);
}

#[test]
fn an_index_is_copied_whole_only_on_request() {
    let place = Place::new();
    let (mut source, digest) = index(&place);
    let arm = Options::default().with_platform(Some(platform("linux/arm64")));
    let one = copy_to(&source, &in_place(&place, "oci-archive", "one"), &arm).unwrap();
    assert_eq!(one.blobs, 2);
    for transport in ["dir", "oci-archive", "oci"] {
        let output = in_place(&place, transport, &format!("all-{transport}"));
        let copied = copy_to(&source, &output, &all()).unwrap();
        // Both images have the same layer.
        assert_eq!((copied.digest.to_string(), copied.blobs), (digest.clone(), 3));
        let options = ReadOptions::default().with_platform(Some(platform("linux/arm64")));
        let arm = read(&output.parse().unwrap(), &options).unwrap();
        assert_eq!(arm.digest.unwrap(), one.digest, "{output}");
        source = output;
    }
}

#[test]
fn a_layout_keeps_its_images_and_its_blobs() {
    let place = Place::new();
    let layer = || Layer::new(bundle()).compressed(Compression::Gzip);
    let (_, first) = place.write(&image([layer()]), "oci-archive");
    let other = Place::new();
    let mut image = image([layer()]);
    image.config.labels.insert("b".to_owned(), "2".to_owned());
    let (_, second) = other.write(&image, "oci-archive");
    let name = |tag: &str| format!("{}:{tag}", in_place(&place, "oci", "layout"));
    let (one, two) = (name("v1"), name("v2"));
    assert_eq!(copy_to(&first, &one, &Options::default()).unwrap().present, 0);
    // The layout already has the layer.
    assert_eq!(copy_to(&second, &two, &Options::default()).unwrap().present, 1);
    assert_ne!(digest_of(&one), digest_of(&two));
    assert_eq!(digest_of(&two), digest_of(&second));
    // The name moves to another image.
    let copied = copy_to(&second, &one, &Options::default()).unwrap();
    assert_eq!((copied.blobs, copied.present), (0, 2));
    assert_eq!(digest_of(&one), digest_of(&second));
    assert_eq!(digest_of(&two), digest_of(&second));
    let files = fs::read_dir(place.path().join("layout")).unwrap().count();
    assert_eq!(files, 3, "nothing temporary is left");
}

#[test]
fn copies_at_the_same_time_do_not_lose_each_other() {
    for exists in [false, true] {
        let place = Place::new();
        let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
        let layout = in_place(&place, "oci", "layout");
        if exists {
            fs::create_dir(place.path().join("layout")).unwrap();
        }
        thread::scope(|scope| {
            for thread in 0..8 {
                let (source, layout) = (&source, &layout);
                scope.spawn(move || {
                    for tag in 0..8 {
                        let output = format!("{layout}:v{thread}.{tag}");
                        copy_to(source, &output, &Options::default()).unwrap();
                    }
                });
            }
        });
        let index = fs::read(place.path().join("layout/index.json")).unwrap();
        let index: Value = serde_json::from_slice(&index).unwrap();
        assert_eq!(index["manifests"].as_array().unwrap().len(), 64);
    }
}

#[test]
fn two_copies_to_an_empty_directory_at_the_same_time_leave_one_image() {
    for _ in 0..16 {
        let place = Place::new();
        let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
        fs::create_dir(place.path().join("out")).unwrap();
        let output = in_place(&place, "dir", "out");
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| copy_to(&source, &output, &Options::default()).unwrap());
            }
        });
        assert_eq!(digest_of(&output), digest_of(&source));
    }
}

#[test]
fn a_name_of_a_copy_is_not_the_full_name_of_another_image() {
    let place = Place::new();
    let (_, old) = place.write(&image([Layer::new(bundle())]), "oci-archive");
    let other = Place::new();
    let (_, new) = other.write(&image([Layer::new(bundle()).compressed(Compression::Gzip)]), "oci");
    for (name, full) in [
        ("docker.io/library/x:1.0", "docker.io/library/x:1.0"),
        ("x:1.0", "docker.io/library/x:1.0"),
        ("docker.io/library/x", "docker.io/library/x:latest"),
    ] {
        let layout = place.path().join(name.replace(['/', ':'], "-"));
        let output = |name: &str| format!("oci:{}:{name}", layout.display());
        copy_to(&old, &output("1.0"), &Options::default()).unwrap();
        // As `docker save` and containerd write it.
        let path = layout.join("index.json");
        let mut index: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        index["manifests"][0]["annotations"]["io.containerd.image.name"] = json!(full);
        fs::write(&path, serde_json::to_vec(&index).unwrap()).unwrap();
        assert_eq!(digest_of(&output(name)), digest_of(&old));
        copy_to(&new, &output(name), &Options::default()).unwrap();
        assert_eq!(digest_of(&output(name)), digest_of(&new));
        assert_eq!(digest_of(&output("1.0")), digest_of(&old));
    }
}

#[test]
fn nothing_is_left_of_a_copy_that_fails() {
    let place = Place::new();
    let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
    let good: Vec<_> = ["oci:l:v1", "oci-archive:a", "dir:d"]
        .map(|output| output.replacen(':', &format!(":{}/", place.path().display()), 1))
        .into();
    for output in &good {
        copy_to(&source, output, &Options::default()).unwrap();
    }
    let (manifest, _) = documents(&place.path().join("image"));
    let layer = manifest["layers"][0]["digest"].as_str().unwrap().replace("sha256:", "");
    let path = place.path().join("image/blobs/sha256").join(layer);
    let mut bytes = fs::read(&path).unwrap();
    bytes[0] ^= 1;
    fs::write(&path, bytes).unwrap();
    let before = place.names();
    for output in &good {
        // The layout has the layer, so it does not read the damaged one.
        let fresh = output.replace("oci:", "oci:x");
        let fresh = if fresh == *output { output.clone() } else { in_place(&place, "oci", "new") };
        let error = copy_to(&source, &fresh, &Options::default()).unwrap_err();
        assert!(matches!(error, Error::Manifest(_)), "{error}");
        assert_eq!(read_back(output), pairs(&[("csv.yaml", "kind: A")]));
    }
    assert_eq!(place.names(), before);
}

#[test]
fn a_directory_with_other_files_is_not_replaced() {
    let place = Place::new();
    let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
    place.bundle(&[]);
    for transport in ["dir", "oci"] {
        let output = in_place(&place, transport, "bundle");
        let error = copy_to(&source, &output, &Options::default()).unwrap_err();
        let Error::Destination(error) = error else { panic!("{error}") };
        let error = error.downcast::<build::Error>().unwrap();
        assert!(matches!(*error, build::Error::Exists { .. }), "{error}");
    }
    assert!(place.path().join("bundle/metadata/annotations.yaml").exists());
    let output = in_place(&place, "docker-archive", "new");
    assert!(copy_to(&source, &output, &Options::default()).is_err());
}

#[test]
fn a_directory_of_an_application_is_not_replaced() {
    let place = Place::new();
    let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
    let directory = place.path().join("application");
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("version"), "1.4.2\n").unwrap();
    fs::write(directory.join("manifest.json"), "{}").unwrap();
    let output = in_place(&place, "dir", "application");
    let error = copy_to(&source, &output, &Options::default()).unwrap_err();
    assert!(unlade_text::chain(&error).contains("is not empty"), "{error}");
    assert_eq!(fs::read_to_string(directory.join("version")).unwrap(), "1.4.2\n");
    // An image in the same format is replaced.
    fs::write(directory.join("version"), "Directory Transport Version: 1.0\n").unwrap();
    copy_to(&source, &output, &Options::default()).unwrap();
    assert_eq!(read_back(&output), pairs(&[("csv.yaml", "kind: A")]));
    // So is a link to one, but not the directory that it leads to.
    std::os::unix::fs::symlink("application", place.path().join("link")).unwrap();
    let link = in_place(&place, "dir", "link");
    copy_to(&source, &link, &Options::default()).unwrap();
    assert_eq!(read_back(&link), read_back(&output));
    assert!(place.path().join("link").symlink_metadata().unwrap().is_dir());
    let left = place_names(place.path()).into_iter().filter(|name| name.starts_with('.'));
    assert_eq!(left.collect::<Vec<_>>(), [""; 0]);
}

/// `umoci init` writes such a layout.
#[test]
fn an_image_is_added_to_a_layout_whose_list_of_images_is_null() {
    let place = Place::new();
    let (_, source) = place.write(&image([Layer::new(bundle())]), "oci-archive");
    let (layout, output) = (place.path().join("layout"), in_place(&place, "oci", "layout"));
    fs::create_dir(&layout).unwrap();
    fs::write(layout.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
    fs::write(layout.join("index.json"), r#"{"schemaVersion":2,"manifests":null}"#).unwrap();
    copy_to(&source, &output, &Options::default()).unwrap();
    assert_eq!(digest_of(&output), digest_of(&source));
}

#[test]
fn nothing_is_copied_to_a_layout_without_a_valid_index() {
    let place = Place::new();
    let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
    let output = in_place(&place, "oci", "layout");
    copy_to(&source, &output, &Options::default()).unwrap();
    let (layout, output) = (place.path().join("layout"), output.parse().unwrap());
    let null = r#"{"schemaVersion": 2, "manifests": [{}], "manifests": null}"#;
    for text in [None, Some("{"), Some("{}"), Some(null)] {
        fs::remove_file(layout.join("index.json")).unwrap_or_default();
        text.map_or(Ok(()), |text| fs::write(layout.join("index.json"), text)).unwrap();
        let before = place_names(&layout).len();
        let result = to_disk(&output, |_| panic!("the image is read"));
        let text = unlade_text::chain(&result.unwrap_err());
        assert!(text.contains("failed to read") && text.contains("index.json"), "{text}");
        assert_eq!(place_names(&layout).len(), before);
    }
    let index = layout.join("index.json");
    let refused = || {
        let result = to_disk(&output, |_| panic!("the image is read"));
        unlade_text::chain(&result.unwrap_err())
    };
    fs::write(&index, " ".repeat((4 << 20) + 1)).unwrap();
    let text = refused();
    assert!(text.contains("it is larger than 4194304 bytes"), "{text}");
    let values = "{\"\":0},".repeat(100_000);
    let large = format!("{{\"schemaVersion\":2,\"manifests\":[],\"x\":[{values}0]}}");
    fs::write(&index, large).unwrap();
    let text = refused();
    assert!(text.contains("its values need more than 67108864 bytes of memory"), "{text}");
    fs::remove_file(&index).unwrap();
    assert!(Command::new("mkfifo").arg(&index).status().unwrap().success());
    // Opening a FIFO would wait for a writer.
    let text = refused();
    assert!(text.contains("it is not a regular file"), "{text}");
}

/// Stores a document in a layout, and returns its descriptor.
fn store(layout: &Path, document: &Value, media_type: &str) -> Value {
    let bytes = serde_json::to_vec(document).unwrap();
    let digest = unlade_oci::digest::sha256(&bytes).unwrap();
    fs::write(layout.join("blobs/sha256").join(digest.digest()), &bytes).unwrap();
    json!({"mediaType": media_type, "digest": digest.to_string(), "size": bytes.len()})
}

#[test]
fn a_digest_that_is_listed_in_several_roles_is_copied_for_each() {
    const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    let place = Place::new();
    let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
    let layout = place.path().join("image");
    let (normal, _) = documents(&layout);
    let second = store(&layout, &normal, MANIFEST);
    // The first image has the layer of the second as one that is elsewhere, and its manifest as a
    // layer.
    let mut first = normal.clone();
    let mut foreign = normal["layers"][0].clone();
    foreign["mediaType"] = "application/vnd.oci.image.layer.nondistributable.v1.tar".into();
    foreign["urls"] = json!(["https://elsewhere.example/layer"]);
    let mut layer = second.clone();
    layer["mediaType"] = normal["layers"][0]["mediaType"].clone();
    first["layers"] = json!([foreign, layer]);
    let first = store(&layout, &first, MANIFEST);
    let index = json!({"schemaVersion": 2, "mediaType": INDEX, "manifests": [first, second]});
    let root = store(&layout, &index, INDEX);
    let index = json!({"schemaVersion": 2, "manifests": [root]});
    fs::write(layout.join("index.json"), serde_json::to_vec(&index).unwrap()).unwrap();

    let output = in_place(&place, "dir", "copy");
    // The configuration, the layer, and the manifest that is also a layer.
    assert_eq!(copy_to(&source, &output, &all()).unwrap().blobs, 3);
    let names = place_names(&place.path().join("copy"));
    let hex = |descriptor: &Value| descriptor["digest"].as_str().unwrap().replace("sha256:", "");
    let manifest = hex(&second);
    for name in [hex(&normal["layers"][0]), manifest.clone(), format!("{manifest}.manifest.json")] {
        assert!(names.contains(&name), "{name}: {names:?}");
    }
}

#[test]
fn a_damaged_manifest_or_blob_of_a_directory_is_refused() {
    let place = Place::new();
    let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
    let output = in_place(&place, "dir", "dir");
    copy_to(&source, &output, &Options::default()).unwrap();
    let directory = place.path().join("dir");
    for name in place_names(&directory).into_iter().filter(|name| name != "version") {
        let bytes = fs::read(directory.join(&name)).unwrap();
        fs::write(directory.join(&name), [&bytes[..], b" "].concat()).unwrap();
        let result = read(&output.parse().unwrap(), &ReadOptions::default());
        // The manifest has no other digest to compare it with.
        assert_eq!(result.is_ok(), name == "manifest.json", "{name}");
        fs::write(directory.join(&name), bytes).unwrap();
    }
    fs::remove_file(directory.join("manifest.json")).unwrap();
    let error = read(&output.parse().unwrap(), &ReadOptions::default()).unwrap_err();
    assert!(unlade_text::chain(&error).contains("manifest.json does not exist"), "{error}");
}

pub(crate) fn place_names(directory: &Path) -> Vec<String> {
    let files = fs::read_dir(directory).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
#[ignore = "needs skopeo"]
fn skopeo_reads_what_is_copied_and_its_copies_are_read() {
    let place = Place::new();
    let (source, digest) = index(&place);
    let (ours, theirs) = (in_place(&place, "dir", "ours"), in_place(&place, "dir", "theirs"));
    let skopeo = ["copy", "--quiet", "--insecure-policy", "--all"];
    copy_to(&source, &ours, &all()).unwrap();
    run("skopeo", &[&skopeo[..], &[&source, &theirs]].concat());
    let names = |name: &str| {
        let mut names = place_names(&place.path().join(name));
        names.sort();
        names
    };
    assert_eq!(names("ours"), names("theirs"));
    for name in names("ours") {
        let read = |directory: &str| fs::read(place.path().join(directory).join(&name)).unwrap();
        assert!(read("ours") == read("theirs"), "{name}");
    }
    let back = in_place(&place, "oci", "back");
    assert_eq!(copy_to(&theirs, &back, &all()).unwrap().digest.to_string(), digest);
    run("skopeo", &[&skopeo[..], &[&ours, &in_place(&place, "oci-archive", "again")]].concat());
    // It adds to the layouts that we write, and we to its.
    let second = format!("{back}:second");
    run("skopeo", &[&skopeo[..], &[&ours, &second]].concat());
    copy_to(&ours, &format!("{back}:third"), &all()).unwrap();
    let raw = run("skopeo", &["inspect", "--raw", &format!("{back}:third")]);
    assert_eq!(unlade_oci::digest::sha256(raw.as_bytes()).unwrap().to_string(), digest);
}

#[test]
#[ignore = "needs skopeo"]
fn an_image_of_a_docker_archive_gets_a_manifest() {
    let place = Place::new();
    let (_, archive) =
        place.write(&image([Layer::new(bundle()).compressed(Compression::Gzip)]), "oci-archive");
    let docker = format!("{}:x:v1", in_place(&place, "docker-archive", "docker.tar"));
    run("skopeo", &["copy", "--quiet", "--insecure-policy", &archive, &docker]);
    let copy = in_place(&place, "oci", "copy");
    copy_to(&docker, &copy, &Options::default()).unwrap();
    let options = ReadOptions::default();
    let [docker, copy] = [docker, copy].map(|name| read(&name.parse().unwrap(), &options).unwrap());
    assert_eq!(docker.id, copy.id);
    assert_eq!(docker.reading, copy.reading);
}

/// A destination that cannot store blobs.
struct Full;

impl Destination for Full {
    fn has(&self, _: &Descriptor) -> Result<bool, BoxError> {
        Ok(false)
    }

    fn blob(&self, _: &Descriptor, reader: &mut dyn Read) -> Result<(), BoxError> {
        // It fails if another blob was refused first.
        reader.read_exact(&mut [0])?;
        Err("the disk is full".into())
    }

    fn manifest(&self, _: &Descriptor, _: &[u8], _: bool) -> Result<(), BoxError> {
        Err("a blob is missing".into())
    }
}

#[test]
fn a_destination_that_fails_is_reported_before_the_rest_of_the_blob_is_read() {
    let place = Place::new();
    let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
    let copied = copy(&source.parse().unwrap(), &Full, &Options::default());
    assert!(matches!(copied, Err(Error::Destination(_))), "{copied:?}");
    // A blob that is damaged further on is not read to its end, either.
    for blob in fs::read_dir(place.path().join("image/blobs/sha256")).unwrap() {
        let path = blob.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        if !String::from_utf8_lossy(&bytes).contains("image.config") {
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(&path, bytes).unwrap();
        }
    }
    let copied = copy(&source.parse().unwrap(), &Full, &Options::default());
    assert!(matches!(copied, Err(Error::Destination(_))), "{copied:?}");
}

#[test]
fn the_number_of_parts_of_a_copy_is_limited() {
    let place = Place::new();
    let (source, _) = index(&place);
    let mut options = all();
    options.limits.names = 800;
    let error = copy_to(&source, &in_place(&place, "oci", "copy"), &options).unwrap_err();
    assert!(error.is_limit(), "{error:?}");
    options.limits.names = 8_000;
    copy_to(&source, &in_place(&place, "oci", "copy"), &options).unwrap();
}

#[test]
fn files_of_a_killed_process_are_deleted_and_files_in_use_are_kept() {
    let place = Place::new();
    let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
    let directories =
        ["left", "used"].map(|name| place.path().join(format!(".unlade-image-{name}")));
    // An image that was being replaced is the only copy of it.
    let replaced = place.path().join(".unlade-replaced-left");
    for directory in directories.iter().chain([&replaced]) {
        fs::create_dir_all(directory.join("image")).unwrap();
    }
    let lock = fs::File::open(&directories[1]).unwrap();
    lock.lock().unwrap();
    copy_to(&source, &in_place(&place, "oci", "copy"), &Options::default()).unwrap();
    assert_eq!(directories.map(|directory| directory.exists()), [false, true]);
    assert!(replaced.join("image").exists());
}
