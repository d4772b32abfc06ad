//! [`Entry`]: the readers of untrusted bytes.

mod bundle;
mod catalog;
mod cluster;
mod image;
mod name;
mod registry;
mod server;
mod text;

use std::fmt;
use std::str::FromStr;

use Entry::{
    Annotations, ApiResponse, Bundle, Call, Catalog, Certificates, ConfigMap, Credentials, Diff,
    DockerArchive, Extract, Filter, Graph, Gzip, ImageLayout, IndexIgnore, Json, Kubeconfig, Load,
    Manifest, OciArchive, Pod, PullSecret, Range, Reference, RegistriesConf, RegistryResponse,
    Render, Served, Tar, Template, Yaml,
};

/// The size of an input up to which results are written and read again, in bytes. Above it, a
/// second value would count as cost of the reader. It is above the sizes of fuzzing and of the
/// comparison of costs, and below those of `cargo xtask bench hostile`.
const CHECKED_AGAIN: usize = 640 << 10;

/// A reader of untrusted bytes. Each has a fuzz target of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// The file annotations.yaml of a bundle.
    Annotations,
    /// Two responses of an API server to the unpacker, each a line `STATUS [RETRY-AFTER]` and a
    /// body, with [`SEPARATOR`](crate::image::SEPARATOR) between them.
    ApiResponse,
    /// The files of a bundle, with [`SEPARATOR`](crate::image::SEPARATOR) between them:
    /// annotations.yaml, dependencies.yaml, properties.yaml, two manifests.
    Bundle,
    /// A request to the server of a catalog: a line with the path of the method, and the body.
    Call,
    /// A file of a file-based catalog.
    Catalog,
    /// Certificates of authorities, a certificate of the client and its key, with separators
    /// between.
    Certificates,
    /// A ConfigMap in JSON: decoded, encoded, decoded again.
    ConfigMap,
    /// The name of an image, a separator, and a file with credentials or the output of a credential
    /// helper.
    Credentials,
    /// Two catalogs to compare, with a separator between them, or one.
    Diff,
    /// A docker archive, or the template of one ([`image`](crate::image)).
    DockerArchive,
    /// A layer, plain or compressed, from which a catalog is extracted.
    Extract,
    /// A catalog of which a part is kept.
    Filter,
    /// A catalog whose graphs are drawn.
    Graph,
    /// A compressed value of a ConfigMap, without its base64.
    Gzip,
    /// The template of an OCI image layout in a directory.
    ImageLayout,
    /// The `.indexignore` of a catalog, a separator, and the names of its files, one on each line.
    IndexIgnore,
    /// JSON of bundles and of clusters: objects, constraints, outcomes.
    Json,
    /// A kubeconfig in the arguments of the unpacker.
    Kubeconfig,
    /// A ConfigMap in JSON, through the loader.
    Load,
    /// A manifest that is rendered as a bundle of a catalog.
    Manifest,
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
    /// The name of an image, a separator, and a registries.conf.
    RegistriesConf,
    /// What a registry sends, with separators between: the headers with its challenges, one on each
    /// line, the response of its token server, the range of a blob, and a redirect.
    RegistryResponse,
    /// A catalog whose metas are rendered.
    Render,
    /// A catalog that is served.
    Served,
    /// A layer, plain or compressed, that is laid over a bundle.
    Tar,
    /// A template of a catalog, or a catalog to convert into one.
    Template,
    /// A YAML file of a bundle.
    Yaml,
}

impl Entry {
    /// All entries, by name.
    pub const ALL: [Self; 32] = [
        Annotations,
        ApiResponse,
        Bundle,
        Call,
        Catalog,
        Certificates,
        ConfigMap,
        Credentials,
        Diff,
        DockerArchive,
        Extract,
        Filter,
        Graph,
        Gzip,
        ImageLayout,
        IndexIgnore,
        Json,
        Kubeconfig,
        Load,
        Manifest,
        OciArchive,
        Pod,
        PullSecret,
        Range,
        Reference,
        RegistriesConf,
        RegistryResponse,
        Render,
        Served,
        Tar,
        Template,
        Yaml,
    ];

    /// Returns its name, which is also the name of its fuzz target.
    pub fn name(self) -> &'static str {
        match self {
            Annotations => "annotations",
            ApiResponse => "api_response",
            Bundle => "bundle",
            Call => "call",
            Catalog => "catalog",
            Certificates => "certificates",
            ConfigMap => "config_map",
            Credentials => "credentials",
            Diff => "diff",
            DockerArchive => "docker_archive",
            Extract => "extract",
            Filter => "filter",
            Graph => "graph",
            Gzip => "gzip",
            ImageLayout => "image_layout",
            IndexIgnore => "index_ignore",
            Json => "json",
            Kubeconfig => "kubeconfig",
            Load => "load",
            Manifest => "manifest",
            OciArchive => "oci_archive",
            Pod => "pod",
            PullSecret => "pull_secret",
            Range => "range",
            Reference => "reference",
            RegistriesConf => "registries_conf",
            RegistryResponse => "registry_response",
            Render => "render",
            Served => "served",
            Tar => "tar",
            Template => "template",
            Yaml => "yaml",
        }
    }

    /// Returns whether [`run`](Self::run) first makes an image of its input. For a compressed
    /// layer, that costs as much as the reader, so only a program that reads the image from a file
    /// shows the cost of the reader.
    pub fn builds_an_image(self) -> bool {
        matches!(self, DockerArchive | Extract | ImageLayout | OciArchive | Tar)
    }

    /// Runs the reader on `input`, and checks the properties that every result must have.
    ///
    /// # Panics
    ///
    /// Panics if a property does not hold, which is a bug of the reader.
    pub fn run(self, input: &[u8]) {
        match self {
            Annotations => bundle::annotations(input),
            ApiResponse => cluster::api_response(input),
            Bundle => bundle::files(input),
            Call => server::call(input),
            Catalog => catalog::file(input),
            Certificates => registry::certificates(input),
            ConfigMap => bundle::config_map(input),
            Credentials => registry::credentials(input),
            Diff => catalog::difference(input),
            DockerArchive => image::docker_archive(input),
            Extract => image::extract(input),
            Filter => catalog::filtered(input),
            Graph => catalog::graph(input),
            Gzip => bundle::gzip(input),
            ImageLayout => image::layout(input),
            IndexIgnore => catalog::index_ignore(input),
            Json => text::json(input),
            Kubeconfig => cluster::kubeconfig(input),
            Load => bundle::load(input),
            Manifest => catalog::manifest(input),
            OciArchive => image::oci_archive(input),
            Pod => cluster::pod(input),
            PullSecret => cluster::pull_secret(input),
            Range => name::range(input),
            Reference => name::reference(input),
            RegistriesConf => registry::configuration(input),
            RegistryResponse => registry::response(input),
            Render => catalog::rendered(input),
            Served => server::served(input),
            Tar => image::tar(input),
            Template => catalog::template(input),
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

/// Formats an error and its causes, because that must not fail either. Returns their length.
fn explain(error: &dyn std::error::Error) -> usize {
    let mut length = error.to_string().len();
    let mut cause = error.source();
    while let Some(error) = cause {
        length += error.to_string().len();
        cause = error.source();
    }
    length
}
