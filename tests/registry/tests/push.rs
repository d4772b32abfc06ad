//! What goes to a registry, and what its answers mean.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the registry serves tests only, as what stands in a test module does"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use unlade_name::ImageReference;
use unlade_oci::build::{Entry, Image, Layer, WrittenImage, write, write_index};
use unlade_registry::{Credentials, Error, Options, push};

/// What a registry got: the paths of uploads and manifests, and their bytes.
type Got = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// A registry for one test, which asks for a token if `token` is given.
fn registry(token: Option<&'static str>) -> (ImageReference, Got) {
    serve(token, |stream| stream)
}

/// The same behind TLS with the certificate of `tls`.
fn registry_with(tls: Arc<ServerConfig>) -> (ImageReference, Got) {
    serve(None, move |stream| {
        StreamOwned::new(ServerConnection::new(Arc::clone(&tls)).unwrap(), stream)
    })
}

fn serve<S: Read + Write>(
    token: Option<&'static str>,
    open: impl Fn(TcpStream) -> S + Send + Sync + 'static,
) -> (ImageReference, Got) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let got = Got::default();
    let (host, kept, open) = (address.clone(), Arc::clone(&got), Arc::new(open));
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (host, kept, open) = (host.clone(), Arc::clone(&kept), Arc::clone(&open));
            thread::spawn(move || {
                let mut stream = open(stream.unwrap());
                while answer(&mut stream, &host, &kept, token) {}
            });
        }
    });
    (format!("{address}/bundles/etcd:v1").parse().unwrap(), got)
}

/// Answers one request; false at the end of the connection.
fn answer(stream: &mut (impl Read + Write), host: &str, got: &Got, token: Option<&str>) -> bool {
    let mut reader = BufReader::new(&mut *stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return false;
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let header = |name: &str| {
        let lines = lines.iter().filter_map(|line| line.split_once(": "));
        lines
            .into_iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, v)| v.to_owned())
    };
    let size = header("content-length").map_or(0, |size| size.parse().unwrap());
    assert!(header("transfer-encoding").is_none(), "registries refuse chunks");
    let mut body = vec![0; size];
    reader.read_exact(&mut body).unwrap();
    let mut words = lines[0].split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let is_allowed = token.is_none_or(|token| {
        path.starts_with("/token") || header("authorization") == Some(format!("Bearer {token}"))
    });
    let (status, headers, text) = match method {
        _ if !is_allowed => {
            let challenge = format!("Bearer realm=\"http://{host}/token\",service=\"here\"");
            ("401 Unauthorized", format!("WWW-Authenticate: {challenge}\r\n"), String::new())
        }
        "GET" if path.starts_with("/token") => {
            assert_eq!(header("authorization").as_deref(), Some("Basic dXNlcjpwYXNz"));
            assert!(path.contains("service=here") && path.contains("bundles"), "{path}");
            ("200 OK", String::new(), format!("{{\"token\":\"{}\"}}", token.unwrap()))
        }
        "GET" => ("200 OK", String::new(), String::new()),
        "HEAD"
            if got
                .lock()
                .unwrap()
                .keys()
                .any(|key| key.contains(path.rsplit('/').next().unwrap())) =>
        {
            ("200 OK", String::new(), String::new())
        }
        "HEAD" => ("404 Not Found", String::new(), String::new()),
        "POST" => ("202 Accepted", "Location: /upload?state=x\r\n".to_owned(), String::new()),
        "PUT" if path.contains("/refused/") => {
            ("403 Forbidden", String::new(), "not here".to_owned())
        }
        _ => {
            let kind = header("content-type").unwrap();
            got.lock().unwrap().insert(format!("{path} {kind}"), body);
            ("201 Created", String::new(), String::new())
        }
    };
    let size = text.len();
    write!(stream, "HTTP/1.1 {status}\r\n{headers}Content-Length: {size}\r\n\r\n{text}").unwrap();
    stream.flush().unwrap();
    true
}

fn image(architecture: &str) -> Image {
    let mut image = Image::from_scratch(format!("linux/{architecture}").parse().unwrap());
    image.layers.push(Layer::new([Entry::file("a", vec![b'x'; 100_000])]));
    image
}

fn plain() -> Options {
    Options { plain_http: true, credentials: None }
}

fn archive(folder: &Path) -> String {
    format!("oci-archive:{}", folder.join("image.tar").display())
}

#[test]
fn an_image_is_pushed_and_what_is_there_is_not_pushed_again() {
    let (name, got) = registry(None);
    let folder = tempfile::tempdir().unwrap();
    let source = archive(folder.path());
    let written = write(&image("amd64"), &source.parse().unwrap()).unwrap();
    let digest = push(&source.parse().unwrap(), &name, &plain()).unwrap();
    assert_eq!(digest, written.digest);
    let first = got.lock().unwrap().clone();
    let uploads: Vec<_> =
        first.keys().filter(|key| key.starts_with("/upload?state=x&digest=sha256:")).collect();
    assert_eq!((first.len(), uploads.len()), (3, 2), "{:?}", first.keys());
    let manifest =
        &first["/v2/bundles/etcd/manifests/v1 application/vnd.oci.image.manifest.v1+json"];
    let total: usize = first.values().map(Vec::len).sum();
    assert_eq!(total as u64, written.size);
    assert!(String::from_utf8_lossy(manifest).contains("schemaVersion"));
    // A second time only the manifest goes.
    got.lock().unwrap().retain(|key, _| key.starts_with("/upload"));
    push(&source.parse().unwrap(), &name, &plain()).unwrap();
    assert_eq!(got.lock().unwrap().len(), 3);
}

