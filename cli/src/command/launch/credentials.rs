//! `--pull-secret-from-login`: the credentials that the nodes get.

use unlade_launcher::Credentials;
use unlade_name::ImageReference;
use unlade_oci::reference;
use unlade_registry::credential::{self, export};
use unlade_registry::{Auth, Limits};

/// Why the nodes cannot get credentials.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The reference of an image is invalid.
    #[error(transparent)]
    Reference(#[from] reference::Error),
    /// The credentials for a registry were not read, or nodes cannot use them.
    #[error("failed to use the credentials for {registry}")]
    Unusable {
        registry: String,
        #[source]
        source: credential::Error,
    },
    /// No credentials for a registry exist.
    #[error("no credentials for {registry} are stored on this machine")]
    Missing { registry: String },
}

/// Finds the credentials for each image. Finds none without `stored`.
pub(in crate::command) fn find_all(
    stored: Option<&Auth>,
    images: &[String],
    tool_image: &str,
) -> Result<Vec<Option<Credentials>>, Error> {
    let find = |image: &String| {
        stored.map(|stored| find_credentials(stored, image, tool_image)).transpose()
    };
    images.iter().map(find).collect()
}

/// Finds the credentials for an image, which also contain an entry for the tool image if the same
/// credentials are for it.
pub(in crate::command) fn find_credentials(
    stored: &Auth,
    image: &str,
    tool_image: &str,
) -> Result<Credentials, Error> {
    let parse = |text: &str| -> Result<ImageReference, Error> {
        Ok(ImageReference::parse(text).map_err(reference::Error::from)?)
    };
    let (image, tool_image) = (parse(image)?, parse(tool_image)?);
    let found = export(stored, &image, &[tool_image], &Limits::default());
    let registry = || image.registry().to_owned();
    match found.map_err(|source| Error::Unusable { registry: registry(), source })? {
        Some(found) => Ok(Credentials::new(found.config)),
        None => Err(Error::Missing { registry: registry() }),
    }
}
