//! The JSON documents of an image, read only where Go reads the same.
//!
//! Go's `encoding/json` matches the names of fields in any letter case, takes the last of several,
//! and merges objects that occur twice. This crate's parser matches names exactly. Without a check
//! one document, and so one digest, is two images: one for us and one for every engine
//! (CVE-2021-41190 was of this kind). So each document is checked against a [`Schema`], which has
//! the fields and types of Go's own structs, before it is read.

mod check;
mod schema;
mod time;

use std::collections::HashMap;

use oci_spec::image::{Digest, ImageIndex, ImageManifest, OciLayout};
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny};
use unlade_text::excerpt;

pub use schema::Schema;

/// A kind of document, and what Go's type for it looks like.
pub trait Document: DeserializeOwned {
    /// The fields that Go knows.
    const SCHEMA: &'static Schema;
}

/// A document that is not JSON, is of another shape than its kind has, or is read differently by
/// Go.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{problem} at line {line} column {column}")]
pub struct Error {
    /// What is wrong, in a few hundred bytes at most.
    pub problem: String,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in bytes.
    pub column: usize,
}

/// The document in `bytes`.
///
/// # Errors
///
/// If it is not a document of this kind, or if Go's `encoding/json` would refuse it or find other
/// values in it:
/// two keys of an object that differ by letter case at most, a key that is a known field but for
/// letter case, text that is not UTF-8 or has lone surrogates, numbers outside 63 bits.
/// Keys of annotations and labels, which Go reads into maps, may differ by letter case.
pub fn parse<T: Document>(bytes: &[u8]) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    check::Check(T::SCHEMA).deserialize(&mut json)?;
    json.end()?;
    Ok(serde_json::from_slice(bytes)?)
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        // The parser's own text quotes values of any length, and repeats the position.
        let problem = text.strip_suffix(&format!(" at line {line} column {column}"));
        Self { problem: excerpt::cut(problem.unwrap_or(&text)), line, column }
    }
}

/// The configuration of an image, as far as it is needed. Docker has written these for longer
/// than the OCI's types are strict, so no more than this is asked of them.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[non_exhaustive]
pub struct Configuration {
    /// `os`
    pub os: Option<String>,
    /// `architecture`
    pub architecture: Option<String>,
    /// `variant`
    pub variant: Option<String>,
    /// `config`
    pub config: Option<Execution>,
    /// `rootfs`
    pub rootfs: RootFs,
}

/// `config` of a [`Configuration`].
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct Execution {
    /// `Labels`
    pub labels: Option<HashMap<String, Option<String>>>,
}

/// `rootfs` of a [`Configuration`].
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootFs {
    /// `diff_ids`: digests of the layers' tars, lowest first.
    pub diff_ids: Option<Vec<Digest>>,
}

/// `manifest.json` of a docker archive (moby, `image/tarexport`).
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct DockerManifest(pub Vec<DockerImage>);

/// An image of a [`DockerManifest`].
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct DockerImage {
    /// Path of the configuration.
    pub config: String,
    /// Names with tags.
    pub repo_tags: Option<Vec<String>>,
    /// Paths of the layers, lowest first.
    pub layers: Option<Vec<String>>,
}

/// The fields by which readers tell the kinds of manifests apart.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Shape {
    /// `mediaType`
    pub media_type: Option<String>,
    /// `config`; null is as good as absent, in Go too.
    pub config: Option<IgnoredAny>,
    /// `layers`
    pub layers: Option<IgnoredAny>,
    /// `manifests`
    pub manifests: Option<IgnoredAny>,
    /// `fsLayers`: of the first version of Docker's format.
    pub fs_layers: Option<IgnoredAny>,
}

impl Document for OciLayout {
    const SCHEMA: &'static Schema = &schema::LAYOUT;
}

impl Document for ImageIndex {
    const SCHEMA: &'static Schema = &schema::MANIFEST;
}

impl Document for ImageManifest {
    const SCHEMA: &'static Schema = &schema::MANIFEST;
}

impl Document for Shape {
    const SCHEMA: &'static Schema = &schema::MANIFEST;
}

impl Document for Configuration {
    const SCHEMA: &'static Schema = &schema::CONFIGURATION;
}

impl Document for DockerManifest {
    const SCHEMA: &'static Schema = &schema::DOCKER_MANIFEST;
}
