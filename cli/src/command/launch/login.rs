//! `--pull-secret-from-login`: the logins that the nodes get.

use unlade_launcher::Login;
use unlade_name::ImageReference;
use unlade_registry::credential::export;
use unlade_registry::{Limits, Login as Stored};

use crate::error::Error;

/// Returns a login for each image; none without `stored`.
pub(in crate::command) fn logins(
    stored: Option<&Stored>,
    images: &[String],
    tool_image: &str,
) -> Result<Vec<Option<Login>>, Error> {
    let login = |image: &String| stored.map(|stored| login(stored, image, tool_image)).transpose();
    images.iter().map(login).collect()
}

/// Returns the login for an image, and for the image of the unpacker if it is the same one.
pub(in crate::command) fn login(
    stored: &Stored,
    image: &str,
    tool_image: &str,
) -> Result<Login, Error> {
    let parse = |text: &str| -> Result<ImageReference, Error> {
        Ok(ImageReference::parse(text).map_err(unlade_oci::reference::Error::from)?)
    };
    let (image, tool_image) = (parse(image)?, parse(tool_image)?);
    let found = export(stored, &image, &[tool_image], &Limits::default());
    let registry = || image.registry().to_owned();
    match found.map_err(|source| Error::Login { registry: registry(), source })? {
        Some(found) => Ok(Login::new(found.config)),
        None => Err(Error::NoLogin { registry: registry() }),
    }
}
