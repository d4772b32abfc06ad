//! [`Error`]: why an image could not be read from a registry, or written to it.

use std::{io, iter, sync::Arc};

use rustls::CertificateError;
use unlade_text::excerpt;

use crate::address::Forbidden;
use crate::{Remedy, configuration, credential, tls};

/// An error that prevents an image from being read from a registry, or written to it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The reference does not name a registry, or has a digest, which follows from the content.
    #[error("{image} is not of the form HOST[:PORT]/REPOSITORY[:TAG]")]
    Reference {
        /// The reference.
        image: String,
    },
    /// The image that should be pushed cannot be read.
    #[error("failed to read the image")]
    Image(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The image, or a part of it, does not exist.
    #[error("{what} does not exist in the registry {registry}")]
    Missing {
        /// The image or its part.
        what: String,
        /// The registry.
        registry: String,
    },
    /// The registry denies access.
    #[error("the registry {registry} denied access to {what}: {status}")]
    Denied {
        /// The image or its part.
        what: String,
        /// The registry.
        registry: String,
        /// The status, and what the registry says about it.
        status: String,
        /// The file or the option from which the credentials were read.
        credentials: Option<String>,
    },
    /// The registry could not be reached, or closed the connection.
    #[error("failed to request {what}")]
    Http {
        /// The request.
        what: String,
        /// The cause.
        source: Box<ureq::Error>,
    },
    /// The response to a request ends early, is too slow, or is too large.
    #[error("failed to read the response for {what}")]
    Body {
        /// The request.
        what: String,
        /// The cause.
        source: io::Error,
    },
    /// A response is larger than the limit.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// The request or the document.
        what: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The registry refused a request.
    #[error("the registry refused {what}: {status}")]
    Refused {
        /// The request.
        what: String,
        /// The status, and what the registry says about it.
        status: String,
    },
    /// The response of a token server, a redirect or a challenge is not valid.
    #[error("the response for {what} is not valid: {problem}")]
    Invalid {
        /// The request.
        what: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The registry leads to a host that it must not lead to.
    #[error("failed to request {what}")]
    Forbidden {
        /// The request.
        what: String,
        /// The host.
        source: Forbidden,
    },
    /// The certificates for the registry cannot be read.
    #[error("failed to read the certificates for {registry}")]
    Tls {
        /// The registry.
        registry: String,
        /// The cause.
        source: tls::Error,
    },
    /// The rules for registries cannot be read, or forbid the registry.
    #[error(transparent)]
    Configuration(#[from] configuration::Error),
    /// Neither the mirrors of a registry nor the registry itself has the image.
    #[error(
        "no mirror returned the image ({}), and neither did the registry",
        excerpt::list(mirrors, "; ")
    )]
    Mirrors {
        /// The mirrors, and why they failed.
        mirrors: Vec<String>,
        /// The error of the registry itself.
        source: Box<Error>,
    },
    /// The credentials for the registry cannot be read.
    #[error("failed to read the credentials for {registry}")]
    Credentials {
        /// The registry.
        registry: String,
        /// The cause.
        source: credential::Error,
    },
    /// The login for which several threads waited failed.
    #[error(transparent)]
    Shared(Arc<Self>),
}

impl Error {
    pub(crate) fn http(what: String) -> impl FnOnce(ureq::Error) -> Self {
        |source| match source {
            // The resolver refuses addresses by this error.
            ureq::Error::Other(inner) => match inner.downcast::<Forbidden>() {
                Ok(source) => Self::Forbidden { what, source: *source },
                Err(inner) => Self::Http { what, source: Box::new(ureq::Error::Other(inner)) },
            },
            source => Self::Http { what, source: Box::new(source) },
        }
    }

