use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::ServerConfig;
use unlade_registry::credential::Stored;
use unlade_registry::{Auth, Credentials, Error, Options};

use crate::fixture::{Fixture, plain, pull, pull_as, refusal};
use crate::server::{Ask, Response, Server};

/// `user:pass`, as Basic authentication sends it.
const BASIC: &str = "Basic dXNlcjpwYXNz";

fn with_auth(auth: Auth) -> Options {
    plain().with_auth(auth)
}

fn user() -> Options {
    with_auth(Auth::Credentials(Credentials::new("user", "pass")))
}

/// Starts a registry that asks for a token of its own server, which requires `credentials`.
fn token_registry(credentials: Option<&'static str>) -> Server {
    let fixture = Fixture::image();
    Server::start(move |address, ask| {
        if ask.path.starts_with("/token") {
            return if ask.header("authorization") == credentials {
                Response::body(r#"{"token":"t0ken","expires_in":60}"#)
            } else {
                Response::new(401)
            };
        }
        if ask.header("authorization") == Some("Bearer t0ken") {
            return fixture.response(ask);
        }
        Response::bearer(address)
    })
}

/// Starts a registry that asks for a password.
fn basic_registry() -> Server {
    let fixture = Fixture::image();
    Server::start(move |_, ask| match ask.header("authorization") {
        Some(BASIC) => fixture.response(ask),
        _ => Response::new(401).with("WWW-Authenticate", r#"Basic realm="here""#),
    })
}

#[test]
fn a_token_is_requested_once_and_for_this_repository() {
    for (credentials, options) in [(None, plain()), (Some(BASIC), user())] {
        let server = token_registry(credentials);
        pull(&server, &options).unwrap();
        let tokens = server.asks_for("/token");
        assert_eq!(tokens.len(), 1);
        assert!(tokens[0].path.contains("service=here"), "{}", tokens[0].path);
        let scope = tokens[0].path.replace("%3A", ":").replace("%2F", "/").replace("%2f", "/");
        assert!(scope.contains("scope=repository:bundles/etcd:pull"), "{scope}");
        assert!(!scope.contains("push"), "{scope}");
    }
}

#[test]
fn a_token_that_expires_is_renewed() {
    let (fixture, issued) = (Fixture::image(), AtomicUsize::new(0));
    let server = Server::start(move |address, ask| {
        if ask.path.starts_with("/token") {
            let number = issued.fetch_add(1, Ordering::Relaxed);
            return Response::body(format!(r#"{{"access_token":"t{number}"}}"#));
        }
        // The first token is only valid for the manifest.
        let valid = if ask.path.contains("/blobs/") { "Bearer t1" } else { "Bearer t0" };
        if ask.header("authorization") == Some(valid) {
            fixture.response(ask)
        } else {
            Response::bearer(address)
        }
    });
    pull(&server, &plain()).unwrap();
    assert_eq!(server.asks_for("/token").len(), 2);
}

#[test]
fn a_token_server_that_fails_is_reported() {
    let server = Server::start(|address, ask| {
        if ask.path.starts_with("/token") { Response::new(503) } else { Response::bearer(address) }
    });
    let (error, text) = refusal(pull(&server, &plain()));
    assert!(matches!(error, Some(Error::Refused { .. })), "{text}");
    assert!(text.contains("a token at http://") && text.contains("503"), "{text}");
    assert_eq!(server.asks_for("/token").len(), 1 + plain().limits.retries);
}

#[test]
fn a_password_is_sent_if_the_registry_asks_for_it() {
    let server = basic_registry();
    pull(&server, &user()).unwrap();
    assert!(server.asks()[0].header("authorization").is_none());
}

#[test]
fn a_registry_that_denies_access_is_explained() {
    for server in [basic_registry(), token_registry(Some(BASIC))] {
        let (error, text) = refusal(pull(&server, &plain()));
        let hint = error.as_ref().and_then(Error::hint).unwrap();
        assert!(matches!(error, Some(Error::Denied { credentials: None, .. })), "{text}");
        assert!(hint.contains(&format!("podman login {}", server.address)), "{hint}");
        assert!(server.asks().len() <= 3, "{:?}", server.asks());
    }
    let wrong = with_auth(Auth::Credentials(Credentials::new("user", "hunter2")));
    let (error, text) = refusal(pull(&basic_registry(), &wrong));
    assert!(matches!(error, Some(Error::Denied { credentials: Some(_), .. })), "{text}");
    assert!(!format!("{text} {error:?} {wrong:?}").contains("hunter2"));
}

#[test]
fn credentials_are_not_sent_to_another_host() {
    let fixture = Fixture::image();
    let blobs = fixture.clone();
    let storage = Server::start(move |_, ask| blobs.response(ask));
    let address = storage.address.clone();
    let server = Server::start(move |_, ask| match ask.header("authorization") {
        None => Response::new(401).with("WWW-Authenticate", r#"Basic realm="here""#),
        Some(_) if ask.path.contains("/blobs/") => Response::redirect(&address, ask),
        Some(_) => fixture.response(ask),
    });
    pull(&server, &user()).unwrap();
    let asks = storage.asks();
    assert_eq!(asks.len(), 2);
    assert!(asks.iter().all(|ask| ask.header("authorization").is_none()), "{asks:?}");
}

#[test]
fn a_challenge_of_another_host_is_not_answered() {
    let storage = Server::start(|_, _| {
        Response::new(401).with("WWW-Authenticate", r#"Basic realm="elsewhere""#)
    });
    let address = storage.address.clone();
    let fixture = Fixture::image();
    let server = Server::start(move |_, ask| {
        if ask.path.contains("/blobs/") {
            Response::redirect(&address, ask)
        } else {
            fixture.response(ask)
        }
    });
    refusal(pull(&server, &user()));
    assert!(storage.asks().iter().all(|ask| ask.header("authorization").is_none()));
}

#[test]
fn credentials_of_podman_and_docker_are_used() {
    let directory = tempfile::tempdir().unwrap();
    let server = basic_registry();
    let host = &server.address;
    for (file, works) in [
        (format!(r#"{{"auths": {{"{host}": {{"auth": "dXNlcjpwYXNz"}}}}}}"#), true),
        (format!(r#"{{"auths": {{"https://{host}/v1/": {{"auth": "dXNlcjpwYXNz"}}}}}}"#), true),
        (format!(r#"{{"auths": {{"{host}": {{"username": "user", "password": "pass"}}}}}}"#), true),
        // The longest path counts.
        (
            format!(
                r#"{{"auths": {{"{host}": {{"auth": "YTpi"}},
                    "{host}/bundles": {{"auth": "dXNlcjpwYXNz"}},
                    "{host}/bundles/etc": {{"auth": "YTpi"}}}}}}"#
            ),
            true,
        ),
        (r#"{"auths": {"other.example": {"auth": "dXNlcjpwYXNz"}}}"#.to_owned(), false),
        (format!(r#"{{"auths": {{"{host}": {{}}}}}}"#), false),
        ("{}".to_owned(), false),
    ] {
        let path = directory.path().join("auth.json");
        fs::write(&path, &file).unwrap();
        let pulled = pull(&server, &with_auth(Auth::Stored(Stored::file(&path))));
        assert_eq!(pulled.is_ok(), works, "{file}");
    }
}

#[test]
fn a_file_with_credentials_that_cannot_be_read_is_named_and_not_shown() {
    let directory = tempfile::tempdir().unwrap();
    let server = basic_registry();
    let path = directory.path().join("auth.json");
    let host = &server.address;
    for file in [
        "[".to_owned(),
        r#"{"auths": {"x": "s3cr3t"}}"#.to_owned(),
        format!(r#"{{"auths": {{"{host}": {{"auth": "s3cr3t!"}}}}}}"#),
        " ".repeat((1 << 20) + 1),
    ] {
        fs::write(&path, &file).unwrap();
        let (error, text) = refusal(pull(&server, &with_auth(Auth::Stored(Stored::file(&path)))));
        assert!(matches!(error, Some(Error::Credentials { .. })), "{text}");
        assert!(text.contains("auth.json") && !text.contains("s3cr3t"), "{text}");
    }
    let missing = Stored::file(directory.path().join("missing.json"));
    let (_, text) = refusal(pull(&server, &with_auth(Auth::Stored(missing))));
    assert!(text.contains("missing.json"), "{text}");
}

#[test]
fn an_identity_token_is_exchanged_for_another() {
    let fixture = Fixture::image();
    let server = Server::start(move |address, ask| {
        let form = String::from_utf8_lossy(&ask.body).into_owned();
        if ask.method == "POST" && ask.path == "/token" && form.contains("refresh_token=refresh") {
            assert!(form.contains("grant_type=refresh_token"), "{form}");
            return Response::body(r#"{"access_token":"t0ken"}"#);
        }
        match ask.header("authorization") {
            Some("Bearer t0ken") => fixture.response(ask),
            _ => Response::bearer(address),
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.json");
    let entry = r#"{"auth": "PHRva2VuPjo=", "identitytoken": "refresh"}"#;
    fs::write(&path, format!(r#"{{"auths": {{"{}": {entry}}}}}"#, server.address)).unwrap();
    pull(&server, &with_auth(Auth::Stored(Stored::file(&path)))).unwrap();
}

/// Names the registry and the directory for the test below in a process of its own.
const HELPED: &str = "UNLADE_TEST_HELPED_REGISTRY";

#[test]
fn credential_helpers_are_asked_and_have_limits() {
    let server = basic_registry();
    let host = &server.address;
    let ask = |name: &str, script: &str, key: &str| {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join(format!("docker-credential-{name}"));
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        let file = directory.path().join("config.json");
        let config = match key {
            "store" => format!(r#"{{"auths": {{"{host}": {{}}}}, "credsStore": "{name}"}}"#),
            _ => format!(r#"{{"credHelpers": {{"{host}": "{name}"}}}}"#),
        };
        fs::write(&file, config).unwrap();
        // A process of its own, because the environment names the helpers.
        let mut test = Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "access::child_pulls_with_a_helper", "--ignored", "--nocapture"]);
        test.env(HELPED, format!("{host} {}", file.display()));
        let path = std::env::var("PATH").unwrap_or_default();
        test.env("PATH", format!("{}:{path}", directory.path().display()));
        let output = test.output().unwrap();
        let messages = String::from_utf8_lossy(&output.stdout).into_owned();
        messages + &String::from_utf8_lossy(&output.stderr)
    };
    let auths = format!(
        r#"[ "$1 $(cat)" = "get {host}" ] && echo '{{"Username":"user","Secret":"pass"}}'"#
    );
    assert!(ask("test", &auths, "store").contains("1 passed"));
    assert!(ask("test", &auths, "helper").contains("1 passed"));
    for (script, expected) in [
        ("echo 'credentials not found in native keychain'; exit 1", "denied access"),
        ("echo s3cr3t; exit 3", "exit status: 3"),
        ("echo s3cr3t", "does not contain credentials as JSON"),
        ("sleep 60 & wait", "did not end within"),
        ("exec yes s3cr3t", "larger than"),
        // It closes its output but does not end.
        ("exec >&-; sleep 60", "did not end within"),
    ] {
        let text = ask("test", script, "store");
        assert!(text.contains(expected) && !text.contains("s3cr3t"), "{script}: {text}");
    }
    for name in ["../x", "a/b", "a b"] {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.json");
        fs::write(&file, format!(r#"{{"credsStore": "{name}"}}"#)).unwrap();
        let (_, text) = refusal(pull(&server, &with_auth(Auth::Stored(Stored::file(&file)))));
        assert!(text.contains("not the name of a helper"), "{text}");
    }
}

#[test]
#[ignore = "child: the test above runs it"]
fn child_pulls_with_a_helper() {
    let both = std::env::var(HELPED).unwrap();
    let (host, file) = both.split_once(' ').unwrap();
    let mut options = with_auth(Auth::Stored(Stored::file(file)));
    options.limits.helper = std::time::Duration::from_secs(1);
    let image = format!("{host}/bundles/etcd:v1");
    if let Err(error) = pull_as(&image, &options) {
        panic!("{}", unlade_text::chain(&error));
    }
}

/// Names the registry for the test below in a process of its own.
const SECURE: &str = "UNLADE_TEST_SECURE_REGISTRY";

/// Returns the configuration of a server, and the certificate that it needs to be trusted.
pub(crate) fn tls() -> (Arc<ServerConfig>, String) {
    let key = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (key.cert, key.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.try_into().unwrap())
        .unwrap();
    (Arc::new(tls), certificate.pem())
}

/// Pulls from a registry with TLS in a process of its own, whose environment sets its authorities
/// and must not change later. Returns whether this succeeds, and the output.
fn pull_securely(address: &str, trusted: Option<&Path>) -> (bool, String) {
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "access::child_pulls_with_tls", "--ignored", "--nocapture"]);
    test.env(SECURE, address).env_remove("SSL_CERT_DIR").env_remove("SSL_CERT_FILE");
    test.env("NO_PROXY", "127.0.0.1");
    test.envs(trusted.map(|path| ("SSL_CERT_FILE", path)));
    let output = test.output().unwrap();
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), messages + &String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_registry_behind_tls_is_verified_by_what_the_machine_trusts() {
    let (tls, certificate) = tls();
    let fixture = Fixture::image();
    let server = Server::start_tls(tls, move |_, ask| fixture.response(ask));
    let directory = tempfile::tempdir().unwrap();
    let trusted = directory.path().join("authorities.pem");
    fs::write(&trusted, certificate).unwrap();
    let (is_pulled, text) = pull_securely(&server.address, None);
    assert!(!is_pulled && server.asks().is_empty());
    assert!(text.to_lowercase().contains("certificate"), "{text}");
    let (is_pulled, text) = pull_securely(&server.address, Some(&trusted));
    assert!(is_pulled, "{text}");
}

#[test]
fn a_registry_behind_tls_does_not_lead_to_one_without() {
    let directory = tempfile::tempdir().unwrap();
    let trusted = directory.path().join("authorities.pem");
    let fixture = Fixture::image();
    let blobs = fixture.clone();
    let plain = Server::start(move |_, ask: &Ask| blobs.response(ask));
    for part in ["redirect", "token"] {
        let (tls, certificate) = tls();
        fs::write(&trusted, certificate).unwrap();
        let (address, fixture) = (plain.address.clone(), fixture.clone());
        let server = Server::start_tls(tls, move |_, ask| {
            if part == "token" {
                return Response::bearer(&address);
            }
            if ask.path.contains("/blobs/") {
                Response::redirect(&address, ask)
            } else {
                fixture.response(ask)
            }
        });
        let (is_pulled, text) = pull_securely(&server.address, Some(&trusted));
        assert!(!is_pulled && text.contains("https"), "{part}: {text}");
    }
    assert!(plain.asks().is_empty());
}

#[test]
#[ignore = "child: the tests above run it"]
fn child_pulls_with_tls() {
    let name = format!("{}/bundles/etcd:v1", std::env::var(SECURE).unwrap());
    if let Err(error) = pull_as(&name, &Options::default()) {
        panic!("{}", unlade_text::chain(&error));
    }
}

/// Names the image for the test below in a process of its own.
const PROXIED: &str = "UNLADE_TEST_PROXIED_IMAGE";

#[test]
fn a_proxy_is_asked_for_the_registry() {
    // It responds as a proxy that cannot reach the registry.
    let proxy = Server::start(|_, _| Response::new(502));
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "access::child_pulls_through_a_proxy", "--ignored", "--nocapture"]);
    test.env(PROXIED, "registry.example:5000/bundles/etcd:v1");
    test.env_remove("NO_PROXY").env_remove("no_proxy");
    for name in ["ALL_PROXY", "all_proxy", "http_proxy", "HTTP_PROXY", "https_proxy"] {
        test.env_remove(name);
    }
    test.env("HTTPS_PROXY", format!("http://{}", proxy.address));
    let output = test.output().unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    let asks = proxy.asks();
    assert!(!output.status.success() && !asks.is_empty(), "{messages}");
    assert!(asks.iter().all(|ask| ask.method == "CONNECT"), "{asks:?}");
    assert_eq!(asks[0].path, "registry.example:5000");
}

#[test]
#[ignore = "child: the test above runs it"]
fn child_pulls_through_a_proxy() {
    let mut options = Options::default();
    options.limits.pause = std::time::Duration::from_millis(1);
    if let Err(error) = pull_as(&std::env::var(PROXIED).unwrap(), &options) {
        panic!("{}", unlade_text::chain(&error));
    }
}
