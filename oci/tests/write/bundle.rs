use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use unlade_bundle::Limits;
use unlade_bundle::source::Error;
use unlade_oci::Platform;
use unlade_oci::build::bundle::image;

use crate::fixture::*;

fn files() -> [(&'static str, &'static str); 2] {
    [("manifests/csv.yaml", "kind: A"), ("manifests/sub.v1.yaml", "kind: B")]
}

#[test]
fn a_directory_becomes_a_bundle_image() {
    let place = Place::new();
    let directory = place.bundle(&files());
    // Other files next to the two directories are not part of the bundle.
    fs::write(directory.join("bundle.Dockerfile"), "FROM scratch").unwrap();
    let image = image(&directory, Platform::host(), &Limits::default()).unwrap();
    place.write(&image, "oci");
    let (manifest, configuration) = documents(&place.path().join("image"));
    assert_eq!(configuration["architecture"], Platform::host().architecture);
    assert_eq!(
        configuration["config"],
        serde_json::json!({"Labels": {
            "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
            "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
            "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
            "operators.operatorframework.io.bundle.package.v1": "etcd",
            "operators.operatorframework.io.bundle.channels.v1": "alpha,beta",
            "com.redhat.openshift.versions": "4.10",
        }})
    );
    let tar = blob(&place.path().join("image"), &manifest["layers"][0]);
    let mut archive = tar::Archive::new(tar.as_slice());
    let paths = archive.entries().unwrap().map(|entry| {
        let entry = entry.unwrap();
        String::from_utf8(entry.path_bytes().into_owned()).unwrap()
    });
    assert_eq!(
        paths.collect::<Vec<_>>(),
        [
            "manifests/",
            "manifests/csv.yaml",
            "manifests/sub.v1.yaml",
            "metadata/",
            "metadata/annotations.yaml",
        ]
    );
    let expected = pairs(&[("csv.yaml", "kind: A"), ("sub.v1.yaml", "kind: B")]);
    assert_eq!(round_trip(&image), expected);
}

#[test]
fn modes_and_dates_of_the_directory_do_not_count() {
    let digests = [0o600, 0o755].map(|mode| {
        let place = Place::new();
        let directory = place.bundle(&files());
        let file = directory.join("manifests/csv.yaml");
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        let image = image(&directory, platform("linux/amd64"), &Limits::default()).unwrap();
        place.write(&image, "oci-archive").0.digest
    });
    assert_eq!(digests[0], digests[1]);
}

#[test]
fn manifests_stay_where_the_annotations_say() {
    let place = Place::new();
    let text = ANNOTATIONS.replace("manifests.v1: manifests/", "manifests.v1: deploy/olm/");
    let directory =
        place.bundle(&[("deploy/olm/csv.yaml", "x"), ("metadata/annotations.yaml", &text)]);
    let image = image(&directory, Platform::host(), &Limits::default()).unwrap();
    assert_eq!(round_trip(&image), pairs(&[("csv.yaml", "x")]));
}

#[test]
fn links_become_files() {
    let place = Place::new();
    let directory = place.bundle(&files());
    symlink("csv.yaml", directory.join("manifests/link.yaml")).unwrap();
    let image = image(&directory, Platform::host(), &Limits::default()).unwrap();
    let expected = [("csv.yaml", "kind: A"), ("link.yaml", "kind: A"), ("sub.v1.yaml", "kind: B")];
    assert_eq!(round_trip(&image), pairs(&expected));
}

#[test]
fn input_that_is_not_a_bundle_is_refused() {
    let place = Place::new();
    let make = |limits: &Limits| image(&place.path().join("bundle"), Platform::host(), limits);
    let error = make(&Limits::default()).unwrap_err();
    assert!(matches!(&error, Error::Root { .. }), "{error}");
    let directory = place.bundle(&[]);
    let error = make(&Limits::default()).unwrap_err();
    assert!(matches!(&error, Error::Missing { path } if path == "manifests"), "{error}");
    let limits = Limits::default().with_file_size(10);
    assert!(matches!(make(&limits).unwrap_err(), Error::FileSize { limit: 10, .. }));
    fs::create_dir_all(directory.join("manifests/deeper")).unwrap();
    let error = make(&Limits::default()).unwrap_err();
    assert!(matches!(&error, Error::NestedDirectory { .. }), "{error}");
    fs::remove_dir(directory.join("manifests/deeper")).unwrap();
    fs::remove_file(directory.join("metadata/annotations.yaml")).unwrap();
    let error = make(&Limits::default()).unwrap_err();
    assert!(
        matches!(&error, Error::Missing { path } if path == "metadata/annotations.yaml"),
        "{error}"
    );
}
