//! A webhook that denies every request.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};
use unlade_testbed::fault;

/// The maximum size of a review that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// A server in the network of the calling thread, which runs until the tests end.
pub(crate) struct DenyingWebhook {
    url: String,
    certificate: Vec<u8>,
}

impl DenyingWebhook {
    /// Starts a webhook that denies requests with this message.
    pub(crate) fn start(words: &'static str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (certificate, config) = certificate(directory.path());
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let config = Arc::clone(&config);
                // A client may close the connection at any time.
                thread::spawn(move || respond(client, config, words));
            }
        });
        Self { url, certificate }
    }

    /// Returns its configuration for a resource in a namespace.
    pub(crate) fn object(&self, namespace: &str, group: &str, resource: &str) -> Value {
        let client = json!({"url": self.url, "caBundle": STANDARD.encode(&self.certificate)});
        fault::webhook("deny", namespace, group, resource, &client)
    }
}

/// Creates a certificate for this machine. Returns it, and the configuration of a server that
/// presents it.
fn certificate(directory: &Path) -> (Vec<u8>, Arc<ServerConfig>) {
    let (key, certificate) = (directory.join("key"), directory.join("certificate"));
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt"]);
    openssl.args(["ec_paramgen_curve:P-256", "-subj", "/CN=webhook", "-days", "1", "-addext"]);
    openssl.args(["subjectAltName=IP:127.0.0.1", "-addext", "keyUsage=digitalSignature"]);
    let made = openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let chain = vec![CertificateDer::from_pem_file(&certificate).unwrap()];
    let key = PrivateKeyDer::from_pem_file(&key).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(chain, key).unwrap();
    (std::fs::read(certificate).unwrap(), Arc::new(config))
}

fn respond(client: TcpStream, config: Arc<ServerConfig>, words: &str) -> std::io::Result<()> {
    let server = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut reader = BufReader::new(StreamOwned::new(server, client).take(LONGEST));
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end().to_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut review = vec![0; length];
    reader.read_exact(&mut review)?;
    let review: Value = serde_json::from_slice(&review)?;
    let uid = review.pointer("/request/uid");
    let body = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": uid, "allowed": false, "status": {"message": words}},
    })
    .to_string();
    let mut stream = reader.into_inner().into_inner();
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )?;
    stream.conn.send_close_notify();
    stream.flush()
}
