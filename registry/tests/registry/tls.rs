use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use unlade_registry::{Error, Options, Remedy, Tls, tls};

use crate::fixture::{Fixture, plain, pull, pull_as, refusal};
use crate::server::{Response, Server};

/// Returns options for a server with TLS, with short waits.
fn secure(tls: Tls) -> Options {
    plain().with_plain_http(false).with_tls(tls)
}

fn serve(tls: Arc<ServerConfig>) -> Server {
    let fixture = Fixture::image();
    Server::start_tls(tls, move |_, ask| fixture.response(ask))
}

/// Writes files into the directory for `server` in `directory`, and returns the options that read
/// it.
fn with_directory(directory: &Path, server: &Server, files: &[(&str, &str)]) -> Options {
    let own = directory.join(&server.address);
    fs::create_dir_all(&own).unwrap();
    for (name, text) in files {
        fs::write(own.join(name), text).unwrap();
    }
    let directories = vec![PathBuf::from("/no/such/directory"), directory.to_owned()];
    secure(Tls { directories, ..Tls::default() })
}

/// A pair of a certificate and its key, as PEM.
struct Pair {
    certificate: String,
    key: String,
    der: rustls::pki_types::CertificateDer<'static>,
}

fn pair() -> Pair {
    let made = rcgen::generate_simple_self_signed(["client.example".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    Pair { certificate, key, der: made.cert.der().clone() }
}

/// Returns a server that requires the certificate of `client`, and the certificate of the server.
fn tls_for(client: &Pair) -> (Arc<ServerConfig>, String) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(client.der.clone()).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let (certificate, key) = (made.cert, made.signing_key.serialize_der());
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(vec![certificate.der().clone()], key.try_into().unwrap())
        .unwrap();
    (Arc::new(tls), certificate.pem())
}

#[test]
fn an_authority_in_a_file_is_trusted() {
    let (tls, certificate) = crate::access::tls();
    let server = serve(tls);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.pem");
    fs::write(&path, certificate).unwrap();
    let (error, text) = refusal(pull(&server, &secure(Tls::default())));
    assert!(matches!(error, Some(Error::Http { .. })), "{text}");
    assert_eq!(error.unwrap().remedy(), Some(Remedy::Authority), "{text}");
    assert!(server.asks().is_empty());
    let trusting = Tls { authorities: Some(path), ..Tls::default() };
    pull(&server, &secure(trusting)).unwrap();
}

#[test]
fn an_authority_in_the_directory_of_the_registry_is_trusted_there_only() {
    let (tls, certificate) = crate::access::tls();
    let [server, other] = [serve(Arc::clone(&tls)), serve(tls)];
    let directory = tempfile::tempdir().unwrap();
    let options = with_directory(directory.path(), &server, &[("ca.crt", &certificate)]);
    pull(&server, &options).unwrap();
    refusal(pull(&other, &options));
    assert!(other.asks().is_empty());
}

#[test]
fn any_certificate_and_none_is_accepted_on_request_only() {
    let insecure = || secure(Tls { insecure: true, ..Tls::default() });
    let server = serve(crate::access::tls().0);
    pull(&server, &insecure()).unwrap();
    let fixture = Fixture::image();
    let server = Server::start(move |_, ask| fixture.response(ask));
    refusal(pull(&server, &secure(Tls::default())));
    assert!(server.asks().is_empty());
    pull(&server, &insecure()).unwrap();
}

#[test]
fn a_registry_that_responds_in_plain_text_can_be_used_without_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let name = format!("{}/bundles/etcd:v1", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        // If bytes that were sent are left unread, the response can get lost.
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    });
    let (error, text) = refusal(pull_as(&name, &secure(Tls::default())));
    assert_eq!(error.unwrap().remedy(), Some(Remedy::PlainHttp), "{text}");
    server.join().unwrap();
}

#[test]
fn a_registry_without_tls_can_be_silent_to_a_handshake() {
    let mut insecure = secure(Tls { insecure: true, ..Tls::default() });
    insecure.limits.idle = Duration::from_secs(1);
    insecure.limits.retries = 1;
    let fixture = Fixture::image();
    let server = Server::start_silent_to_tls(move |_, ask| fixture.response(ask));
    pull(&server, &insecure).unwrap();
    // A redirect, such as one to HTTPS, does not show that a registry has no TLS, and 400 is what a
    // port for TLS responds.
    for status in [301, 400] {
        let server = Server::start_silent_to_tls(move |address, ask| {
            Response::new(status).with("Location", format!("https://{address}{}", ask.path))
        });
        let (error, text) = refusal(pull(&server, &insecure));
        assert!(matches!(error, Some(Error::Http { .. })) && text.contains("timeout"), "{text}");
        assert!(server.asks().iter().all(|ask| ask.path == "/v2/"));
    }
}

