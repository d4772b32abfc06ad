//! [`Entry`]: the readers of untrusted bytes.

mod bundle;
mod catalog;
mod cluster;
mod image;
mod name;
mod text;

use std::fmt;
use std::str::FromStr;

use Entry::{
    Annotations, ApiAnswer, Bundle, Catalog, ConfigMap, DockerArchive, Gzip, ImageLayout, Json,
    Kubeconfig, Load, OciArchive, Pod, PullSecret, Range, Reference, Tar, Yaml,
};

/// A reader of untrusted bytes. Each has a fuzz target of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// The file annotations.yaml of a bundle.
    Annotations,
    /// Two answers of an API server to the unpacker, each a line `STATUS [RETRY-AFTER]` and a
    /// body, with [`SEPARATOR`](crate::image::SEPARATOR) between them.
    ApiAnswer,
    /// The files of a bundle, with [`SEPARATOR`](crate::image::SEPARATOR) between them:
    /// annotations.yaml, dependencies.yaml, properties.yaml, two manifests.
    Bundle,
    /// A file of a file-based catalog.
    Catalog,
    /// A ConfigMap in JSON: decoded, encoded, decoded again.
    ConfigMap,
    /// A docker archive, or the template of one ([`image`](crate::image)).
    DockerArchive,
    /// A compressed value of a ConfigMap, without its base64.
    Gzip,
    /// The template of an OCI image layout in a directory.
    ImageLayout,
    /// JSON of bundles and of clusters: objects, constraints, outcomes.
    Json,
    /// A kubeconfig in the arguments of the unpacker.
    Kubeconfig,
    /// A ConfigMap in JSON, through the loader.
    Load,
    /// An OCI archive, or the template of one.
    OciArchive,
    /// A pod and a list of its events in JSON, with a separator between them.
    Pod,
    /// The name of an image, a separator, and the JSON of a pull secret.
    PullSecret,
    /// A range of versions, a line end, and a version.
    Range,
    /// Names of images and platforms, and arguments of the unpacker, one on each line.
    Reference,
    /// A layer, plain or compressed, that is laid over a bundle.
    Tar,
    /// A YAML file of a bundle.
    Yaml,
}

impl Entry {
    /// All entries, by name.
    pub const ALL: [Self; 18] = [
        Annotations,
        ApiAnswer,
        Bundle,
        Catalog,
        ConfigMap,
        DockerArchive,
        Gzip,
        ImageLayout,
        Json,
        Kubeconfig,
        Load,
        OciArchive,
        Pod,
        PullSecret,
        Range,
        Reference,
        Tar,
        Yaml,
    ];

    /// Returns its name, which is also the name of its fuzz target.
    pub fn name(self) -> &'static str {
        match self {
            Annotations => "annotations",
            ApiAnswer => "api_answer",
            Bundle => "bundle",
            Catalog => "catalog",
            ConfigMap => "config_map",
            DockerArchive => "docker_archive",
            Gzip => "gzip",
            ImageLayout => "image_layout",
            Json => "json",
            Kubeconfig => "kubeconfig",
            Load => "load",
            OciArchive => "oci_archive",
            Pod => "pod",
            PullSecret => "pull_secret",
            Range => "range",
            Reference => "reference",
            Tar => "tar",
            Yaml => "yaml",
        }
    }

    /// Runs the reader on `input`, and checks the properties that every result must have.
    ///
    /// # Panics
    ///
    /// Panics if a property does not hold, which is a bug of the reader.
    pub fn run(self, input: &[u8]) {
        match self {
            Annotations => bundle::annotations(input),
            ApiAnswer => cluster::api_answer(input),
            Bundle => bundle::files(input),
            Catalog => catalog::file(input),
            ConfigMap => bundle::config_map(input),
            DockerArchive => image::docker_archive(input),
            Gzip => bundle::gzip(input),
            ImageLayout => image::layout(input),
            Json => text::json(input),
            Kubeconfig => cluster::kubeconfig(input),
            Load => bundle::load(input),
            OciArchive => image::oci_archive(input),
            Pod => cluster::pod(input),
            PullSecret => cluster::pull_secret(input),
            Range => name::range(input),
            Reference => name::reference(input),
            Tar => image::tar(input),
            Yaml => text::yaml(input),
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Entry {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|entry| entry.name() == name);
        found.ok_or_else(|| format!("no entry is named {name:?}"))
    }
}

/// Returns an error with its causes, because formatting an error must not fail either.
fn explain(error: &dyn std::error::Error) -> usize {
    let mut length = error.to_string().len();
    let mut cause = error.source();
    while let Some(error) = cause {
        length += error.to_string().len();
        cause = error.source();
    }
    length
}
