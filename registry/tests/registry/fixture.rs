//! A bundle image, as a registry serves it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use unlade_oci::build::{Compression, Entry, Image, Layer, write, write_index};
use unlade_registry::{ImageReader, Limits, Options};

use crate::server::{Ask, Response, Server};

/// The annotations that make a directory a bundle.
const ANNOTATIONS: &str = "annotations:
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
";

/// An image or an index: its documents and blobs by their digests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fixture {
    /// The digest of the root.
    pub(crate) root: String,
    pub(crate) parts: BTreeMap<String, Vec<u8>>,
    /// The media type of each document.
    pub(crate) media_types: BTreeMap<String, String>,
    /// The digests of the layers.
    pub(crate) layers: Vec<String>,
}

/// Returns the image of a small bundle for an architecture.
pub(crate) fn bundle(architecture: &str, text: &str) -> Image {
    let mut image = Image::from_scratch(format!("linux/{architecture}").parse().unwrap());
    let entries = [
        Entry::file("manifests/map.yaml", format!("kind: ConfigMap\ndata: {{a: {text}}}\n")),
        Entry::file("metadata/annotations.yaml", ANNOTATIONS),
    ];
    image.layers.push(Layer::new(entries).compressed(Compression::Gzip));
    image
}

impl Fixture {
    /// Returns a single image.
    pub(crate) fn image() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let output = format!("oci:{}", directory.path().join("x").display()).parse().unwrap();
        write(&bundle("amd64", "b"), &output).unwrap();
        Self::from_layout(&directory.path().join("x"))
    }

    /// Returns an index of two images, whose bundles contain their architectures.
    pub(crate) fn index() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let output = format!("oci:{}", directory.path().join("x").display()).parse().unwrap();
        let images = ["amd64", "arm64"].map(|name| bundle(name, name));
        write_index(&images, &output).unwrap();
        Self::from_layout(&directory.path().join("x"))
    }

    pub(crate) fn from_layout(layout: &Path) -> Self {
        let json = |path: &Path| -> serde_json::Value {
            serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
        };
        let root = json(&layout.join("index.json"))["manifests"][0].clone();
        let mut fixture =
            Self { root: root["digest"].as_str().unwrap().to_owned(), ..Self::default() };
        for file in std::fs::read_dir(layout.join("blobs/sha256")).unwrap() {
            let path = file.unwrap().path();
            let digest = format!("sha256:{}", path.file_name().unwrap().to_str().unwrap());
            fixture.parts.insert(digest, std::fs::read(&path).unwrap());
        }
        fixture.note(&root);
        fixture
    }

    /// Notes the media types of a document and of those below it.
    fn note(&mut self, descriptor: &serde_json::Value) {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let digest = text(&descriptor["digest"]);
        self.media_types.insert(digest.clone(), text(&descriptor["mediaType"]));
        let document: serde_json::Value = serde_json::from_slice(&self.parts[&digest]).unwrap();
        for child in document["manifests"].as_array().into_iter().flatten() {
            self.note(child);
        }
        for layer in document["layers"].as_array().into_iter().flatten() {
            self.layers.push(text(&layer["digest"]));
        }
    }

    /// Responds as a working registry does.
    pub(crate) fn response(&self, ask: &Ask) -> Response {
        let name = ask.path.rsplit('/').next().unwrap();
        let digest = if name == "v1" { self.root.as_str() } else { name };
        let Some(bytes) = self.parts.get(digest) else { return Response::new(404) };
        let is_document = self.media_types.contains_key(digest);
        if ask.path.contains("/manifests/") != is_document {
            return Response::new(404);
        }
        let response = Response::body(bytes.clone());
        match self.media_types.get(digest) {
            Some(kind) => response.with("Content-Type", kind).with("Docker-Content-Digest", digest),
            None => response.with("Content-Type", "application/octet-stream"),
        }
    }

    /// Replaces the bytes of a part without changing its digest.
    pub(crate) fn damage(&mut self, digest: &str, bytes: Vec<u8>) {
        self.parts.insert(digest.to_owned(), bytes);
    }
}

/// Returns options for a server without TLS, with short waits.
pub(crate) fn plain() -> Options {
    let mut limits = Limits::default();
    limits.pause = Duration::from_millis(1);
    Options::default().with_plain_http(true).with_limits(limits)
}

/// Reads the bundle that a server has under the name `bundles/etcd:v1`.
pub(crate) fn pull(
    server: &Server,
    options: &Options,
) -> Result<unlade_oci::Image, unlade_oci::Error> {
    pull_as(&format!("{}/bundles/etcd:v1", server.address), options)
}

pub(crate) fn pull_as(
    name: &str,
    options: &Options,
) -> Result<unlade_oci::Image, unlade_oci::Error> {
    let source = format!("docker://{name}").parse().unwrap();
    ImageReader::open(source, options)?.read(&unlade_oci::Options::default())
}

/// Returns the error of a registry, and the messages of all causes.
pub(crate) fn refusal(
    result: Result<unlade_oci::Image, unlade_oci::Error>,
) -> (Option<unlade_registry::Error>, String) {
    let error = result.unwrap_err();
    let text = unlade_text::chain(&error);
    (find(error), text)
}

fn find(error: unlade_oci::Error) -> Option<unlade_registry::Error> {
    use unlade_oci::{Error, manifest, store};
    let (Error::Origin(manifest::Error::Store(store::Error::Origin { source, .. }))
    | Error::Store(store::Error::Origin { source, .. })) = error
    else {
        return None;
    };
    match *source.downcast().ok()? {
        unlade_registry::Error::Shared(error) => Arc::into_inner(error),
        error => Some(error),
    }
}

/// Returns the digest of `bytes`.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", unlade_text::hex(&Sha256::digest(bytes)))
}
