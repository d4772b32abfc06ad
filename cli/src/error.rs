//! [`Error`]: why a command failed, with its exit code, and with a hint where one is known.

pub(crate) mod evidence;
mod exit;
mod hint;
mod nearby;

use std::io;

use unlade_bundle::{finding, source};
use unlade_config_map::encode;
use unlade_launcher::Failure;
use unlade_loader as loader;
use unlade_oci as oci;

use crate::{
    command::{CredentialsError, DrawError, MigrateError, ProblemError, Unrendered},
    connection,
    exit::Exit,
    input,
    screen::Screen,
    stderr,
    summary::{verb, with_verb},
};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// A source or a destination cannot be used.
    #[error(transparent)]
    Source(#[from] crate::source::Error),
    /// The value of `--platform` is invalid.
    #[error(transparent)]
    Platform(#[from] oci::platform::Error),
    /// A bundle directory was not read.
    #[error("failed to read the bundle directory {path}")]
    Directory {
        path: String,
        #[source]
        source: source::Error,
    },
    /// The rules or the credentials for a registry were not read, or it is blocked.
    #[error("failed to determine the source of the image {image}")]
    Registry {
        image: String,
        #[source]
        source: unlade_registry::Error,
    },
    /// The nodes cannot get the credentials of this machine.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// The cache was not listed or pruned.
    #[error(transparent)]
    Cache(#[from] unlade_registry::cache::Error),
    /// Neither an argument nor the environment names the directory of the cache.
    #[error("failed to determine the cache directory")]
    NoCacheDirectory,
    /// An image was not copied.
    #[error("failed to copy the image {image} to {destination}")]
    Copy {
        image: String,
        destination: String,
        #[source]
        source: oci::copy::Error,
    },
    /// An image was not built.
    #[error("failed to build the image")]
    Build(#[from] oci::build::Error),
    /// A catalog was not added to an image.
    #[error("failed to extend the image {image}")]
    Extend {
        image: String,
        #[source]
        source: oci::build::Error,
    },
    /// A catalog was not read.
    #[error(transparent)]
    Catalog(#[from] unlade_catalog_directory::Error),
    /// A catalog cannot be compared with another one.
    #[error("failed to compare the catalog {catalog}")]
    Compare {
        catalog: String,
        #[source]
        source: unlade_catalog::diff::SnapshotTooLarge,
    },
    /// A catalog is not accepted.
    #[error(transparent)]
    Problem(#[from] ProblemError),
    /// The graphs of a catalog are not drawn.
    #[error(transparent)]
    Graph(#[from] unlade_catalog::graph::DrawError),
    /// The graphs of a catalog are not drawn as SVG.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// A catalog cannot be filtered.
    #[error(transparent)]
    Filter(#[from] unlade_catalog::filter::Error),
    /// A configuration file of oc-mirror selects nothing from a catalog.
    #[error("failed to read the ImageSetConfiguration {path}")]
    ImageSet {
        path: String,
        #[source]
        source: Box<unlade_catalog::filter::ImageSetError>,
    },
    /// `--exit-code` was given, and the catalogs differ. The differences are already written.
    #[error("the catalogs differ")]
    Different,
    /// `--exit-code` was given, and the catalogs were not compared.
    #[error(transparent)]
    Trouble(Box<Error>),
    /// A command that has no options for limits did not read a bundle.
    #[error(transparent)]
    DefaultLimits(Box<Error>),
    /// A file was not read or written.
    #[error("failed to {action} {path}")]
    File {
        action: &'static str,
        path: String,
        #[source]
        source: io::Error,
    },
    /// A bundle cannot be a part of a catalog.
    #[error("failed to render the bundle {name}")]
    Bundle {
        name: String,
        #[source]
        source: Unrendered,
    },
    /// A template was not rendered or written.
    #[error("failed to process the template {name}")]
    Template {
        name: String,
        #[source]
        source: Box<unlade_catalog::template::Error>,
    },
    /// A file of a catalog was not changed.
    #[error(transparent)]
    Change(#[from] unlade_catalog_directory::ChangeError),
    /// A part of a catalog exists, and differs from the one to add.
    #[error("{0}")]
    Conflict(String),
    /// A part of a catalog does not exist, and is not created without `--create`.
    #[error("{0} does not exist")]
    Uncreated(String),
    /// The files of a catalog were not written.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The arguments do not make the meta of a package.
    #[error("failed to create the package")]
    Package(#[source] unlade_catalog::MetaError),
    /// A meta cannot be changed or read again. `place` is a place in a catalog, or a bundle.
    #[error("failed to process the document in {place}")]
    Meta {
        place: String,
        #[source]
        source: unlade_catalog::MetaError,
    },
    /// A meta cannot be written as YAML, or is too large in either form.
    #[error("failed to write a document")]
    Emit(#[source] unlade_yaml::Error),
    /// No ConfigMap can hold the bundle.
    #[error(transparent)]
    Encode(#[from] encode::Error),
    /// A file or standard input was not read.
    #[error(transparent)]
    Input(#[from] input::Error),
    /// The input of `unlade load` was not read.
    #[error(transparent)]
    LoadInput(input::Error),
    /// A bundle was not loaded.
    #[error("failed to load {name}")]
    Load {
        name: String,
        #[source]
        source: loader::Error,
    },
    /// A ConfigMap contains no part of a bundle.
    #[error("{name} does not contain a bundle")]
    NoBundle { name: String },
    /// Some of several ConfigMaps were not processed. Each failure is already reported.
    #[error("failed to {doing} {failed} of {all} ConfigMaps")]
    Partly { doing: &'static str, failed: usize, all: usize, exit: Exit },
    /// `--strict` refuses the findings, which are already reported.
    #[error("{}, and --strict was given", finding_count(*.0))]
    Reported(usize),
    /// The command could not prepare the connection to a cluster.
    #[error(transparent)]
    Connection(#[from] connection::Error),
    /// Arguments that are valid on their own contradict each other.
    #[error("{0}")]
    Usage(String),
    /// Neither an argument nor the environment names the tool image.
    #[error("the tool image is not specified")]
    ToolImage,
    /// A bundle was not launched.
    #[error("failed to launch {image}")]
    Launch {
        image: String,
        #[source]
        failure: Box<Failure>,
    },
    /// Some of several images were not launched, or some of their ConfigMaps were not deleted. Each
    /// failure is already reported.
    #[error("{}", describe_launches(*failed, *all, *not_deleted))]
    Launches { failed: usize, all: usize, not_deleted: usize, exit: Exit },
    /// Some checks failed. Each failure is already reported.
    #[error("{failed} of {all} checks failed")]
    Checks { failed: usize, all: usize },
    /// Another operation on a cluster failed.
    #[error(transparent)]
    Cluster(Box<Failure>),
    /// Some ConfigMaps do not exist.
    #[error("{} {} not exist", .0.join(", "), if .0.len() == 1 { "does" } else { "do" })]
    NotFound(Vec<String>),
    /// Standard output failed.
    #[error("failed to write to standard output")]
    Output(#[source] io::Error),
    /// The man pages were not written.
    #[error("failed to write the man pages to {directory}")]
    Man {
        directory: String,
        #[source]
        source: io::Error,
    },
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        Self::Cluster(Box::new(failure))
    }
}

impl Error {
    /// Creates the error for `source`, which the loader returned for `name`. Reports the findings
    /// that it contains.
    pub(crate) fn load(name: String, source: loader::Error, screen: &Screen) -> Self {
        match source {
            loader::Error::Lossy(findings) => {
                stderr::warn_findings(&findings, screen);
                Self::Reported(finding::count(&findings))
            }
            loader::Error::NoBundle => Self::NoBundle { name },
            source => Self::Load { name, source },
        }
    }

    /// Creates the error for an image that was not launched.
    pub(crate) fn launch(image: &str, failure: Failure) -> Self {
        Self::Launch { image: image.to_owned(), failure: Box::new(failure) }
    }

    /// Returns the failure of an operation on a cluster; `None` for other errors.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Launch { failure, .. } | Self::Cluster(failure) => Some(failure),
            _ => None,
        }
    }
}

fn describe_launches(failed: usize, all: usize, not_deleted: usize) -> String {
    let was = |number| verb(number, ["was", "were"]);
    let launches = format!("{failed} of {all} images {} not launched", was(failed));
    let deletions = format!("{not_deleted} of {all} ConfigMaps {} not deleted", was(not_deleted));
    match (failed, not_deleted) {
        (_, 0) => launches,
        (0, _) => deletions,
        _ => format!("{launches}, and {deletions}"),
    }
}

fn finding_count(n_findings: usize) -> String {
    format!("{} reported", with_verb(n_findings, "finding", ["was", "were"]))
}
