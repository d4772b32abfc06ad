//! The exit codes of the errors.

use std::error::Error;
use std::io;
use std::iter;

use unlade_bundle::{content, source};
use unlade_catalog::{graph, template};
use unlade_catalog_directory as catalog;
use unlade_config_map::{decode, encode, gzip};
use unlade_loader as loader;
use unlade_oci as oci;

use crate::command::{CredentialsError, DrawError, MigrateError, ProblemError};
use crate::{exit::Exit, input};

impl super::Error {
    /// Returns the exit code of the error.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe => Exit::Success,
            Self::Filter(error) if error.is_limit() => Exit::TooLarge,
            Self::Emit(error) if error.is_limit() => Exit::TooLarge,
            Self::Output(_)
            | Self::Man { .. }
            | Self::Registry { .. }
            | Self::Cache(_)
            | Self::Connection(_)
            | Self::NotFound(_)
            | Self::Conflict(_)
            | Self::Uncreated(_)
            | Self::Different
            | Self::Filter(_)
            | Self::File { .. }
            | Self::Package(_)
            | Self::Meta { .. }
            | Self::Emit(_)
            | Self::Checks { .. } => Exit::Failure,
            Self::ImageSet { .. }
            | Self::Platform(_)
            | Self::Usage(_)
            | Self::ToolImage
            | Self::NoCacheDirectory
            | Self::Trouble(_) => Exit::Usage,
            Self::DefaultLimits(error) => error.exit(),
            Self::Directory { source, .. } => source.into(),
            Self::Source(error) => error.into(),
            Self::Credentials(error) => error.into(),
            Self::Copy { source, .. } => source.into(),
            Self::Build(source) | Self::Extend { source, .. } => source.into(),
            Self::Catalog(error) => error.into(),
            Self::Compare { .. } => Exit::TooLarge,
            Self::Change(error) => error.into(),
            Self::Problem(error) => error.into(),
            Self::Migrate(error) => error.into(),
            Self::Template { source, .. } => source.as_ref().into(),
            Self::Graph(error) => error.into(),
            Self::Draw(error) => error.into(),
            Self::Encode(error) => error.into(),
            Self::Input(error) | Self::LoadInput(error) => error.into(),
            Self::Load { source, .. } => source.into(),
            Self::Bundle { .. } | Self::NoBundle { .. } => Exit::BadBundle,
            Self::Launch { failure, .. } | Self::Cluster(failure) => Exit::Cluster(failure.reason),
            Self::Partly { exit, .. } | Self::Launches { exit, .. } => *exit,
            Self::Reported(_) => Exit::Reported,
        }
    }
}

impl From<&crate::source::Error> for Exit {
    fn from(error: &crate::source::Error) -> Self {
        use crate::source::Error;
        match error {
            Error::Notation(_) | Error::NotUtf8(_) | Error::Terminal => Self::Usage,
            Error::Image { source, .. } => source.into(),
            Error::StandardInput(_) | Error::Temporary(_) => Self::Failure,
            Error::TooLarge(_) => Self::TooLarge,
        }
    }
}

impl From<&CredentialsError> for Exit {
    fn from(error: &CredentialsError) -> Self {
        match error {
            CredentialsError::Reference(_) => Self::Usage,
            CredentialsError::Unusable { .. } | CredentialsError::Missing { .. } => Self::Failure,
        }
    }
}

impl From<&ProblemError> for Exit {
    fn from(error: &ProblemError) -> Self {
        match error {
            ProblemError::Invalid { is_limit: true, .. } => Self::TooLarge,
            ProblemError::Invalid { .. } => Self::BadBundle,
            ProblemError::Warnings(_) => Self::Reported,
        }
    }
}

impl From<&MigrateError> for Exit {
    fn from(error: &MigrateError) -> Self {
        match error {
            MigrateError::Write { .. } => Self::Failure,
            MigrateError::Package { .. } => Self::BadBundle,
            MigrateError::Packages { .. } => Self::TooLarge,
            MigrateError::Catalog(error) => error.into(),
        }
    }
}

impl From<&source::Error> for Exit {
    fn from(error: &source::Error) -> Self {
        match error {
            error if error.is_limit() => Self::TooLarge,
            source::Error::Root { .. }
            | source::Error::Unreadable { .. }
            | source::Error::Changed { .. }
            | source::Error::System { .. } => Self::Failure,
            _ => Self::BadBundle,
        }
    }
}

impl From<&catalog::Error> for Exit {
    fn from(error: &catalog::Error) -> Self {
        match error {
            error if error.is_limit() => Self::TooLarge,
            catalog::Error::Name { .. } => Self::BadBundle,
            _ => Self::Failure,
        }
    }
}

