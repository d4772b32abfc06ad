use std::time::Duration;

use unlade_registry::{Error, Options, address::Forbidden};

use crate::fixture::{Fixture, digest, plain, pull, pull_as, refusal};
use crate::server::{Response, Server};

/// Returns options with which a test of slow responses ends soon.
fn impatient() -> Options {
    let mut options = plain();
    options.limits.retries = 1;
    options.limits.idle = Duration::from_millis(200);
    options.limits.patience = Duration::from_millis(400);
    options
}

#[test]
fn an_endless_manifest_has_a_limit() {
    let server = Server::start(|_, _| Response::body(vec![b' '; 1 << 16]).endless());
    let (error, text) = refusal(pull(&server, &plain()));
    assert!(matches!(&error, Some(Error::TooLarge { limit, .. }) if *limit == 4 << 20), "{text}");
    assert!(error.unwrap().is_limit());
    assert_eq!(server.asks().len(), 1);
}

#[test]
fn an_endless_layer_ends_at_its_size() {
    let fixture = Fixture::image();
    let server = Server::start(move |_, ask| match &fixture.layers[0] {
        layer if ask.path.contains(layer) => Response::body(vec![b'x'; 1 << 16]).endless(),
        _ => fixture.response(ask),
    });
    let (_, text) = refusal(pull(&server, &plain()));
    assert!(text.contains("does not match its digest or size"), "{text}");
}

#[test]
fn a_layer_with_other_bytes_is_refused() {
    let mut fixture = Fixture::image();
    let layer = fixture.layers[0].clone();
    let mut bytes = fixture.parts[&layer].clone();
    *bytes.last_mut().unwrap() ^= 1;
    fixture.damage(&layer, bytes);
    let server = Server::start(move |_, ask| fixture.response(ask));
    let (_, text) = refusal(pull(&server, &plain()));
    assert!(text.contains(&layer) && text.contains("does not match its digest"), "{text}");
}

#[test]
fn a_layer_that_is_too_short_is_refused() {
    let mut fixture = Fixture::image();
    let layer = fixture.layers[0].clone();
    let bytes = fixture.parts[&layer].clone();
    fixture.damage(&layer, bytes[..bytes.len() - 1].to_vec());
    let server = Server::start(move |_, ask| fixture.response(ask));
    let (_, text) = refusal(pull(&server, &plain()));
    assert!(text.contains("unexpected end of file"), "{text}");
    assert_eq!(server.asks_for(&layer).len(), 1 + plain().limits.retries);
}

#[test]
fn another_manifest_than_the_requested_one_is_refused() {
    let (fixture, other) = (Fixture::image(), Fixture::index());
    let root = fixture.root.clone();
    let bytes = other.parts[&other.root].clone();
    let server = Server::start(move |_, _| Response::body(bytes.clone()));
    let by_digest = pull_as(&format!("{}/etcd@{root}", server.address), &plain());
    let (_, text) = refusal(by_digest);
    assert!(text.contains("does not match its digest"), "{text}");
}

#[test]
fn a_digest_that_a_registry_announces_must_be_that_of_the_manifest() {
    let fixture = Fixture::image();
    let announced = digest(b"other");
    let server = Server::start(move |_, ask| {
        let bytes = fixture.parts[&fixture.root].clone();
        assert!(ask.path.ends_with("/v1"));
        Response::body(bytes).with("Docker-Content-Digest", announced.clone())
    });
    let (error, text) = refusal(pull(&server, &plain()));
    assert!(matches!(error, Some(Error::Invalid { .. })), "{text}");
}

#[test]
fn a_registry_does_not_lead_to_the_metadata_of_a_cloud() {
    for location in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://100.100.100.200/",
        // Some resolvers read this as 169.254.169.254.
        "http://2852039166/",
    ] {
        let server = Server::start(move |_, _| Response::new(307).with("Location", location));
        let (error, text) = refusal(pull(&server, &plain()));
        let is_forbidden =
            matches!(error, Some(Error::Forbidden { source: Forbidden::Unusable { .. }, .. }));
        assert!(is_forbidden, "{location}: {text}");
        assert_eq!(server.asks().len(), 1);
    }
}

