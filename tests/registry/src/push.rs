//! Pushing an image.

use std::io::Read;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use unlade_name::{ImageReference, image::DEFAULT_TAG};
use unlade_oci::copy::{self, Destination, copy};
use unlade_oci::{Descriptor, Digest, Source};
use ureq::http::{Request, Response};
use ureq::tls::{RootCerts, TlsConfig, TlsProvider};
use ureq::{Agent, Body, SendBody};

use crate::access;

/// The maximum size of an answer, in bytes.
pub(crate) const MOST_ANSWER: u64 = 1 << 20;
/// The maximum time that a registry may take to answer a complete request.
const PATIENCE: Duration = Duration::from_mins(1);

/// The connection to a registry.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether to use HTTP without TLS and without a proxy, for a registry on this machine.
    pub plain_http: bool,
    /// The credentials, if the registry requires them.
    pub credentials: Option<Credentials>,
}

/// A user of a registry.
#[derive(Clone)]
pub struct Credentials {
    /// The name.
    pub user: String,
    /// The password, or a token that is used as one.
    pub password: String,
}

/// Credentials that are not `USER:PASSWORD`. The error does not contain them.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("credentials are not of the form USER:PASSWORD")]
#[non_exhaustive]
pub struct CredentialsError;

impl FromStr for Credentials {
    type Err = CredentialsError;

    /// Parses `USER:PASSWORD`; the password may contain colons.
    fn from_str(text: &str) -> Result<Self, CredentialsError> {
        let (user, password) = text.split_once(':').ok_or(CredentialsError)?;
        if user.is_empty() {
            return Err(CredentialsError);
        }
        Ok(Self { user: user.to_owned(), password: password.to_owned() })
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Why an image could not be pushed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The reference does not name a registry, or has a digest, which follows from the content.
    #[error("{image} is not of the form HOST[:PORT]/REPOSITORY[:TAG]")]
    Reference {
        /// The reference.
        image: String,
    },
    /// The image could not be read.
    #[error("failed to read the image")]
    Image(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The registry could not be reached, or closed the connection.
    #[error("{what} failed")]
    Http {
        /// The request.
        what: String,
        /// The cause.
        source: Box<ureq::Error>,
    },
    /// The registry refused a request.
    #[error("the registry refused {what}: {status}")]
    Refused {
        /// The request.
        what: String,
        /// The status, and the start of the body.
        status: String,
    },
}

impl Error {
    pub(crate) fn http(what: String) -> impl FnOnce(ureq::Error) -> Self {
        |source| Self::Http { what, source: Box::new(source) }
    }
}

/// Copies the image or index in `source` into a registry, and returns its digest.
///
/// # Errors
///
/// Returns an error if the reference is not `HOST[:PORT]/REPOSITORY[:TAG]`, if the image cannot be
/// read or is not valid, or if the registry cannot be
/// reached or refuses it.
pub fn push(source: &Source, image: &ImageReference, options: &Options) -> Result<Digest, Error> {
    // An image is only pushed where the reference says, not to the default registry.
    if image.is_digest() || !image.as_str().starts_with(image.registry()) {
        return Err(Error::Reference { image: image.to_string() });
    }
    let mut push = Push::start(image, options)?;
    copy(source, &mut push).map_err(|error| match error {
        copy::Error::Destination(error) => error,
        error => Error::Image(Box::new(error)),
    })
}

struct Push<'a> {
    agent: Agent,
    image: &'a ImageReference,
    base: String,
    authorization: Option<String>,
}

impl<'a> Push<'a> {
    /// Connects to the registry, and authenticates if the registry requires it.
    fn start(image: &'a ImageReference, options: &Options) -> Result<Self, Error> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A token server without TLS would receive the password unencrypted.
            .https_only(!options.plain_http)
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            // Answers are small.
            .timeout_recv_body(Some(PATIENCE));
        if options.plain_http {
            config = config.proxy(None);
        } else {
            config = config.tls_config(tls());
        }
        let agent = config.build().new_agent();
        let scheme = if options.plain_http { "http" } else { "https" };
        let base = format!("{scheme}://{}", image.host());
        let mut push = Self { agent, image, base, authorization: None };
        let url = format!("{}/v2/", push.base);
        let answer = push.send("GET", &url, "", 0, &mut std::io::empty())?;
        if answer.status() == 401 {
            let challenge = answer.headers().get("WWW-Authenticate");
            let challenge = challenge.and_then(|value| value.to_str().ok()).unwrap_or_default();
            let credentials = options.credentials.as_ref();
            push.authorization = access::authorization(&push.agent, challenge, image, credentials)?;
        }
        Ok(push)
    }

