use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

use unlade_oci::{Origin as _, extract, limit::TRANSFERS};
use unlade_registry::{Error, ImageReader, Remote};

use crate::fixture::{Fixture, plain, pull, pull_as, refusal};
use crate::server::{Response, Server};

#[test]
fn a_bundle_is_read_from_a_registry() {
    let fixture = Fixture::image();
    let root = fixture.root.clone();
    let server = Server::start(move |_, ask| fixture.response(ask));
    let image = pull(&server, &plain()).unwrap();
    assert_eq!(image.digest.unwrap().to_string(), root);
    assert_eq!(image.reading.content.files().len(), 1);
    // One request for each of the manifest, the configuration and the layer.
    let asks = server.asks();
    assert_eq!(asks.len(), 3, "{asks:?}");
    assert_eq!(asks[0].path, "/v2/bundles/etcd/manifests/v1");
    assert!(asks[0].header("accept").unwrap().contains("oci.image.index"));
    assert!(asks.iter().all(|ask| ask.header("authorization").is_none()));
}

#[test]
fn an_image_by_digest_is_requested_by_it() {
    let fixture = Fixture::image();
    let root = fixture.root.clone();
    let server = Server::start(move |_, ask| fixture.response(ask));
    let image = pull_as(&format!("{}/etcd:v2@{root}", server.address), &plain()).unwrap();
    assert_eq!(image.digest.unwrap().to_string(), root);
    assert_eq!(server.asks()[0].path, format!("/v2/etcd/manifests/{root}"));
}

#[test]
fn the_image_of_the_platform_is_read_from_an_index() {
    let fixture = Fixture::index();
    let server = Server::start(move |_, ask| fixture.response(ask));
    for architecture in ["amd64", "arm64"] {
        let platform = Some(format!("linux/{architecture}").parse().unwrap());
        let options = unlade_oci::Options::default().with_platform(platform);
        let source = format!("docker://{}/bundles/etcd:v1", server.address).parse().unwrap();
        let image = ImageReader::open(source, &plain()).unwrap().read(&options).unwrap();
        assert_eq!(image.platform.architecture, architecture);
        let file = &image.reading.content.files()[0];
        assert!(String::from_utf8_lossy(&file.bytes).contains(architecture));
    }
}

#[test]
fn a_registry_that_does_not_name_media_types_is_read() {
    let fixture = Fixture::image();
    let server = Server::start(move |_, ask| {
        let digest = ask.path.rsplit('/').next().unwrap();
        let digest = if digest == "v1" { fixture.root.as_str() } else { digest };
        Response::body(fixture.parts[digest].clone())
            .with("Content-Type", "text/plain; charset=utf-8")
    });
    pull(&server, &plain()).unwrap();
}

#[test]
fn a_missing_image_is_named() {
    let server = Server::start(|_, _| Response::new(404));
    let (error, text) = refusal(pull(&server, &plain()));
    assert!(matches!(error, Some(Error::Missing { .. })), "{text}");
    assert!(text.contains("/bundles/etcd:v1 does not exist in the registry"), "{text}");
    assert_eq!(server.asks().len(), 1);
}

#[test]
fn a_busy_registry_is_asked_again_after_the_pause_that_it_wants() {
    for status in [429, 500, 502, 503] {
        let (fixture, count) = (Fixture::image(), AtomicUsize::new(0));
        let server = Server::start(move |_, ask| match count.fetch_add(1, Ordering::Relaxed) {
            0 => Response::new(status).with("Retry-After", "0"),
            _ => fixture.response(ask),
        });
        pull(&server, &plain()).unwrap();
        assert_eq!(server.asks().len(), 4, "{status}");
    }
}

#[test]
fn a_registry_that_stays_busy_is_given_up() {
    let server = Server::start(|_, _| {
        Response::body(r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}"#)
            .with_status(429)
    });
    let (error, text) = refusal(pull(&server, &plain()));
    assert!(matches!(error, Some(Error::Refused { .. })), "{text}");
    assert!(text.contains("429") && text.contains("TOOMANYREQUESTS slow down"), "{text}");
    assert_eq!(server.asks().len(), 1 + plain().limits.retries);
}

