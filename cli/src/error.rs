//! How errors and warnings are told: once, on standard error, with all their causes and with what
//! to do where that is known.

pub(crate) mod evidence;
mod exit;
mod hint;
mod nearby;

use std::fmt::{Display, Write as _};
use std::io::{self, Write as _};

use unlade_bundle::{Finding, finding};
use unlade_config_map::encode;
use unlade_launcher::Failure;
use unlade_loader as loader;
use unlade_oci as oci;
use unlade_text as text;
use unlade_unpacker::directory;

use crate::{connection, exit::Exit, input, screen::Screen};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// The source of a bundle is not named as it should be.
    #[error(transparent)]
    Source(#[from] oci::reference::Error),
    /// `--platform` is not named as it should be.
    #[error(transparent)]
    Platform(#[from] oci::platform::Error),
    /// A bundle directory.
    #[error("reading the bundle directory {path}")]
    Directory {
        path: String,
        #[source]
        source: directory::Error,
    },
    /// A bundle image.
    #[error("reading {name}")]
    Image {
        name: String,
        #[source]
        source: oci::Error,
    },
    /// A bundle that no ConfigMap can hold.
    #[error(transparent)]
    Encode(#[from] encode::Error),
    /// ConfigMaps that are not read.
    #[error(transparent)]
    Input(#[from] input::Error),
    /// A bundle that is not loaded.
    #[error("loading {name}")]
    Load {
        name: String,
        #[source]
        source: loader::Error,
    },
    /// A ConfigMap that contains no part of a bundle.
    #[error("{name} holds no bundle")]
    NoBundle { name: String },
    /// Some of the ConfigMaps of a List were not loaded; each was told of already.
    #[error("{failed} of {all} ConfigMaps were not loaded")]
    Partly { failed: usize, all: usize, exit: Exit },
    /// `--strict`, and what was reported was told of already.
    #[error("{}, and --strict was given", findings(*.0))]
    Reported(usize),
    /// The way to a cluster.
    #[error(transparent)]
    Connection(#[from] connection::Error),
    /// Arguments that are each as they should be and make no sense together.
    #[error("{0}")]
    Usage(String),
    /// Neither an argument nor the environment names the image of the unpacker.
    #[error("no image of unlade-unpacker is given")]
    ToolImage,
    /// A bundle that was not launched.
    #[error("launching {image}")]
    Launch {
        image: String,
        #[source]
        failure: Box<Failure>,
    },
    /// Some of many images were not launched; each was told of already.
    #[error("{failed} of {all} images were not launched")]
    Launches { failed: usize, all: usize, exit: Exit },
    /// Checks that failed; each was told of already.
    #[error("{failed} of {all} checks failed")]
    Checks { failed: usize, all: usize },
    /// Something else that a cluster was asked for.
    #[error(transparent)]
    Cluster(Box<Failure>),
    /// ConfigMaps that aren't there.
    #[error("{} not found", .0.join(", "))]
    NotFound(Vec<String>),
    /// Standard output.
    #[error("writing to standard output")]
    Output(#[source] io::Error),
    /// A man page.
    #[error("writing the man pages to {directory}")]
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
    /// What a loader said of `name`.
    pub(crate) fn load(name: String, source: loader::Error, screen: &Screen) -> Self {
        match source {
            loader::Error::Lossy(findings) => {
                Self::reported(&findings, finding::count(&findings), screen)
            }
            loader::Error::NoBundle => Self::NoBundle { name },
            source => Self::Load { name, source },
        }
    }

    /// With `--strict`: tells of `findings` as the warnings that they would be without, and is the
    /// error that those are with it of which the bundle loses something.
    pub(crate) fn reported(findings: &[Finding], losses: usize, screen: &Screen) -> Self {
        warn_of(findings, screen);
        Self::Reported(losses)
    }

    /// Why `image` was not launched.
    pub(crate) fn launch(image: &str, failure: Failure) -> Self {
        Self::Launch { image: image.to_owned(), failure: Box::new(failure) }
    }

    /// Why something of a cluster failed, if it did.
    pub(crate) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Launch { failure, .. } | Self::Cluster(failure) => Some(failure),
            _ => None,
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
            Self::Output(_)
            | Self::Man { .. }
            | Self::Connection(_)
            | Self::NotFound(_)
            | Self::Checks { .. } => Exit::Failure,
            Self::Source(_) | Self::Platform(_) | Self::Usage(_) | Self::ToolImage => Exit::Usage,
            Self::Directory { source, .. } => source.into(),
            Self::Image { source, .. } => source.into(),
            Self::Encode(error) => error.into(),
            Self::Input(error) => error.into(),
            Self::Load { source, .. } => source.into(),
            Self::NoBundle { .. } => Exit::BadBundle,
            Self::Launch { failure, .. } | Self::Cluster(failure) => Exit::Cluster(failure.reason),
            Self::Partly { exit, .. } | Self::Launches { exit, .. } => *exit,
            Self::Reported(_) => Exit::Reported,
        }
    }
}

/// Tells of `error`.
pub(crate) fn report(error: &Error, screen: &Screen) -> Exit {
    let exit = error.exit();
    if exit != Exit::Success {
        tell("error", screen.err.error, &chain(error));
        for line in error.failure().map(evidence::lines).unwrap_or_default() {
            _ = writeln!(io::stderr(), "  {}", text::line(&line));
        }
        if let Some(hint) = error.hint() {
            tell("hint", screen.err.hint, &hint);
        }
    }
    exit
}

/// Warns about the findings of a bundle, as many as [`finding::listed`] lists.
pub(crate) fn warn_of<'f>(findings: impl IntoIterator<Item = &'f Finding>, screen: &Screen) {
    for line in finding::listed(findings) {
        tell("warning", screen.err.warning, &line);
    }
}

/// Warns about other items, as many as [`finding::listed_items`] lists.
pub(crate) fn warn<T: Display>(what: impl IntoIterator<Item = T>, screen: &Screen) {
    for line in finding::listed_items(what) {
        tell("warning", screen.err.warning, &line);
    }
}

/// Says something beside the data.
pub(crate) fn note(text: &str) {
    _ = writeln!(io::stderr(), "{}", text::line(text));
}

fn tell(what: &str, style: anstyle::Style, text: &str) {
    // Nobody is left to tell if standard error fails.
    _ = writeln!(io::stderr(), "{style}{what}{style:#}: {}", text::line(text));
}

/// An error and its causes. Not every library keeps causes out of its messages: one that ends with
/// its cause is not followed by it again.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.ends_with(&next) {
            _ = write!(text, ": {next}");
        }
        cause = error.source();
    }
    text
}

fn findings(n_findings: usize) -> String {
    match n_findings {
        1 => "1 finding was reported".to_owned(),
        n => format!("{n} findings were reported"),
    }
}