    fn send(
        &self,
        method: &str,
        url: &str,
        media_type: &str,
        size: u64,
        body: &mut dyn Read,
    ) -> Result<Response<Body>, Error> {
        let mut body = body;
        let mut request = Request::builder().method(method).uri(url);
        // A registry may redirect uploads to another host, which must not receive the credentials.
        let is_here = url.strip_prefix(&self.base).is_some_and(|path| path.starts_with('/'));
        if let Some(authorization) = self.authorization.as_ref().filter(|_| is_here) {
            request = request.header("Authorization", authorization);
        }
        let what = || format!("{method} {url}");
        let answer = if matches!(method, "GET" | "HEAD") {
            let request = request.body(()).map_err(|error| Error::http(what())(error.into()))?;
            self.agent.run(request)
        } else {
            if !media_type.is_empty() {
                request = request.header("Content-Type", media_type);
            }
            let request = request.header("Content-Length", size.to_string());
            let body = SendBody::from_reader(&mut body);
            let request = request.body(body).map_err(|error| Error::http(what())(error.into()))?;
            self.agent.run(request)
        };
        answer.map_err(Error::http(what()))
    }

    fn expect(
        mut answer: Response<Body>,
        status: u16,
        what: &str,
    ) -> Result<Response<Body>, Error> {
        if answer.status() == status {
            return Ok(answer);
        }
        let said = answer.body_mut().with_config().limit(MOST_ANSWER).read_to_string();
        let said: String = said.unwrap_or_default().trim().chars().take(300).collect();
        let status = format!("{} {said}", answer.status());
        Err(Error::Refused { what: what.to_owned(), status: status.trim().to_owned() })
    }
}

/// Returns a TLS configuration that trusts the certificate authorities of this machine.
fn tls() -> TlsConfig {
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::PlatformVerifier)
        .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
        .build()
}

impl Destination for Push<'_> {
    type Error = Error;

    fn blob(&mut self, blob: &Descriptor, reader: &mut dyn Read) -> Result<(), Error> {
        let digest = blob.digest();
        let what = format!("blob {digest} of {}", self.image);
        let blobs = format!("{}/v2/{}/blobs", self.base, self.image.repository());
        let url = format!("{blobs}/{digest}");
        if self.send("HEAD", &url, "", 0, &mut std::io::empty())?.status() == 200 {
            return Ok(());
        }
        let url = format!("{blobs}/uploads/");
        let answer = self.send("POST", &url, "", 0, &mut std::io::empty())?;
        let answer = Self::expect(answer, 202, &what)?;
        let place = answer.headers().get("Location").and_then(|place| place.to_str().ok());
        let Some(place) = place else {
            return Err(Error::Refused { what, status: "it names no place for it".to_owned() });
        };
        // The registry may name a place of its own, with a query or without.
        let place =
            if place.starts_with('/') { format!("{}{place}", self.base) } else { place.into() };
        let separator = if place.contains('?') { '&' } else { '?' };
        let url = format!("{place}{separator}digest={digest}");
        let answer = self.send("PUT", &url, "application/octet-stream", blob.size(), reader)?;
        Self::expect(answer, 201, &what).map(drop)
    }

    fn manifest(
        &mut self,
        manifest: &Descriptor,
        bytes: &[u8],
        is_root: bool,
    ) -> Result<(), Error> {
        let digest = manifest.digest().to_string();
        let reference = if is_root { self.image.tag().unwrap_or(DEFAULT_TAG) } else { &digest };
        let url = format!("{}/v2/{}/manifests/{reference}", self.base, self.image.repository());
        let media_type = manifest.media_type().to_string();
        let answer = self.send("PUT", &url, &media_type, manifest.size(), &mut &*bytes)?;
        Self::expect(answer, 201, &format!("manifest {digest} of {}", self.image)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::Credentials;

    #[test]
    fn unreadable_credentials_are_refused_without_being_printed() {
        let read: Credentials = "user:pass:word".parse().unwrap();
        assert_eq!((read.user.as_str(), read.password.as_str()), ("user", "pass:word"));
        for text in ["secret", ":secret", ""] {
            let error = text.parse::<Credentials>().unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