#[test]
fn a_pause_that_is_too_long_is_not_waited_for() {
    let server = Server::start(|_, _| Response::new(429).with("Retry-After", "86400"));
    refusal(pull(&server, &plain()));
    assert_eq!(server.asks().len(), 1);
}

#[test]
fn a_blob_that_breaks_off_is_continued_from_there() {
    for supports_ranges in [true, false] {
        let fixture = Fixture::image();
        let layer = fixture.layers[0].clone();
        let name = layer.clone();
        let server = Server::start(move |_, ask| {
            let response = fixture.response(ask);
            if !ask.path.contains(&layer) {
                return response;
            }
            match ask.header("range") {
                None => response.cut(100),
                Some("bytes=100-") if supports_ranges => {
                    let bytes = &fixture.parts[&layer];
                    let range = format!("bytes 100-{}/{}", bytes.len() - 1, bytes.len());
                    Response::body(&bytes[100..]).with_status(206).with("Content-Range", range)
                }
                Some(_) => response,
            }
        });
        let image = pull(&server, &plain()).unwrap();
        assert_eq!(image.reading.content.files().len(), 1);
        assert_eq!(server.asks_for(&name).len(), 2);
    }
}

#[test]
fn a_complete_blob_is_accepted_however_the_connection_ends() {
    let fixture = Fixture::image();
    let layer = fixture.layers[0].clone();
    let name = layer.clone();
    let server = Server::start(move |_, ask| {
        let response = fixture.response(ask);
        if ask.path.contains(&layer) { response.unfinished() } else { response }
    });
    let image = pull(&server, &plain()).unwrap();
    assert_eq!(image.reading.content.files().len(), 1);
    assert_eq!(server.asks_for(&name).len(), 1);
}

#[test]
fn redirects_of_blobs_are_followed() {
    let fixture = Fixture::image();
    let blobs = fixture.clone();
    let storage = Server::start(move |_, ask| blobs.response(ask));
    let address = storage.address.clone();
    let server = Server::start(move |_, ask| {
        if ask.path.contains("/blobs/") {
            return Response::redirect(&address, ask);
        }
        fixture.response(ask)
    });
    pull(&server, &plain()).unwrap();
    assert_eq!(storage.asks().len(), 2);
}

#[test]
fn an_image_that_is_read_twice_has_one_manifest_and_one_connection() {
    let fixture = Fixture::index();
    let server = Server::start(move |_, ask| fixture.response(ask));
    let options = plain();
    let source = format!("docker://{}/bundles/etcd:v1", server.address).parse().unwrap();
    let image = ImageReader::open(source, &options).unwrap();
    let platform = Some("linux/amd64".parse().unwrap());
    let select = unlade_oci::Options::default().with_platform(platform);
    let directory = tempfile::tempdir().unwrap();
    let refused = image.extract("no label", directory.path(), &select).unwrap_err();
    let is_unlabelled = matches!(refused, unlade_oci::Error::Extract(extract::Error::Label { .. }));
    assert!(is_unlabelled, "{refused:?}");
    image.read(&select).unwrap();
    let manifests = server.asks_for("/manifests/");
    assert_eq!(manifests.len(), 2, "the index and a manifest: {manifests:?}");

    // The next image has another client, but the same connection.
    pull(&server, &options).unwrap();
    assert_eq!(server.connections(), 1);
}

#[test]
fn images_that_are_read_at_the_same_time_share_the_transfers() {
    let image = "registry.example/bundles/etcd:v1".parse().unwrap();
    for (images_at_once, expected) in [(1, 6), (2, 3), (4, 1), (TRANSFERS, 1), (100, 1)] {
        let images_at_once = NonZeroUsize::new(images_at_once).unwrap();
        let remote = Remote::new(&image, &plain().with_images_at_once(images_at_once)).unwrap();
        assert_eq!(remote.max_readers(), expected, "{images_at_once}");
    }
}
