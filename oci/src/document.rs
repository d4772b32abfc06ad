//! Parses the JSON documents of an image. A document that Go would read differently is an error.
//!
//! Go's `encoding/json` matches the names of fields in any letter case, uses the last of several
//! fields, and merges objects that occur twice. The parser of this crate matches names exactly.
//! Without a check, one document with one digest could describe two images: one for this crate, and
//! another one for the engines (as in CVE-2021-41190). So each document is checked against a
//! [`Schema`] with the fields and types of Go's structs before it is parsed.

mod check;
mod schema;
mod time;

use std::collections::HashMap;

use oci_spec::image::{Digest, ImageIndex, ImageManifest, OciLayout};
use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny};
use unlade_text::excerpt;

pub use schema::Schema;

/// A kind of document, with the schema of its Go type.
pub trait Document: DeserializeOwned {
    /// The fields of the Go type.
    const SCHEMA: &'static Schema;

    /// Parses a document that fits the schema.
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` are not a document of this kind.
    fn from_checked(bytes: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(bytes)
    }
}

/// An error in a document: it is not JSON, it does not fit its schema, or Go reads it differently.
#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("{problem} at line {line} column {column}")]
pub struct Error {
    /// The problem, in at most a few hundred bytes.
    pub problem: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in bytes, counted from 1.
    pub column: usize,
}

/// Parses the document in `bytes`.
///
/// # Errors
///
/// Returns an error if `bytes` are not a document of this kind, or if Go's `encoding/json` would
/// reject it or read other values from it. Such documents contain two keys of an object that are
/// equal or differ only in letter case, a key that differs from a known field only in letter case,
/// text that is not UTF-8 or has unpaired surrogates, or numbers outside 63 bits. Keys of
/// annotations and labels may differ only in letter case, because Go reads them into maps.
pub fn parse<T: Document>(bytes: &[u8]) -> Result<T, Error> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    check::Check(T::SCHEMA).deserialize(&mut json)?;
    json.end()?;
    Ok(T::from_checked(bytes)?)
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        // The message of the parser contains values of any length, and the position once more.
        let problem = text.strip_suffix(&format!(" at line {line} column {column}"));
        Self { problem: excerpt::shorten(problem.unwrap_or(&text)), line, column }
    }
}

/// The required fields of the configuration of an image. Old configurations of Docker do not fit
/// the strict OCI types, so the other fields are not parsed.
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[non_exhaustive]
pub struct Configuration {
    /// The field `os`.
    pub os: Option<String>,
    /// The field `architecture`.
    pub architecture: Option<String>,
    /// The field `variant`.
    pub variant: Option<String>,
    /// The field `config`.
    pub config: Option<Execution>,
    /// The field `rootfs`.
    pub rootfs: RootFs,
}

/// The field `config` of a [`Configuration`].
#[derive(Debug, Clone, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "PascalCase")]
#[non_exhaustive]
pub struct Execution {
    /// The field `Labels`.
    pub labels: Option<HashMap<String, Option<String>>>,
}

/// The field `rootfs` of a [`Configuration`].
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
    /// The path of the configuration.
    pub config: String,
    /// The names with tags.
    pub repo_tags: Option<Vec<String>>,
    /// The paths of the layers, lowest first.
    pub layers: Option<Vec<String>>,
}

/// The fields by which readers distinguish the kinds of manifest.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Shape {
    /// The field `mediaType`.
    pub media_type: Option<String>,
    /// The field `config`. Null means absent, as in Go.
    pub config: Option<IgnoredAny>,
    /// The field `layers`.
    pub layers: Option<IgnoredAny>,
    /// The field `manifests`.
    pub manifests: Option<IgnoredAny>,
    /// The field `fsLayers` of the first version of Docker's format.
    pub fs_layers: Option<IgnoredAny>,
}

impl Shape {
    /// Returns the media type that the document names, or else the one that its fields imply. Old
    /// versions of skopeo and podman write manifests without a media type.
    pub(crate) fn kind(self) -> Option<String> {
        let guess = match (&self.manifests, &self.config, &self.layers) {
            (Some(_), None, None) => Some("application/vnd.oci.image.index.v1+json"),
            (None, Some(_), _) => Some("application/vnd.oci.image.manifest.v1+json"),
            _ => None,
        };
        self.media_type.filter(|text| !text.is_empty()).or_else(|| guess.map(str::to_owned))
    }
}

impl Document for OciLayout {
    const SCHEMA: &'static Schema = &schema::LAYOUT;
}

impl Document for ImageIndex {
    const SCHEMA: &'static Schema = &schema::MANIFEST;

    /// Reads the fields `os.version` and `os.features` of platforms, too, for which oci-spec has
    /// other names.
    fn from_checked(bytes: &[u8]) -> serde_json::Result<Self> {
        let mut index: Self = serde_json::from_slice(bytes)?;
        let systems: Systems = serde_json::from_slice(bytes)?;
        let mut manifests = index.manifests().clone();
        for (descriptor, system) in manifests.iter_mut().zip(systems.manifests) {
            if let (Some(mut platform), Some(system)) =
                (descriptor.platform().clone(), system.platform)
            {
                platform.set_os_version(system.version);
                platform.set_os_features(system.features);
                descriptor.set_platform(Some(platform));
            }
        }
        index.set_manifests(manifests);
        Ok(index)
    }
}

/// The fields of an index that describe operating systems.
#[derive(Deserialize)]
struct Systems {
    manifests: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    platform: Option<System>,
}

#[derive(Deserialize)]
struct System {
    #[serde(rename = "os.version")]
    version: Option<String>,
    #[serde(rename = "os.features")]
    features: Option<Vec<String>>,
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
