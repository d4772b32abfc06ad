//! [`Image`]: an image wherever it is.

use std::path::Path;

use unlade_name::ImageReference;
use unlade_oci::extract::Extracted;
use unlade_oci::{Source, manifest, store};

use crate::{Options, Remote};

/// An image in a file, a directory or a registry. If it is in a registry, all that is read from it
/// has the same manifest, which is requested once.
#[derive(Debug)]
pub struct Image {
    source: Source,
    remote: Option<Remote>,
}

impl Image {
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
    /// Returns an error under the same conditions as [`unlade_oci::read`], or if the registry fails.
    /// An [`Error`](crate::Error) of the registry is the [source](std::error::Error::source) of the
    /// error.
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

/// Returns the image in a registry that a plain path names, if no such file exists. Returns any
/// other source as it is.
///
/// The name must begin with its registry, such as `registry.example/bundles/etcd`. A misspelt path
/// such as `bundles/etcd` is not requested from a registry.
///
/// ```
/// use unlade_oci::Source;
/// use unlade_registry::locate;
///
/// let bare: Source = "registry.example/bundles/etcd:0.9.4".parse()?;
/// assert_eq!(locate(bare).to_string(), "docker://registry.example/bundles/etcd:0.9.4");
/// let path: Source = "bundles/etcd:0.9.4".parse()?;
/// assert_eq!(locate(path.clone()), path);
/// # Ok::<(), unlade_oci::reference::Error>(())
/// ```
pub fn locate(source: Source) -> Source {
    match &source {
        Source::Path(path) => named(path).map_or(source, Source::Remote),
        _ => source,
    }
}

fn named(path: &Path) -> Option<ImageReference> {
    let image = ImageReference::parse(path.to_str()?).ok()?;
    // `symlink_metadata` also finds a link that leads nowhere.
    let exists = path.symlink_metadata().is_ok();
    (!exists && names_registry(&image)).then_some(image)
}

/// Checks whether the reference names its registry, and not only a repository of the default one.
pub(crate) fn names_registry(image: &ImageReference) -> bool {
    image.as_str().strip_prefix(image.registry()).is_some_and(|rest| rest.starts_with('/'))
}
