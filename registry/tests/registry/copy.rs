use unlade_oci::copy::{Copied, Error, Options};
use unlade_oci::{Limits, image};
use unlade_registry::copy;

use crate::fixture::{Fixture, plain};
use crate::push::{puts, registry};
use crate::server::{Response, Server};

fn copy_to(source: &str, destination: &str, options: &Options) -> Result<Copied, Error> {
    let [source, destination] = [source, destination].map(|text| text.parse().unwrap());
    copy(&source, &destination, options, (&plain(), &plain()))
}

fn all() -> Options {
    Options::default().with_all(true)
}

#[test]
fn an_index_is_copied_between_registries_and_not_a_second_time() {
    let fixture = Fixture::index();
    let parts = fixture.parts.clone();
    let root = fixture.root.clone();
    let from = Server::start(move |_, ask| fixture.response(ask));
    let to = registry(None);
    let source = format!("docker://{}/bundles/etcd:v1", from.address);
    let destination = format!("docker://{}/mirror/etcd:v2", to.address);
    let copied = copy_to(&source, &destination, &all()).unwrap();
    assert_eq!((copied.digest.to_string(), copied.blobs), (root.clone(), 4));
    let first = puts(&to);
    assert_eq!(first.len(), parts.len());
    let manifest = first.last().unwrap();
    assert_eq!(manifest.path, "/v2/mirror/etcd/manifests/v2");
    assert_eq!(manifest.body, parts[&root]);
    assert_eq!(manifest.header("content-type"), Some("application/vnd.oci.image.index.v1+json"));

    let before = from.asks_for("/blobs/").len();
    let again = copy_to(&source, &destination, &all()).unwrap();
    assert_eq!((again.blobs, again.present), (0, 4));
    assert_eq!(from.asks_for("/blobs/").len(), before, "no blob is read again");
}

#[test]
fn an_image_of_a_registry_is_copied_to_disk_and_back() {
    let fixture = Fixture::image();
    let root = fixture.root.clone();
    let from = Server::start(move |_, ask| fixture.response(ask));
    let directory = tempfile::tempdir().unwrap();
    let mut source = format!("docker://{}/bundles/etcd:v1", from.address);
    for transport in ["oci", "oci-archive", "dir"] {
        let path = directory.path().join(transport);
        let destination = format!("{transport}:{}", path.display());
        let copied = copy_to(&source, &destination, &Options::default()).unwrap();
        assert_eq!(copied.digest.to_string(), root);
        source = destination;
    }
    let to = registry(None);
    let destination = format!("docker://{}/mirror/etcd:v1", to.address);
    assert_eq!(copy_to(&source, &destination, &all()).unwrap().digest.to_string(), root);
    assert_eq!(puts(&to).len(), 3);
}

#[test]
fn a_copy_of_a_damaged_layer_leaves_nothing() {
    let mut fixture = Fixture::image();
    let layer = fixture.layers[0].clone();
    let mut bytes = fixture.parts[&layer].clone();
    bytes[20] ^= 1;
    fixture.damage(&layer, bytes);
    let from = Server::start(move |_, ask| fixture.response(ask));
    let source = format!("docker://{}/bundles/etcd:v1", from.address);
    let directory = tempfile::tempdir().unwrap();
    for transport in ["oci", "oci-archive", "dir"] {
        let destination = format!("{transport}:{}", directory.path().join(transport).display());
        let error = copy_to(&source, &destination, &Options::default()).unwrap_err();
        assert!(unlade_text::chain(&error).contains("does not match its digest"), "{error}");
    }
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    let to = registry(None);
    let destination = format!("docker://{}/mirror/etcd:v1", to.address);
    copy_to(&source, &destination, &Options::default()).unwrap_err();
    assert!(!puts(&to).iter().any(|ask| ask.path.contains("/manifests/")));
}

#[test]
fn an_endless_or_huge_source_has_limits() {
    let fixture = Fixture::image();
    let layer = fixture.layers[0].clone();
    let endless = fixture.clone();
    let from = Server::start(move |_, ask| {
        let is_layer = ask.path.contains(&layer);
        if is_layer { Response::body(vec![0; 1 << 16]).endless() } else { endless.response(ask) }
    });
    let source = format!("docker://{}/bundles/etcd:v1", from.address);
    let directory = tempfile::tempdir().unwrap();
    let destination = format!("oci:{}", directory.path().join("x").display());
    copy_to(&source, &destination, &Options::default()).unwrap_err();
    let from = Server::start(move |_, ask| fixture.response(ask));
    let source = format!("docker://{}/bundles/etcd:v1", from.address);
    let limits = Limits::default().with_layers(0);
    let error = copy_to(&source, &destination, &all().with_limits(limits)).unwrap_err();
    assert!(error.is_limit(), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_destination_needs_a_transport() {
    let error = copy_to("oci:x", "./y", &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Destination(_)), "{error}");
    let missing = copy_to("oci:no/such", "oci:y", &Options::default()).unwrap_err();
    assert!(matches!(missing, Error::Open(image::Error::Store(_))), "{missing}");
}