#[test]
fn an_index_comes_after_its_images_and_has_the_tag() {
    let (name, got) = registry(None);
    let folder = tempfile::tempdir().unwrap();
    let source = archive(folder.path());
    let images = [image("amd64"), image("arm64")];
    let written = write_index(&images, &source.parse().unwrap()).unwrap();
    assert_eq!(push(&source.parse().unwrap(), &name, &plain()).unwrap(), written.digest);
    let got = got.lock().unwrap();
    for WrittenImage { digest, .. } in &written.images {
        let path = format!(
            "/v2/bundles/etcd/manifests/{digest} application/vnd.oci.image.manifest.v1+json"
        );
        assert!(got.contains_key(&path), "{:?}", got.keys());
    }
    assert!(
        got.contains_key("/v2/bundles/etcd/manifests/v1 application/vnd.oci.image.index.v1+json")
    );
}

#[test]
fn a_token_is_fetched_where_one_is_asked_for() {
    let (name, got) = registry(Some("secret-token"));
    let folder = tempfile::tempdir().unwrap();
    let source = archive(folder.path());
    write(&image("amd64"), &source.parse().unwrap()).unwrap();
    let credentials = Credentials { user: "user".to_owned(), password: "pass".to_owned() };
    assert!(!format!("{credentials:?}").contains("pass"));
    let options = Options { credentials: Some(credentials), ..plain() };
    push(&source.parse().unwrap(), &name, &options).unwrap();
    assert_eq!(got.lock().unwrap().len(), 3);
}

#[test]
fn a_refusal_of_the_registry_is_reported_with_its_message() {
    let (name, _) = registry(None);
    let name = format!("{}/refused/etcd", name.registry()).parse().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = archive(folder.path());
    write(&image("amd64"), &source.parse().unwrap()).unwrap();
    let error = push(&source.parse().unwrap(), &name, &plain()).unwrap_err();
    assert!(
        matches!(&error, Error::Refused { status, .. } if status.contains("403") && status.contains("not here")),
        "{error}"
    );
}

#[test]
fn a_damaged_image_is_not_pushed() {
    let (name, got) = registry(None);
    let folder = tempfile::tempdir().unwrap();
    let source = archive(folder.path());
    write(&image("amd64"), &source.parse().unwrap()).unwrap();
    let path = folder.path().join("image.tar");
    let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
    std::fs::write(&path, text.replacen("amd64", "amd65", 1)).unwrap();
    let error = push(&source.parse().unwrap(), &name, &plain()).unwrap_err();
    assert!(matches!(error, Error::Image(_)), "{error}");
    assert!(!got.lock().unwrap().keys().any(|key| key.contains("/manifests/")));
}

/// Names the registry for the test below in a process of its own.
const SECURE: &str = "UNLADE_TEST_SECURE_REGISTRY";

#[test]
fn a_registry_behind_tls_is_verified_by_what_the_machine_trusts() {
    let key = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (key.cert, key.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.try_into().unwrap())
        .unwrap();
    let (name, got) = registry_with(Arc::new(tls));
    let folder = tempfile::tempdir().unwrap();
    let trusted = folder.path().join("authorities.pem");
    std::fs::write(&trusted, certificate.pem()).unwrap();

    // The environment of a process sets its authorities, and must not change later.
    let push_there = |trusts: Option<&Path>| {
        let mut test = Command::new(std::env::current_exe().unwrap());
        test.args(["--exact", "child_pushes_to_the_registry_of_the_environment", "--ignored"]);
        test.env(SECURE, name.to_string()).env_remove("SSL_CERT_DIR").env_remove("SSL_CERT_FILE");
        test.env("NO_PROXY", "127.0.0.1");
        test.envs(trusts.map(|path| ("SSL_CERT_FILE", path)));
        test.output().unwrap()
    };
    let refused = push_there(None);
    assert!(!refused.status.success() && got.lock().unwrap().is_empty());
    let said = String::from_utf8_lossy(&refused.stdout).to_lowercase();
    assert!(said.contains("certificate"), "{said}");
    let taken = push_there(Some(&trusted));
    assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stdout));
    assert_eq!(got.lock().unwrap().len(), 3);
}

#[test]
#[ignore = "child: the test above runs it"]
fn child_pushes_to_the_registry_of_the_environment() {
    let name = std::env::var(SECURE).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let source = archive(folder.path());
    write(&image("amd64"), &source.parse().unwrap()).unwrap();
    push(&source.parse().unwrap(), &name.parse().unwrap(), &Options::default()).unwrap();
}

#[test]
fn an_image_is_not_pushed_to_a_registry_that_its_reference_does_not_name() {
    let digest = format!("registry.example/etcd@sha256:{}", "0a".repeat(32));
    for text in ["etcd:v1", "bundles/etcd", &digest] {
        let image = ImageReference::parse(text).unwrap();
        let error = push(&"oci-archive:etcd.tar".parse().unwrap(), &image, &plain()).unwrap_err();
        assert!(matches!(error, Error::Reference { .. }), "{text}: {error}");
    }
}
