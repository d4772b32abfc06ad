//! The exit codes of the errors of other crates.

use std::error::Error;
use std::io;
use std::iter;

use unlade_bundle::{content, source};
use unlade_catalog_directory as catalog;
use unlade_config_map::{decode, encode, gzip};
use unlade_loader as loader;
use unlade_oci as oci;

use crate::{exit::Exit, input};

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

impl From<&oci::Error> for Exit {
    fn from(error: &oci::Error) -> Self {
        match error {
            error if error.is_limit() => Self::TooLarge,
            error if is_system_error(error) => Self::Failure,
            error => match unlade_registry::Error::find(error) {
                Some(error) if error.is_limit() => Self::TooLarge,
                Some(_) => Self::Failure,
                None => Self::BadBundle,
            },
        }
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
            input::Error::TooLarge { .. } | input::Error::Memory { .. } => Self::TooLarge,
            input::Error::Yaml { source, .. } if source.is_limit() => Self::TooLarge,
            _ => Self::BadBundle,
        }
    }
}
