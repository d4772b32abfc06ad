use std::fs;
use std::path::Path;

use unlade_registry::credential::Stored;
use unlade_registry::{Auth, Configuration, Credentials, Error, Options, push};

use crate::fixture::{Fixture, plain, pull_as, refusal};
use crate::push::{puts, registry};
use crate::server::{Response, Server};

/// Returns options with the rules in `text`.
fn with_rules(directory: &Path, text: &str) -> Options {
    let path = directory.join("registries.conf");
    fs::write(&path, text).unwrap();
    plain().with_configuration(Configuration::file(path))
}

/// Returns the rule for `registry.example`, whose location and mirrors are these servers.
fn rule(location: &Server, mirrors: &[&Server]) -> String {
    let head = format!(
        "[[registry]]\nprefix = \"registry.example\"\nlocation = \"{}/own\"\n",
        location.address
    );
    let mirrors = mirrors
        .iter()
        .map(|mirror| format!("[[registry.mirror]]\nlocation = \"{}/mirror\"\n", mirror.address));
    [head].into_iter().chain(mirrors).collect()
}

const IMAGE: &str = "registry.example/bundles/etcd:v1";

fn good() -> Server {
    let fixture = Fixture::image();
    Server::start(move |_, ask| fixture.response(ask))
}

#[test]
fn mirrors_are_asked_in_their_order_and_then_the_registry() {
    let directory = tempfile::tempdir().unwrap();
    let empty = || Server::start(|_, _| Response::new(404));
    let [first, second, third] = [empty(), empty(), empty()];
    let location = good();
    let options = with_rules(directory.path(), &rule(&location, &[&first, &second]));
    pull_as(IMAGE, &options).unwrap();
    for mirror in [&first, &second] {
        let paths: Vec<_> = mirror.asks().into_iter().map(|ask| ask.path).collect();
        assert_eq!(paths, ["/v2/mirror/bundles/etcd/manifests/v1"]);
    }
    assert_eq!(location.asks_for("/v2/own/bundles/etcd/").len(), 3);

    let mirror = good();
    let options = with_rules(directory.path(), &rule(&location, &[&third, &mirror, &first]));
    pull_as(IMAGE, &options).unwrap();
    assert_eq!(mirror.asks_for("/v2/mirror/bundles/etcd/").len(), 3);
    assert_eq!((location.asks().len(), first.asks().len()), (3, 1), "the others are not asked");
}

#[test]
fn all_failures_are_reported_if_no_place_has_the_image() {
    let directory = tempfile::tempdir().unwrap();
    let busy = Server::start(|_, _| Response::new(403));
    let location = Server::start(|_, _| Response::new(404));
    let options = with_rules(directory.path(), &rule(&location, &[&busy]));
    let (error, text) = refusal(pull_as(IMAGE, &options));
    assert!(matches!(error, Some(Error::Mirrors { .. })), "{text}");
    assert!(text.contains(&busy.address) && text.contains("403"), "{text}");
    assert!(text.contains(&format!("does not exist in the registry {}", location.address)));
}

#[test]
fn a_blocked_registry_is_not_asked() {
    let directory = tempfile::tempdir().unwrap();
    let server = good();
    let text = format!("[[registry]]\nlocation = \"{}/bundles\"\nblocked = true", server.address);
    let options = with_rules(directory.path(), &text);
    let name = format!("{}/bundles/etcd:v1", server.address);
    let (error, text) = refusal(pull_as(&name, &options));
    assert!(matches!(error, Some(Error::Configuration(_))), "{text}");
    assert!(text.contains("is blocked in") && text.contains("registries.conf"), "{text}");
    let source = "oci-archive:none".parse().unwrap();
    let error = push(&source, &name.parse().unwrap(), &options).unwrap_err();
    assert!(error.to_string().contains("is blocked in"), "{error}");
    assert!(server.asks().is_empty());
    pull_as(&format!("{}/other:v1", server.address), &options).unwrap();
}

#[test]
fn credentials_are_sent_only_to_their_endpoint() {
    let directory = tempfile::tempdir().unwrap();
    let challenge = || Response::new(401).with("WWW-Authenticate", r#"Basic realm="x""#);
    let mirror = Server::start(move |_, _| challenge());
    let fixture = Fixture::image();
    let location = Server::start(move |_, ask| match ask.header("authorization") {
        Some("Basic dXNlcjpwYXNz") => fixture.response(ask),
        _ => challenge(),
    });
    let authfile = directory.path().join("auth.json");
    let entry = r#"{"auth": "dXNlcjpwYXNz"}"#;
    let text = format!(r#"{{"auths": {{"{}": {entry}}}}}"#, location.address);
    fs::write(&authfile, text).unwrap();
    let has_credentials =
        |server: &Server| server.asks().iter().any(|ask| ask.header("authorization").is_some());
    let with = |auth, text: &str| with_rules(directory.path(), text).with_auth(auth);
    // These are for the registry that the user names, and its location is another one.
    let given = || Auth::Credentials(Credentials::new("user", "pass"));
    let elsewhere = rule(&location, &[&mirror]);
    refusal(pull_as(IMAGE, &with(given(), &elsewhere)));
    assert!(!location.asks().is_empty() && !has_credentials(&location));
    let named = elsewhere.replace("registry.example", &location.address);
    pull_as(&format!("{}/bundles/etcd:v1", location.address), &with(given(), &named)).unwrap();
    pull_as(IMAGE, &with(Auth::Stored(Stored::file(&authfile)), &elsewhere)).unwrap();
    assert!(!mirror.asks().is_empty() && !has_credentials(&mirror));
}

#[test]
fn an_insecure_registry_may_have_no_tls() {
    let directory = tempfile::tempdir().unwrap();
    let server = good();
    let insecure = format!("{}insecure = true\n", rule(&server, &[]));
    let options = with_rules(directory.path(), &insecure).with_plain_http(false);
    pull_as(IMAGE, &options).unwrap();
    let options = with_rules(directory.path(), &rule(&server, &[]));
    refusal(pull_as(IMAGE, &options.with_plain_http(false)));
}

#[test]
fn a_push_goes_to_the_registry_that_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let [server, other] = [registry(None), registry(None)];
    let text =
        format!("[[registry]]\nprefix = \"{}\"\nlocation = \"{}\"", server.address, other.address);
    let options = with_rules(directory.path(), &text);
    let source = format!("oci-archive:{}", directory.path().join("image.tar").display());
    let source: unlade_oci::Reference = source.parse().unwrap();
    unlade_oci::build::write(&crate::fixture::bundle("amd64", "x"), &source).unwrap();
    let name = format!("{}/bundles/etcd:v1", server.address).parse().unwrap();
    push(&unlade_oci::Source::Image(source), &name, &options).unwrap();
    assert_eq!((puts(&server).len(), other.asks().len()), (3, 0));
}
