//! [`explain`]: where an image would be read from, and how.

use std::path::PathBuf;

use unlade_name::ImageReference;
use unlade_oci::{Digest, Origin as _};

use crate::{Error, Options, Remote, configuration::Endpoint};

/// An endpoint from which an image is requested, and the result of the request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The mirror or registry. It is insecure if its rule or the [`Options`] say so.
    pub endpoint: Endpoint,
    /// Whether it is requested without TLS.
    pub plain_http: bool,
    /// The directory with the certificates for the registry, if one exists.
    pub certificates: Option<PathBuf>,
    /// The file or the helper with the credentials for the registry, if one has them. They are used
    /// only if the registry requires them.
    pub credentials: Option<String>,
    /// The digest of the image there, or the reason why it cannot be read.
    pub result: Result<Digest, Error>,
}

/// Requests the manifest of `image` from each of its mirrors and from the registry itself, and
/// explains which rules, certificates and credentials apply.
///
/// # Errors
///
/// Returns an error if a file with rules or credentials cannot be read, or if the registry is
/// blocked.
pub fn explain(image: &ImageReference, options: &Options) -> Result<Vec<Explanation>, Error> {
    let endpoints = options.rules()?.endpoints(image)?;
    endpoints.into_iter().map(|endpoint| explain_endpoint(endpoint, options)).collect()
}

fn explain_endpoint(mut endpoint: Endpoint, options: &Options) -> Result<Explanation, Error> {
    endpoint.insecure |= options.tls.insecure;
    let plain_http = options.plain_http;
    let registry = endpoint.image.registry();
    let found = endpoint.auth(&options.auth).find(&endpoint.image, &options.limits);
    let fails = |source| Error::Credentials { registry: registry.to_owned(), source };
    let credentials = found.map_err(fails)?.map(|found| found.origin);
    let certificates = options.tls.directory(registry);
    let result = Remote::from_endpoints(&endpoint.clone().into(), options).and_then(|remote| {
        let root = remote.root().map_err(|error| match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => Error::Image(error),
        })?;
        Ok(root.digest)
    });
    Ok(Explanation { endpoint, plain_http, certificates, credentials, result })
}
