//! Data of clusters: responses of API servers, pods and pull secrets.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Event, Pod, Secret};
use unlade_bundle::{Content, Directory, File, Limits};
use unlade_config_map::encode;
use unlade_diagnose::{Failure, classify_pod, classify_pull_secret};
use unlade_name::ImageReference;
use unlade_unpacker::fuzz;

use crate::image::parts;

/// The maximum size of a response that the unpacker reads, in bytes.
const RESPONSE: usize = 8 << 20;

/// The maximum size of a failure as JSON, in bytes.
const FAILURE: usize = 4 << 10;

/// Types of pull secrets, and the keys of their entries.
const SECRETS: [(&str, &str); 2] = [
    ("kubernetes.io/dockerconfigjson", ".dockerconfigjson"),
    ("kubernetes.io/dockercfg", ".dockercfg"),
];

pub(super) fn api_response(input: &[u8]) {
    let mut responses = parts(input).into_iter().map(response);
    let (read, written) = (responses.next(), responses.next());
    let file = File {
        directory: Directory::Manifests,
        name: "csv.yaml".to_owned(),
        bytes: b"kind: ClusterServiceVersion\n".to_vec(),
    };
    let options = encode::Options::default().with_name("x".to_owned());
    let content = Content::assemble(vec![file], &Limits::default());
    let encoded = content.ok().and_then(|reading| encode(&reading.content, &options).ok());
    let encoded = encoded.into_iter().flatten().next();
    assert!(encoded.is_some(), "the ConfigMap that is to be filled");
    if let Some(encoded) = encoded {
        let _ = fuzz::fill(read.unwrap_or_default(), written.unwrap_or((200, None, b"")), &encoded);
    }
}

/// Parses a line `STATUS [RETRY-AFTER]`, which the body follows.
fn response(part: &[u8]) -> fuzz::Reply<'_> {
    let end = part.iter().position(|byte| *byte == b'\n').unwrap_or(part.len());
    let (line, body) = part.split_at(end);
    let body = body.get(1..).unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let status = words.next().and_then(|word| word.parse().ok()).unwrap_or(200);
    let seconds = words.next().and_then(|word| word.parse().ok());
    (status, seconds, body.get(..RESPONSE).unwrap_or(body))
}

pub(super) fn kubeconfig(input: &[u8]) {
    super::image::scratch(|directory| {
        let path = directory.join("kubeconfig");
        let written = std::fs::write(&path, input);
        assert!(written.is_ok(), "{written:?}");
        let _ = fuzz::kubeconfig(&path);
    });
}

pub(super) fn pod(input: &[u8]) {
    let parts = parts(input);
    let mut parts = parts.iter();
    let pod = parts.next().and_then(|part| serde_json::from_slice::<Pod>(part).ok());
    let events = parts.next().and_then(|part| serde_json::from_slice::<Vec<Event>>(part).ok());
    if let Some(pod) = pod {
        let failure = classify_pod(&pod, &events.unwrap_or_default());
        assert_bounded(failure.as_ref());
    }
}

/// Checks that a failure has a limited size whatever it quotes, because it is stored on an object.
fn assert_bounded(failure: Option<&Failure>) {
    let size = serde_json::to_vec(&failure).unwrap_or_default().len();
    assert!(size <= FAILURE, "a failure of {size} bytes");
}

pub(super) fn pull_secret(input: &[u8]) {
    let parts = parts(input);
    let [image, entries, ..] = parts.as_slice() else { return };
    let image = String::from_utf8_lossy(image);
    let Ok(image) = ImageReference::parse(image.trim()) else { return };
    for (kind, key) in SECRETS {
        let secret = Secret {
            type_: Some(kind.to_owned()),
            data: Some([(key.to_owned(), ByteString(entries.to_vec()))].into()),
            ..Secret::default()
        };
        let failure = classify_pull_secret("pull", Some(&secret), &image);
        assert_bounded(failure.as_ref());
    }
}
