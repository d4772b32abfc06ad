use std::fs;

use unlade_oci::build::{Compression, Entry, Error, Image, Layer, write, write_index};
use unlade_oci::{Options, Reference, Source};

use crate::fixture::*;

fn reference(text: &str) -> Reference {
    text.parse().unwrap()
}

/// Returns an image with one file, one label and one variable.
fn tiny(compression: Compression) -> Image {
    let entries = [Entry::file("etc/motd", "hello\n"), Entry::link("motd", "etc/motd")];
    let mut image = image([Layer::new(entries).compressed(compression)]);
    image.config.user = Some("65532".to_owned());
    image.config.env = vec!["B=2".to_owned(), "A=1".to_owned()];
    image.config.entrypoint = vec!["/bin/x".to_owned()];
    image.config.labels = [("b", "2"), ("a", "1"), ("c", "3")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    image
}

const EACH: [Compression; 3] = [Compression::None, Compression::Gzip, Compression::Zstd];

/// These digests change if any byte of a document, of a tar or of the output of a compressor
/// changes. Users who build an image again then get another digest, so the changelog must mention
/// it.
#[test]
fn the_digest_of_an_image_stays() {
    for (compression, digest) in [
        (
            Compression::None,
            "sha256:6071d853b4b6c18cddd95943f3feafff3f9226656acead14f536a538d8deb2d2",
        ),
        (
            Compression::Gzip,
            "sha256:d2edbad0766be3973e7685580017af47f043f32d5f5956384eb2a77b9c8cb6ff",
        ),
        (
            Compression::Zstd,
            "sha256:d21ae25fbf380593d4ef8e4f8f7549e226f635c9db39dbeb78594a8f8badbe77",
        ),
    ] {
        let place = Place::new();
        let (written, _) = place.write(&tiny(compression), "oci-archive");
        assert_eq!(written.digest.to_string(), digest, "{compression:?}");
        assert_eq!(written.size, written.images[0].size);
    }
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for compression in EACH {
        let [one, two] = [(), ()].map(|()| {
            let place = Place::new();
            let (written, _) = place.write(&tiny(compression), "oci-archive");
            let bytes = fs::read(place.path().join("image")).unwrap();
            (written, bytes)
        });
        assert!(one == two, "{compression:?}");
    }
}

#[test]
fn the_order_of_entries_and_where_the_files_lie_do_not_count() {
    let place = Place::new();
    fs::write(place.path().join("here"), "x").unwrap();
    let one = image([Layer::new([Entry::file("a", "x"), Entry::file("b/c", "y")])]);
    let two = image([Layer::new([
        Entry::file("/b/c", "y"),
        Entry::copy("a", place.path().join("here")),
    ])]);
    assert_eq!(place.write(&one, "oci-archive").0, place.write(&two, "oci-archive").0);
}

#[test]
fn layouts_and_archives_hold_the_same_image() {
    let (archive, layout) = (Place::new(), Place::new());
    let image = tiny(Compression::Gzip);
    assert_eq!(archive.write(&image, "oci-archive").0, layout.write(&image, "oci").0);
    assert_eq!((archive.names(), layout.names()), (vec!["image".into()], vec!["image".into()]));
}

#[test]
fn a_name_is_listed_as_readers_look_for_it() {
    let place = Place::new();
    for (name, containerd) in [
        ("v1", None),
        ("example.com/etcd:v1", Some("example.com/etcd:v1")),
        ("a/b", Some("docker.io/a/b:latest")),
    ] {
        let layout = place.path().join(name.replace(['/', ':'], "-"));
        let output = reference(&format!("oci:{}:{name}", layout.display()));
        write(&image([Layer::new(bundle())]), &output).unwrap();
        let index = json(&fs::read(layout.join("index.json")).unwrap());
        let annotations = &index["manifests"][0]["annotations"];
        assert_eq!(annotations["org.opencontainers.image.ref.name"], name);
        assert_eq!(annotations["io.containerd.image.name"].as_str(), containerd);
        unlade_oci::read(&Source::Image(output), &Options::default()).unwrap();
    }
}

#[test]
fn the_platform_and_labels_of_an_image_are_in_its_configuration() {
    let place = Place::new();
    let mut image = tiny(Compression::None);
    image.platform = platform("linux/arm/v7");
    image.config.command = vec!["serve".to_owned()];
    image.config.working_dir = Some("/work".to_owned());
    place.write(&image, "oci");
    let (manifest, mut configuration) = documents(&place.path().join("image"));
    assert_eq!(manifest["mediaType"], "application/vnd.oci.image.manifest.v1+json");
    let diff_ids = configuration["rootfs"]["diff_ids"].take();
    assert_eq!(diff_ids[0], manifest["layers"][0]["digest"]);
    assert_eq!(
        configuration,
        serde_json::json!({
            "architecture": "arm", "os": "linux", "variant": "v7",
            "config": {
                "User": "65532",
                "Env": ["B=2", "A=1"],
                "Entrypoint": ["/bin/x"],
                "Cmd": ["serve"],
                "WorkingDir": "/work",
                "Labels": {"a": "1", "b": "2", "c": "3"},
            },
            "rootfs": {"type": "layers", "diff_ids": null},
        })
    );
}

#[test]
fn an_archive_replaces_another_and_a_layout_does_not() {
    let place = Place::new();
    for transport in ["oci-archive", "oci"] {
        let output = format!("{transport}:{}", place.path().join(transport).display());
        let output = reference(&output);
        write(&tiny(Compression::None), &output).unwrap();
        let again = write(&image([Layer::new(bundle())]), &output);
        if transport == "oci" {
            let error = again.unwrap_err();
            assert!(matches!(error, Error::Exists { .. }), "{error}");
            assert!(error.hint().is_some());
        } else {
            again.unwrap();
            assert_eq!(read_back(&output.to_string()), pairs(&[("csv.yaml", "kind: A")]));
        }
    }
    assert_eq!(place.names(), ["oci", "oci-archive"]);
    // An empty directory is accepted, because users may create it first.
    fs::create_dir(place.path().join("empty")).unwrap();
    let output = reference(&format!("oci:{}", place.path().join("empty").display()));
    write(&tiny(Compression::None), &output).unwrap();
}

#[test]
fn nothing_is_left_of_an_image_that_fails() {
    let place = Place::new();
    let (_, output) = place.write(&tiny(Compression::None), "oci-archive");
    let before = fs::read(place.path().join("image")).unwrap();
    let broken = image([Layer::new(bundle()), Layer::new([Entry::copy("a", "/no/such/file")])]);
    write(&broken, &reference(&output)).unwrap_err();
    assert_eq!(place.names(), ["image"]);
    assert!(fs::read(place.path().join("image")).unwrap() == before);
}

#[test]
fn an_index_has_an_image_for_each_platform() {
    let place = Place::new();
    let images = ["linux/amd64", "linux/arm64/v8", "linux/s390x"].map(|name| {
        let mut image =
            image([Layer::new(bundle()), Layer::new([Entry::file("manifests/arch", name)])]);
        image.platform = platform(name);
        image
    });
    let output = format!("oci-archive:{}", place.path().join("index.tar").display());
    let written = write_index(&images, &reference(&output)).unwrap();
    for (image, one) in images.iter().zip(&written.images) {
        let named = &one.platform;
        assert_eq!(image.platform, *named);
        let options = Options::default().with_platform(Some(named.clone()));
        let read = unlade_oci::read(&output.parse().unwrap(), &options).unwrap();
        assert_eq!((&read.platform, read.digest.as_ref()), (named, Some(&one.digest)));
        let file = read.reading.content.files().iter().find(|file| file.name == "arch").unwrap();
        assert_eq!(file.bytes, named.to_string().into_bytes());
    }
    assert_ne!(written.digest, written.images[0].digest);
}

#[test]
fn an_index_without_images_or_with_two_for_one_platform_is_refused() {
    let place = Place::new();
    let output = reference(&format!("oci-archive:{}", place.path().join("index.tar").display()));
    for images in [vec![], vec![tiny(Compression::None), tiny(Compression::Gzip)]] {
        let error = write_index(&images, &output).unwrap_err();
        assert!(matches!(error, Error::Platforms { .. }), "{error}");
    }
}

#[test]
fn other_outputs_are_refused() {
    for output in ["docker-archive:x.tar", "oci:x:@0", "oci-archive:x.tar:@3"] {
        let error = write(&tiny(Compression::None), &reference(output)).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{error}");
        assert!(error.hint().is_some());
    }
    let error = write(&tiny(Compression::None), &reference("oci:/no/such/place/x")).unwrap_err();
    assert!(matches!(error, Error::Output { .. }), "{error}");
}