    /// Finds an error of a registry among the causes of another error, such as that of
    /// [`ImageReader::read`](crate::ImageReader::read).
    pub fn find<'e>(error: &'e (dyn std::error::Error + 'static)) -> Option<&'e Self> {
        iter::successors(Some(error), |error| error.source())
            .find_map(|error| {
                // An `io::Error` hides the error that it was created from.
                let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
                error.downcast_ref().or_else(|| inner.and_then(|inner| inner.downcast_ref()))
            })
            .map(|error| match error {
                Self::Shared(error) => error,
                error => error,
            })
    }

    /// Checks whether one of the limits was exceeded.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::Mirrors { source, .. } => source.is_limit(),
            Self::Shared(error) => error.is_limit(),
            error => matches!(error, Self::TooLarge { .. }),
        }
    }

    /// Checks whether another attempt can succeed: the connection broke, or was too slow.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Http { source, .. } => match &**source {
                ureq::Error::Io(error) => is_transient(error),
                ureq::Error::Timeout(_) => true,
                _ => false,
            },
            Self::Body { source, .. } => is_transient(source),
            Self::Shared(error) => error.is_transient(),
            _ => false,
        }
    }

    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Denied { registry, credentials: None, .. } => Some(format!(
                "if the repository is private, log in with `podman login {registry}` or `docker login \
                 {registry}`"
            )),
            Self::Denied { registry, credentials: Some(origin), .. } => Some(format!(
                "renew the credentials from {origin} if they have expired; for a file, use \
                 `podman login {registry}` or `docker login {registry}`"
            )),
            Self::Forbidden { .. } => Some(
                "check the address of the registry: a registry on the Internet must not refer to a \
                 private network, no registry on another machine may refer to this machine, and \
                 none to a link-local address or a metadata service"
                    .to_owned(),
            ),
            Self::Mirrors { source, .. } => source.hint(),
            Self::Shared(error) => error.hint(),
            Self::Http { source, .. } => match tls_error(source)? {
                rustls::Error::InvalidCertificate(error) => {
                    certificate_hint(error).map(str::to_owned)
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the change that may help, if one is known.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Denied { credentials: None, .. } => Some(Remedy::CredentialsFile),
            Self::Mirrors { source, .. } => source.remedy(),
            Self::Shared(error) => error.remedy(),
            Self::Http { source, .. } => match tls_error(source)? {
                // Servers without TLS respond in plain text.
                rustls::Error::InvalidMessage(_) => Some(Remedy::PlainHttp),
                rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                    Some(Remedy::Authority)
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn certificate_hint(error: &CertificateError) -> Option<&'static str> {
    Some(match error {
        CertificateError::UnknownIssuer => {
            "put the CA certificate of the registry into \
             /etc/containers/certs.d/HOST[:PORT]/ca.crt"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "use a name of the registry that its certificate contains"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "renew the certificate of the registry, or correct the clock of this machine"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "correct the clock of this machine"
        }
        // Self-signed certificates often cause this error. Its type belongs to rustls-webpki, which
        // is not a direct dependency, so the error is recognised by its text.
        CertificateError::Other(error) if error.0.to_string() == "CaUsedAsEndEntity" => {
            "give the registry a certificate that is not a CA certificate \
             (basicConstraints=CA:FALSE)"
        }
        _ => return None,
    })
}

/// Returns the error of TLS, if this is one.
fn tls_error(error: &ureq::Error) -> Option<&rustls::Error> {
    match error {
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Checks whether the connection broke in a way that can pass. Errors of TLS do not.
pub(crate) fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind;
    let kinds = [
        ErrorKind::ConnectionReset,
        ErrorKind::ConnectionAborted,
        ErrorKind::BrokenPipe,
        ErrorKind::UnexpectedEof,
        ErrorKind::TimedOut,
        ErrorKind::WouldBlock,
    ];
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    kinds.contains(&error.kind()) || matches!(inner, Some(ureq::Error::Timeout(_)))
}

/// Returns what a registry says in the body of an error (distribution-spec, "Error Codes"), or the
/// beginning of another body.
pub(crate) fn words(body: &[u8]) -> String {
    #[derive(serde::Deserialize)]
    struct ErrorBody {
        errors: Vec<Item>,
    }
    #[derive(serde::Deserialize)]
    struct Item {
        code: String,
        #[serde(default)]
        message: String,
    }
    let text = match serde_json::from_slice::<ErrorBody>(body) {
        Ok(response) => excerpt::list(
            response.errors.iter().map(|item| format!("{} {}", item.code, item.message)),
            "; ",
        ),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    excerpt::truncate(text.trim(), 300).unwrap_or_else(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use rustls::OtherError;

    use super::*;

    /// `tests/registry/access.rs` causes the error of an unknown issuer with a real server.
    #[test]
    fn the_hint_for_a_certificate_fits_its_fault() {
        #[derive(Debug, thiserror::Error)]
        #[error("{0}")]
        struct Fault(&'static str);
        let other = |text| CertificateError::Other(OtherError(Arc::new(Fault(text))));
        for (fault, expected) in [
            (CertificateError::UnknownIssuer, Some("put the CA certificate")),
            (CertificateError::NotValidForName, Some("use a name")),
            (CertificateError::Expired, Some("renew the certificate")),
            (CertificateError::NotValidYet, Some("correct the clock")),
            (other("CaUsedAsEndEntity"), Some("give the registry a certificate")),
            (other("x"), None),
        ] {
            let is_unknown_issuer = fault == CertificateError::UnknownIssuer;
            let tls = io::Error::other(rustls::Error::InvalidCertificate(fault));
            let error = Error::http(String::new())(ureq::Error::Io(tls));
            let hint = error.hint();
            let hint = hint.as_deref().unwrap_or_default();
            assert!(hint.starts_with(expected.unwrap_or_default()), "{hint}");
            assert_eq!(hint.is_empty(), expected.is_none(), "{hint}");
            assert_eq!(error.remedy() == Some(Remedy::Authority), is_unknown_issuer);
        }
    }
}