impl From<&catalog::ChangeError> for Exit {
    fn from(error: &catalog::ChangeError) -> Self {
        match error {
            catalog::ChangeError::Root(error) => error.into(),
            _ => Self::Failure,
        }
    }
}

impl From<&template::Error> for Exit {
    fn from(error: &template::Error) -> Self {
        match error {
            error if error.is_limit() => Self::TooLarge,
            template::Error::Read(_) => Self::Failure,
            template::Error::Bundle { source, .. } => match source.downcast_ref::<super::Error>() {
                Some(error) => error.exit(),
                None => Self::Failure,
            },
            _ => Self::BadBundle,
        }
    }
}

impl From<&graph::DrawError> for Exit {
    fn from(error: &graph::DrawError) -> Self {
        match error {
            graph::DrawError::Edges { .. }
            | graph::DrawError::Text { .. }
            | graph::DrawError::Work { .. } => Self::TooLarge,
            _ => Self::Failure,
        }
    }
}

impl From<&DrawError> for Exit {
    fn from(error: &DrawError) -> Self {
        match error {
            DrawError::TooLarge => Self::TooLarge,
            DrawError::Layout { .. } => Self::Failure,
        }
    }
}

impl From<&oci::Error> for Exit {
    fn from(error: &oci::Error) -> Self {
        match error {
            error if error.is_limit() => Self::TooLarge,
            error if is_system_error(error) => Self::Failure,
            error => unless_of_registry(error),
        }
    }
}

impl From<&oci::build::Error> for Exit {
    fn from(error: &oci::build::Error) -> Self {
        use oci::build::Error;
        match error {
            Error::Base { .. } | Error::Path { .. } | Error::Whiteout { .. } => Self::BadBundle,
            _ => Self::Failure,
        }
    }
}

impl From<&oci::copy::Error> for Exit {
    fn from(error: &oci::copy::Error) -> Self {
        match error {
            oci::copy::Error::Open(error) => error.into(),
            error if error.is_limit() => Self::TooLarge,
            oci::copy::Error::Manifest(_) if !is_system_error(error) => unless_of_registry(error),
            _ => Self::Failure,
        }
    }
}

/// Returns the exit code of an image that is broken, unless a registry is among the causes.
fn unless_of_registry(error: &(dyn Error + 'static)) -> Exit {
    match unlade_registry::Error::find(error) {
        Some(error) if error.is_limit() => Exit::TooLarge,
        Some(_) => Exit::Failure,
        None => Exit::BadBundle,
    }
}

/// Checks whether the cause is an error of the operating system, such as a file that cannot be
/// opened. A broken archive also causes an [`io::Error`], but without an error number.
fn is_system_error(error: &(dyn Error + 'static)) -> bool {
    let causes = iter::successors(Some(error), |error| (*error).source());
    causes.filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|e| e.raw_os_error().is_some())
}

impl From<&content::Error> for Exit {
    fn from(error: &content::Error) -> Self {
        if error.is_limit() { Self::TooLarge } else { Self::BadBundle }
    }
}

impl From<&encode::Error> for Exit {
    fn from(error: &encode::Error) -> Self {
        match error {
            encode::Error::Annotations(error) if !error.is_limit() => Self::BadBundle,
            _ => Self::TooLarge,
        }
    }
}

impl From<&loader::Error> for Exit {
    fn from(error: &loader::Error) -> Self {
        match error {
            loader::Error::Decode(error) => error.into(),
            loader::Error::Exhausted { .. } => Self::TooLarge,
            _ => Self::BadBundle,
        }
    }
}

impl From<&decode::Error> for Exit {
    fn from(error: &decode::Error) -> Self {
        match error {
            decode::Error::TooLarge { .. }
            | decode::Error::Value {
                source: gzip::Error::TooLarge { .. } | gzip::Error::Ratio { .. },
                ..
            } => Self::TooLarge,
            decode::Error::Content(error) => error.into(),
            _ => Self::BadBundle,
        }
    }
}

impl From<&input::Error> for Exit {
    fn from(error: &input::Error) -> Self {
        match error {
            input::Error::Terminal => Self::Usage,
            input::Error::Read { .. } => Self::Failure,
            input::Error::TooLarge { .. }
            | input::Error::Memory { .. }
            | input::Error::TooDeep { .. } => Self::TooLarge,
            input::Error::Yaml { source, .. } if source.is_limit() => Self::TooLarge,
            _ => Self::BadBundle,
        }
    }
}
