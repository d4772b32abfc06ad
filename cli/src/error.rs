//! How errors and warnings are told: once, on standard error, with all their causes and with what
//! to do where that is known.

mod exit;
mod hint;

use std::error::Error as _;
use std::fmt::Write as _;
use std::io::{self, Write as _};

use unlade_format::{Finding, encode};
use unlade_loader as loader;
use unlade_oci as oci;
use unlade_unpacker::directory;

use crate::{
    exit::Exit,
    input,
    screen::{Screen, escape},
};

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
    /// Some of the ConfigMaps of a List were not loaded; each was told of already.
    #[error("{failed} of {all} ConfigMaps were not loaded")]
    Partly { failed: usize, all: usize, exit: Exit },
    /// `--strict`, and what was reported was told of already.
    #[error("{}, and --strict was given", findings(*.0))]
    Reported(usize),
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

impl Error {
    /// What a loader said of `name`.
    pub(crate) fn load(name: String, source: loader::Error, screen: &Screen) -> Self {
        match source {
            loader::Error::Lossy(findings) => Self::reported(&findings, findings.len(), screen),
            source => Self::Load { name, source },
        }
    }

    /// With `--strict`: tells of `findings` as the warnings that they would be without, and is the
    /// error that those are with it of which the bundle loses something.
    pub(crate) fn reported(findings: &[Finding], losses: usize, screen: &Screen) -> Self {
        warn(findings, screen);
        Self::Reported(losses)
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
            Self::Output(_) | Self::Man { .. } => Exit::Failure,
            Self::Source(_) | Self::Platform(_) => Exit::Usage,
            Self::Directory { source, .. } => source.into(),
            Self::Image { source, .. } => source.into(),
            Self::Encode(error) => error.into(),
            Self::Input(error) => error.into(),
            Self::Load { source, .. } => source.into(),
            Self::Partly { exit, .. } => *exit,
            Self::Reported(_) => Exit::Reported,
        }
    }
}

/// Tells of `error`.
pub(crate) fn report(error: &Error, screen: &Screen) -> Exit {
    let exit = error.exit();
    if exit != Exit::Success {
        tell("error", screen.err.error, &chain(error));
        if let Some(hint) = error.hint() {
            tell("hint", screen.err.hint, &hint);
        }
    }
    exit
}

/// Tells of what was noticed.
pub(crate) fn warn<T: ToString>(what: impl IntoIterator<Item = T>, screen: &Screen) {
    for what in what {
        tell("warning", screen.err.warning, &what.to_string());
    }
}

fn tell(what: &str, style: anstyle::Style, text: &str) {
    // Nobody is left to tell if standard error fails.
    _ = writeln!(io::stderr(), "{style}{what}{style:#}: {}", escape(text));
}

/// An error and its causes. Not every library keeps causes out of its messages: one that ends with
/// its cause is not followed by it again.
fn chain(error: &Error) -> String {
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
