//! `--pull-secret-from-login`: the credentials that the nodes get.

use unlade_launcher::Credentials;
use unlade_name::ImageReference;
use unlade_registry::credential::export;
use unlade_registry::{Auth, Limits};

use crate::error::Error;

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
        Ok(ImageReference::parse(text).map_err(unlade_oci::reference::Error::from)?)
    };
    let (image, tool_image) = (parse(image)?, parse(tool_image)?);
    let found = export(stored, &image, &[tool_image], &Limits::default());
    let registry = || image.registry().to_owned();
    match found.map_err(|source| Error::Credentials { registry: registry(), source })? {
        Some(found) => Ok(Credentials::new(found.config)),
        None => Err(Error::NoCredentials { registry: registry() }),
    }
}
