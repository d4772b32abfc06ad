//! [`explain`]: where an image would be read from, and how.

use std::path::PathBuf;

use unlade_name::ImageReference;
use unlade_oci::{Digest, Origin as _};

use crate::{Error, Options, Remote, configuration::Endpoint};

/// A place from which an image is requested, and the result of the request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The place. It is insecure if its rule or the [`Options`] say so.
    pub endpoint: Endpoint,
    /// Whether it is requested without TLS.
    pub plain_http: bool,
    /// The folder with the certificates for the registry, if one exists.
    pub certificates: Option<PathBuf>,
    /// The file or the helper with the login for the registry, if there is one. It is used only if
    /// the registry asks for it.
    pub login: Option<String>,
    /// The digest of the image there, or the reason why it cannot be read.
    pub answer: Result<Digest, Error>,
}

/// Requests the manifest of `image` from each of its mirrors and from the registry itself, and
/// explains which rules, certificates and logins apply.
///
/// # Errors
///
/// Returns an error if a file with rules or logins cannot be read, or if the registry is blocked.
pub fn explain(image: &ImageReference, options: &Options) -> Result<Vec<Explanation>, Error> {
    let endpoints = options.rules()?.endpoints(image)?;
    endpoints.into_iter().map(|endpoint| explain_endpoint(endpoint, options)).collect()
}

fn explain_endpoint(mut endpoint: Endpoint, options: &Options) -> Result<Explanation, Error> {
    endpoint.insecure |= options.tls.insecure;
    let plain_http = options.plain_http;
    let registry = endpoint.image.registry();
    let found = endpoint.login(&options.login).find(&endpoint.image, &options.limits);
    let fails = |source| Error::Login { registry: registry.to_owned(), source };
    let login = found.map_err(fails)?.map(|found| found.origin);
    let certificates = options.tls.folder(registry);
    let answer = Remote::from_endpoints(&endpoint.clone().into(), options).and_then(|remote| {
        let root = remote.root().map_err(|error| match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => Error::Image(error),
        })?;
        Ok(root.digest)
    });
    Ok(Explanation { endpoint, plain_http, certificates, login, answer })
}
