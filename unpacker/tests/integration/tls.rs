//! Certificates and credentials of the connection to the API server.

use std::fs;
use std::process::{Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::authority::Authority;
use crate::fixture::{Run, bundle, unpacker};
use crate::server::Server;

/// Runs `serve` with a kubeconfig of this cluster and user.
fn run(cluster: &Value, user: &Value) -> Run {
    let bundle = bundle("one");
    Run::execute(command(&bundle, cluster, user).args(["--deadline", "2s"]))
}

/// Returns the command `serve` for a bundle, with a kubeconfig of this cluster and user in its
/// root.
fn command(bundle: &TempDir, cluster: &Value, user: &Value) -> Command {
    let config = json!({
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "olm"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    });
    let path = bundle.path().join("kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    let mut command = unpacker();
    command.arg("serve").arg("--kubeconfig").arg(path);
    command.arg(format!("--bundle={}=bundle", bundle.path().display()));
    command
}

fn server(address: &str, config: rustls::ServerConfig) -> Server {
    let server = Server::start_tls(address, config);
    server.create("olm", "bundle");
    server
}

fn data(pem: &str) -> String {
    STANDARD.encode(pem)
}

#[test]
fn the_server_is_verified_by_its_address_or_by_the_name_in_the_kubeconfig() {
    let authority = Authority::new();
    let by_address = server("127.0.0.1:0", authority.server(&["127.0.0.1"])).address;
    let by_name = server("127.0.0.1:0", authority.server(&["kubernetes.default"])).address;
    let local = server("127.0.0.1:0", authority.server(&["localhost"])).address;
    let old = server("127.0.0.1:0", authority.old_server(&["127.0.0.1"])).address;
    let cluster = |url: String, name: &str| {
        json!({
            "server": url,
            "certificate-authority-data": data(&authority.pem()),
            "tls-server-name": name,
        })
    };
    for (cluster, verdict) in [
        (cluster(format!("https://{by_address}"), ""), "written"),
        (cluster(format!("https://{by_name}/"), "kubernetes.default"), "written"),
        (cluster(format!("https://localhost:{}", local.port()), ""), "written"),
        (cluster(format!("https://{old}"), ""), "written"),
        (cluster(format!("https://{by_name}"), ""), "untrusted"),
        (cluster(format!("https://{by_address}"), "kubernetes.default"), "untrusted"),
    ] {
        let run = run(&cluster, &json!({"token": "t"}));
        assert_eq!(run.verdicts(), [verdict], "{cluster} {}", run.stderr);
    }
}

#[test]
fn server_of_another_authority_is_not_trusted() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = server("127.0.0.1:0", other.server(&["127.0.0.1"]));
    let cluster = json!({
        "server": format!("https://{}", server.address),
        "certificate-authority-data": data(&authority.pem()),
    });
    let run = run(&cluster, &json!({"token": "secret-token"}));
    assert_eq!((run.code, server.requests()), (Some(24), 0), "{}", run.stderr);
    assert!(!run.stderr.contains("secret-token"));
}

/// The program sends no token before it has verified the certificate.
#[test]
fn a_server_that_cannot_be_verified_gets_no_request() {
    let authority = Authority::new();
    let tls = |names: &[&str]| server("127.0.0.1:0", authority.server(names));
    for (server, code) in [
        (tls(&["127.0.0.2"]), 24),
        (tls(&["localhost", "kubernetes"]), 24),
        (tls(&["*.0.0.1", "*"]), 24),
        (server("127.0.0.1:0", authority.server_with_certificate_of_client(&["127.0.0.1"])), 24),
        // It speaks plain HTTP.
        (Server::start(), 30),
    ] {
        let cluster = json!({
            "server": format!("https://{}", server.address),
            "certificate-authority-data": data(&authority.pem()),
        });
        let run = run(&cluster, &json!({"token": "secret-token"}));
        assert_eq!((run.code, server.requests()), (Some(code), 0), "{}", run.stderr);
    }
}

#[test]
fn token_with_a_line_end_adds_no_header() {
    let authority = Authority::new();
    let server = server("127.0.0.1:0", authority.server(&["127.0.0.1"]));
    let cluster = json!({
        "server": format!("https://{}", server.address),
        "certificate-authority-data": data(&authority.pem()),
    });
    let run = run(&cluster, &json!({"token": "t\r\nImpersonate-User: admin"}));
    assert_ne!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(server.requests(), 0);
    assert!(!run.stderr.contains("Impersonate-User"), "{}", run.stderr);
}

#[test]
fn replaced_token_is_read_again() {
    let authority = Authority::new();
    let server = server("127.0.0.1:0", authority.server(&["127.0.0.1"]));
    server.with(|state| state.token = Some("new".to_owned()));
    let cluster = json!({
        "server": format!("https://{}", server.address),
        "certificate-authority-data": data(&authority.pem()),
    });
    let bundle = bundle("one");
    let token = bundle.path().join("token");
    fs::write(&token, "old\n").unwrap();
    let mut command = command(&bundle, &cluster, &json!({"tokenFile": "token"}));
    command.args(["--permission-wait", "20s", "--deadline", "30s"]);
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    // The first responses are 401; only then the kubelet writes the new token.
    while server.requests() < 2 {
        std::thread::yield_now();
    }
    let next = bundle.path().join("next");
    fs::write(&next, "new\n").unwrap();
    fs::rename(next, token).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn credentials_are_not_sent_without_tls_and_a_warning_says_so() {
    const WARNING: &str = "does not use TLS, so the credentials of the kubeconfig";
    let server = Server::start();
    server.create("olm", "bundle");
    let cluster = json!({"server": format!("http://{}", server.address)});
    // `kubectl proxy` works like this, and needs no credentials.
    let open = run(&cluster, &json!({}));
    assert_eq!(open.verdicts(), ["written"], "{}", open.stderr);
    assert!(!open.stderr.contains(WARNING), "{}", open.stderr);

    server.with(|state| state.token = Some("secret-token".to_owned()));
    for user in [
        json!({"token": "secret-token"}),
        json!({"tokenFile": "/no/such/file"}),
        json!({"client-certificate-data": "eA==", "client-key-data": "eA=="}),
    ] {
        let run = run(&cluster, &user);
        assert_eq!(run.verdicts(), ["noPermission"], "{user} {}", run.stderr);
        assert!(run.stderr.contains(WARNING), "{user} {}", run.stderr);
        assert!(!run.stderr.contains("secret-token"), "{user} {}", run.stderr);
    }
}

#[test]
#[ignore = "needs IPv6"]
fn address_of_version_six_is_connected_to() {
    let authority = Authority::new();
    let server = server("[::1]:0", authority.server(&["::1"]));
    let cluster = json!({
        "server": format!("https://{}", server.address),
        "certificate-authority-data": data(&authority.pem()),
    });
    assert_eq!(run(&cluster, &json!({})).verdicts(), ["written"]);
}

#[test]
fn the_client_certificate_identifies_the_client() {
    let authority = Authority::new();
    let server = server("127.0.0.1:0", authority.demanding_server(&["127.0.0.1"]));
    let cluster = json!({
        "server": format!("https://{}", server.address),
        "certificate-authority-data": data(&authority.pem()),
    });
    let signed = authority.sign(&["admin"]);
    let user = json!({
        "client-certificate-data": data(&signed.certificate),
        "client-key-data": data(&signed.key),
    });
    assert_eq!(run(&cluster, &user).verdicts(), ["written"]);
    assert_eq!(run(&cluster, &json!({})).verdicts(), ["temporary"]);
}

#[test]
fn kubeconfig_that_would_need_more_is_refused_with_its_reason() {
    let authority = data(&Authority::new().pem());
    let good = json!({"server": "https://127.0.0.1:1", "certificate-authority-data": authority});
    let with = |key: &str, value: Value| {
        let mut cluster = good.clone();
        cluster[key] = value;
        cluster
    };
    let none = json!({});
    for (cluster, user, part) in [
        (with("server", json!("https://api.example.com")), &none, "hint: use the IP address"),
        (with("server", json!("127.0.0.1")), &none, "is not a URL"),
        (with("server", json!("ftp://127.0.0.1")), &none, "is not a URL"),
        (with("insecure-skip-tls-verify", json!(true)), &none, "insecure-skip-tls-verify is not"),
        (with("proxy-url", json!("http://127.0.0.1:1")), &none, "proxy-url is not supported"),
        (with("certificate-authority-data", json!("")), &none, "has no certificate-authority"),
        (with("certificate-authority-data", json!("%")), &none, "is not base64"),
        (
            with("certificate-authority-data", json!("eA==")),
            &none,
            "contains no usable certificate",
        ),
        (good.clone(), &json!({"exec": {"command": "aws"}}), "exec is not supported"),
        (good.clone(), &json!({"auth-provider": {"name": "gcp"}}), "auth-provider is not"),
        (good.clone(), &json!({"username": "u", "password": "p"}), "username is not supported"),
        (good.clone(), &json!({"client-certificate-data": authority}), "not a private key"),
    ] {
        let run = run(&cluster, user);
        assert_eq!(run.code, Some(20), "{cluster} {user} {}", run.stderr);
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}
