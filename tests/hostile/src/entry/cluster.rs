//! Data of clusters: responses of API servers, pods and pull secrets.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Event, Pod, Secret};
use serde_json::Value;
use unlade_bundle::{Content, Directory, File, Limits};
use unlade_config_map::{ConfigMap, decode, encode};
use unlade_diagnose::{Failure, classify_pod, classify_pull_secret, read_pull_secret};
use unlade_name::ImageReference;
use unlade_unpacker::fuzz;
use unlade_yaml::{to_json, write};

use super::CHECKED_AGAIN;
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
    let content = content.map(|reading| reading.content).ok();
    let encoded = content.as_ref().and_then(|content| encode(content, &options).ok());
    let encoded = encoded.into_iter().flatten().next();
    assert!(encoded.is_some(), "the ConfigMap that is to be filled");
    if let Some(encoded) = encoded {
        let written = written.unwrap_or((200, None, b""));
        if let Ok(filled) = fuzz::fill(read.unwrap_or_default(), written, &encoded) {
            let filled = ConfigMap::parse_json(&filled).ok();
            let found = filled.and_then(|filled| decode(&[filled], &Limits::default()).ok());
            assert!(found.map(|found| found.content) == content, "filled with another content");
        }
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

/// Checks that a kubeconfig whose YAML is written again has the same meaning.
pub(super) fn kubeconfig(input: &[u8]) {
    super::image::scratch(|directory| {
        let path = directory.join("kubeconfig");
        let read = |text: &[u8]| {
            let written = std::fs::write(&path, text);
            assert!(written.is_ok(), "{written:?}");
            fuzz::kubeconfig(&path)
        };
        let found = read(input);
        let Ok(json) = to_json(input, &Limits::default().yaml) else { return };
        let value = serde_json::from_str::<Value>(&json).ok();
        let value = value.filter(|_| input.len() <= CHECKED_AGAIN);
        if let Some(Ok(again)) = value.map(|value| read(write(&value).as_bytes())) {
            assert_eq!(found, Ok(again), "written again");
        }
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
        let secret = secret(kind, key, entries);
        let failure = classify_pull_secret("pull", Some(&secret), &image);
        assert_bounded(failure.as_ref());
        // A node and a client that reads the secret as a file of docker find the same entries.
        if let Ok(text) = read_pull_secret("pull", Some(&secret))
            && text.len() <= CHECKED_AGAIN
        {
            let [(kind, key), _] = SECRETS;
            let written = self::secret(kind, key, text.as_bytes());
            assert_eq!(classify_pull_secret("pull", Some(&written), &image), failure, "{text}");
        }
    }
}

fn secret(kind: &str, key: &str, value: &[u8]) -> Secret {
    Secret {
        type_: Some(kind.to_owned()),
        data: Some([(key.to_owned(), ByteString(value.to_vec()))].into()),
        ..Secret::default()
    }
}
