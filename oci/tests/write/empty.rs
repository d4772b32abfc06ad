use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use unlade_oci::Descriptor;
use unlade_oci::build::{self, Layer};
use unlade_oci::copy::{Error, Options, to_disk};

use crate::copy::{copy_to, digest_of, in_place, place_names};
use crate::fixture::*;

/// Creates an empty directory and a link to it, and returns the number that identifies the
/// directory. Like a mount point and `.`, neither can be replaced by renaming.
fn empty_and_link(place: &Place) -> u64 {
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    symlink(&empty, place.path().join("link")).unwrap();
    // A killed process left this.
    fs::create_dir(empty.join(".unlade-image-left")).unwrap();
    empty.metadata().unwrap().ino()
}

#[test]
fn an_empty_directory_stays_and_gets_the_image() {
    for transport in ["dir", "oci"] {
        for name in ["empty", "link"] {
            let place = Place::new();
            let (_, source) = place.write(&image([Layer::new(bundle())]), "oci");
            let number = empty_and_link(&place);
            let output = in_place(&place, transport, name);
            copy_to(&source, &output, &Options::default()).unwrap();
            assert_eq!(digest_of(&output), digest_of(&source));
            let empty = place.path().join("empty");
            assert_eq!(empty.metadata().unwrap().ino(), number, "{output}");
            assert!(place.path().join("link").is_symlink());
            assert_eq!(place.names(), ["empty", "image", "link"]);
            let expected = in_place(&place, transport, "other");
            copy_to(&source, &expected, &Options::default()).unwrap();
            let names = |name: &str| {
                let mut names = place_names(&place.path().join(name));
                names.sort();
                names
            };
            assert_eq!(names("empty"), names("other"));
            // A second image is added, or replaces the first.
            copy_to(&source, &in_place(&place, transport, "empty"), &Options::default()).unwrap();
        }
    }
}

#[test]
fn a_layout_is_built_in_an_empty_directory() {
    for name in ["empty", "link"] {
        let place = Place::new();
        let number = empty_and_link(&place);
        let output = in_place(&place, "oci", name);
        let written =
            build::write(&image([Layer::new(bundle())]), &output.parse().unwrap()).unwrap();
        assert_eq!(digest_of(&output), written.digest.to_string());
        let empty = place.path().join("empty");
        assert_eq!(empty.metadata().unwrap().ino(), number);
        assert_eq!(place_names(&empty).len(), 3);
    }
}

#[test]
fn a_copy_that_fails_leaves_an_empty_directory_empty() {
    let place = Place::new();
    fs::create_dir(place.path().join("empty")).unwrap();
    let digest = unlade_oci::digest::sha256(b"x").unwrap();
    let manifest = Descriptor::new("application/json".into(), 1, digest);
    for transport in ["dir", "oci"] {
        let output = in_place(&place, transport, "empty").parse().unwrap();
        to_disk(&output, |disk| {
            disk.manifest(&manifest, b"x", true).unwrap();
            // The directory above it can be read-only.
            assert_eq!(place.names(), ["empty"]);
            Err(Error::Destination("the source fails".into()))
        })
        .unwrap_err();
        assert!(place_names(&place.path().join("empty")).is_empty());
    }
}