#[test]
fn a_registry_without_tls_can_redirect() {
    let fixture = Fixture::image();
    let server = Server::start(move |_, ask| match &*ask.path {
        "/v2/" => Response::new(302).with("Location", "/v2/home".to_owned()),
        _ => fixture.response(ask),
    });
    pull(&server, &secure(Tls { insecure: true, ..Tls::default() })).unwrap();
}

#[test]
fn a_broken_connection_does_not_decide_whether_a_registry_has_tls() {
    let (fixture, is_broken) = (Fixture::image(), AtomicBool::new(true));
    let server = Server::start(move |_, ask| {
        if is_broken.swap(false, Ordering::SeqCst) {
            return Response::none();
        }
        fixture.response(ask)
    });
    pull(&server, &secure(Tls { insecure: true, ..Tls::default() })).unwrap();
    assert_eq!(server.asks_for("/v2/").first().unwrap().path, "/v2/");
}

#[test]
fn a_client_certificate_is_presented_only_to_the_registry() {
    let client = pair();
    let (tls, certificate) = tls_for(&client);
    let directory = tempfile::tempdir().unwrap();
    let files =
        [("ca.crt", &*certificate), ("a.cert", &client.certificate), ("a.key", &client.key)];
    let server = serve(Arc::clone(&tls));
    refusal(pull(&server, &with_directory(directory.path(), &server, &files[..1])));
    assert!(server.asks().is_empty());
    pull(&server, &with_directory(directory.path(), &server, &files)).unwrap();

    // It requires the same certificate, and does not get it.
    let storage = serve(Arc::clone(&tls));
    let (address, fixture) = (storage.address.clone(), Fixture::image());
    let server = Server::start_tls(tls, move |_, ask| match ask.path.split_once("/blobs/") {
        Some(_) => Response::new(307).with("Location", format!("https://{address}{}", ask.path)),
        None => fixture.response(ask),
    });
    refusal(pull(&server, &with_directory(directory.path(), &server, &files)));
    assert!(!server.asks().is_empty() && storage.asks().is_empty());
}

#[test]
fn a_registry_that_issues_its_own_tokens_gets_the_certificate_of_the_client() {
    let client = pair();
    let (tls, certificate) = tls_for(&client);
    let fixture = Fixture::image();
    let server = Server::start_tls(tls, move |address, ask| {
        let challenge = format!(r#"Bearer realm="https://{address}/token",service="x""#);
        match ask.header("authorization") {
            _ if ask.path.starts_with("/token") => Response::body(r#"{"token":"t"}"#),
            Some("Bearer t") => fixture.response(ask),
            _ => Response::new(401).with("WWW-Authenticate", challenge),
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let files =
        [("ca.crt", &*certificate), ("a.cert", &client.certificate), ("a.key", &client.key)];
    pull(&server, &with_directory(directory.path(), &server, &files)).unwrap();
    assert_eq!(server.asks_for("/token").len(), 1);
}

#[test]
fn files_that_are_not_certificates_are_named() {
    let server = serve(crate::access::tls().0);
    let client = pair();
    for (files, expected) in [
        (&[("ca.crt", "no certificate")][..], "ca.crt does not contain a certificate"),
        (&[("a.cert", &*client.certificate)], "a.key does not exist"),
        (&[("a.key", &client.key)], "a.cert does not exist"),
        (
            &[("a.cert", &client.certificate), ("a.key", "x")],
            "a.key does not contain a private key",
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let options = with_directory(directory.path(), &server, files);
        let (error, text) = refusal(pull(&server, &options));
        assert!(matches!(error, Some(Error::Tls { .. })), "{text}");
        assert!(text.contains(expected), "{text}");
        assert!(!text.contains("PRIVATE"), "{text}");
    }
    let missing = Tls { authorities: Some("/no/such.pem".into()), ..Tls::default() };
    let (error, text) = refusal(pull(&server, &secure(missing)));
    assert!(matches!(error, Some(Error::Tls { source: tls::Error::File(_), .. })), "{text}");
    assert!(text.contains("/no/such.pem"), "{text}");
}
