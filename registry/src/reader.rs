//! [`ImageReader`]: reads an image wherever it is.

use std::path::Path;

use unlade_name::ImageReference;
use unlade_oci::extract::Extracted;
use unlade_oci::{Source, manifest, store};

use crate::{Options, Remote};

/// A reader of an image in a file, a directory or a registry. If the image is in a registry, all
/// that is read from it has the same manifest, which is requested once.
#[derive(Debug)]
pub struct ImageReader {
    source: Source,
    remote: Option<Remote>,
}

impl ImageReader {
    /// Prepares to read the image that `source` names. Sends no request.
    ///
    /// # Errors
    ///
    /// Returns an error under the same conditions as [`Remote::new`].
    pub fn open(source: Source, registry: &Options) -> Result<Self, unlade_oci::Error> {
        let remote = match &source {
            Source::Remote(image) => {
                Some(remote(image, registry).map_err(unlade_oci::Error::Origin)?)
            }
            _ => None,
        };
        Ok(Self { source, remote })
    }

    /// Returns the source that names the image.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Reads the bundle in the image.
    ///
    /// # Errors
    ///
    /// Returns an error under the same conditions as [`unlade_oci::read`], or if the registry
    /// fails. An [`Error`](crate::Error) of the registry is the [source](std::error::Error::source)
    /// of the error.
    pub fn read(
        &self,
        options: &unlade_oci::Options,
    ) -> Result<unlade_oci::Image, unlade_oci::Error> {
        match &self.remote {
            Some(remote) => unlade_oci::read_from(remote, options),
            None => unlade_oci::read(&self.source, options),
        }
    }

    /// Writes the directory that the label `label` of the image names into the empty directory
    /// `into`, as [`unlade_oci::extract()`] does.
    ///
    /// # Errors
    ///
    /// Returns an error under the same conditions as [`unlade_oci::extract()`], or if the registry
    /// fails.
    pub fn extract(
        &self,
        label: &str,
        into: &Path,
        options: &unlade_oci::Options,
    ) -> Result<Extracted, unlade_oci::Error> {
        match &self.remote {
            Some(remote) => unlade_oci::extract_from(remote, label, into, options),
            None => unlade_oci::extract(&self.source, label, into, options),
        }
    }
}

/// Prepares to read `image`, with the errors of the reader of images.
pub(crate) fn remote(
    image: &ImageReference,
    registry: &Options,
) -> Result<Remote, manifest::Error> {
    Remote::new(image, registry).map_err(|error| {
        let (name, source) = (image.to_string(), error.into());
        manifest::Error::Store(store::Error::Origin { name, source })
    })
}