#[test]
fn a_token_server_is_not_at_the_metadata_of_a_cloud() {
    let server = Server::start(|_, _| {
        let realm = r#"Bearer realm="http://169.254.169.254/token""#;
        Response::new(401).with("WWW-Authenticate", realm)
    });
    let (error, text) = refusal(pull(&server, &plain()));
    assert!(matches!(error, Some(Error::Forbidden { .. })), "{text}");
}

#[test]
fn redirects_without_an_end_or_without_a_valid_address_are_refused() {
    for location in
        ["/v2/again", "ftp://x.example/", "", "http://", "http://u:p@127.0.0.1/", "\u{ff}x"]
    {
        let server = Server::start(move |_, _| Response::new(302).with("Location", location));
        let (error, text) = refusal(pull(&server, &plain()));
        assert!(matches!(error, Some(Error::Invalid { .. })), "{location}: {text}");
        assert!(server.asks().len() <= 6, "{location}");
    }
}

#[test]
fn a_silent_registry_is_given_up() {
    let server = Server::start(|_, _| Response::silent());
    let (error, text) = refusal(pull(&server, &impatient()));
    assert!(matches!(error, Some(Error::Http { .. })), "{text}");
    assert_eq!(server.asks().len(), 2);
}

#[test]
fn a_silent_layer_is_given_up() {
    let fixture = Fixture::image();
    let layer = fixture.layers[0].clone();
    let name = layer.clone();
    let server = Server::start(move |_, ask| {
        if ask.path.contains(&layer) { Response::silent() } else { fixture.response(ask) }
    });
    refusal(pull(&server, &impatient()));
    assert_eq!(server.asks_for(&name).len(), 2);
}

#[test]
fn headers_without_an_end_have_a_limit() {
    let server = Server::start(|_, _| Response::new(200).with("X", "x".repeat(1 << 20)));
    let (error, text) = refusal(pull(&server, &plain()));
    assert!(matches!(error, Some(Error::Http { .. })), "{text}");
}

#[test]
fn a_huge_token_response_has_a_limit() {
    for body in [format!("{{\"token\":\"{}\"}}", "x".repeat(2 << 20)), " ".repeat(2 << 20)] {
        let server = Server::start(move |address, ask| {
            if ask.path.starts_with("/token") {
                Response::body(body.clone()).endless()
            } else {
                Response::bearer(address)
            }
        });
        let (error, text) = refusal(pull(&server, &plain()));
        assert!(matches!(error, Some(Error::TooLarge { limit: 0x10_0000, .. })), "{text}");
    }
}

#[test]
fn an_invalid_token_response_is_refused_without_being_shown() {
    for body in ["{}", "[", r#"{"token":""}"#, r#"{"token":["s3cr3t"]}"#, r#"{"token":"s3cr3t\n"}"#]
    {
        let server = Server::start(move |address, ask| {
            if ask.path.starts_with("/token") {
                Response::body(body)
            } else {
                Response::bearer(address)
            }
        });
        let (error, text) = refusal(pull(&server, &plain()));
        assert!(matches!(error, Some(Error::Invalid { .. })), "{body}: {text}");
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}

#[test]
fn messages_of_a_registry_are_shortened() {
    let server =
        Server::start(|_, _| Response::body("\u{1b}[31m".repeat(1 << 16)).with_status(400));
    let (_, text) = refusal(pull(&server, &plain()));
    assert!(text.len() < 1000, "{}", text.len());
}

#[test]
fn a_huge_error_has_a_limit() {
    let server =
        Server::start(|_, _| Response::body(vec![b'x'; 1 << 16]).with_status(403).endless());
    let (error, text) = refusal(pull(&server, &plain()));
    assert!(matches!(error, Some(Error::Denied { .. })), "{text}");
}
