//! The address of the API server, the CA certificates to trust, and the credentials.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use unlade_name::{MAX_LABEL, check_label};

use crate::file;

/// The directory in which the kubelet mounts the credentials of the service account.
pub(crate) const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// The maximum size of a token, namespace, key, kubeconfig or bundle of certificates, in bytes.
/// Tokens have about 1 KiB, and the largest bundles of certificates about 250 KiB.
pub(super) const MAX_SIZE: usize = 1 << 20;

/// The server and the credentials of a connection.
#[derive(Debug)]
pub(crate) struct Access {
    /// The address to connect to.
    pub(crate) address: SocketAddr,
    /// The `Host` header.
    pub(crate) host: String,
    /// The prefix of every path, which is empty for most servers.
    pub(crate) base: String,
    pub(crate) token: Token,
    /// `None` for plain HTTP, which only a kubeconfig can request.
    pub(crate) tls: Option<Tls>,
}

/// How the server is authenticated.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    /// The name or address that its certificate must contain.
    pub(crate) name: ServerName<'static>,
}

/// The bearer token of the requests.
pub(crate) enum Token {
    /// No token is sent.
    None,
    /// A token that never changes.
    Fixed(String),
    /// The token in this file, which is read for every request because the kubelet replaces it.
    File(PathBuf),
}

/// Why the access to the API server is unknown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error(
        "--kubeconfig was not given, and {variable} is not set, so the unpacker is not \
         running in a pod"
    )]
    NotInPod { variable: &'static str },
    #[error("{variable} is {value:?}, which is not a valid {expected}")]
    Variable { variable: &'static str, value: OsString, expected: &'static str },
    #[error("failed to read {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} is not UTF-8", path.display())]
    Text { path: PathBuf },
    #[error("the namespace {namespace:?} is invalid: {fault}")]
    Namespace { namespace: String, fault: unlade_name::Error },
    #[error("{what} contains no usable certificate")]
    NoCertificate { what: String },
    #[error("{what} is not a private key in PEM")]
    NoKey { what: String },
    #[error("failed to configure TLS")]
    Tls(#[from] rustls::Error),
}

impl Error {
    /// Returns what the user can do about the error, if that is known.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotInPod { .. } => Some("outside a pod, use --kubeconfig FILE or --dry-run"),
            Self::File { path, source }
                if path.starts_with(ACCOUNT) && source.kind() == io::ErrorKind::NotFound =>
            {
                Some("set automountServiceAccountToken: true in the pod or its service account")
            }
            _ => None,
        }
    }
}

impl Access {
    /// Returns the access of a pod: the two variables of the `kubernetes` service, and the service
    /// account in the directory `account`.
    ///
    /// `variable` reads environment variables. It is called for these two only.
    pub(crate) fn from_pod(
        variable: impl Fn(&str) -> Option<OsString>,
        account: &Path,
    ) -> Result<Self, Error> {
        let host = "KUBERNETES_SERVICE_HOST";
        let port = "KUBERNETES_SERVICE_PORT";
        let ip: IpAddr = parse(&variable, host, "IP address")?;
        let address = SocketAddr::new(ip, parse(&variable, port, "port")?);
        let path = account.join("ca.crt");
        let authority = read(&path)?;
        let config = tls_config(&authority, &path.display().to_string(), None)?;
        Ok(Self {
            address,
            host: address.to_string(),
            base: String::new(),
            token: Token::File(account.join("token")),
            tls: Some(Tls { config: Arc::new(config), name: ServerName::from(ip) }),
        })
    }
}

/// Reads the namespace of the pod from the directory of its service account.
pub(crate) fn namespace_of_pod(account: &Path) -> Result<String, Error> {
    let path = account.join("namespace");
    namespace(text(read(&path)?, path)?)
}

/// Checks that `namespace` is a valid name, because it becomes part of a URL.
pub(super) fn namespace(namespace: String) -> Result<String, Error> {
    match check_label(&namespace, MAX_LABEL) {
        Ok(()) => Ok(namespace),
        Err(fault) => Err(Error::Namespace { namespace, fault }),
    }
}

impl Token {
    /// Reads the current token.
    pub(crate) fn read(&self) -> Result<Option<String>, Error> {
        match self {
            Self::None => Ok(None),
            Self::Fixed(token) => Ok(Some(token.clone())),
            // Reads again on failure, in case the kubelet is just replacing the file.
            Self::File(path) => {
                let bytes = read(path).or_else(|_| read(path))?;
                text(bytes, path.clone()).map(Some)
            }
        }
    }
}

/// Shows no token, so that none appears in a log.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Fixed(_) => f.write_str("Fixed(..)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// Returns a TLS configuration that trusts the certificates of `authority` (PEM). `what` names
/// their origin in messages.
pub(super) fn tls_config(
    authority: &[u8],
    what: &str,
    client: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    // As in Go, unusable certificates are skipped if others are usable.
    let (usable, _) = roots.add_parsable_certificates(certificates(authority));
    if usable == 0 {
        return Err(Error::NoCertificate { what: what.to_owned() });
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    Ok(match client {
        None => builder.with_no_client_auth(),
        Some((chain, key)) => builder.with_client_auth_cert(chain, key)?,
    })
}

/// Parses the certificates in a PEM text.
pub(super) fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    file::read(path, MAX_SIZE).map_err(|source| Error::File { path: path.to_owned(), source })
}

fn text(bytes: Vec<u8>, path: PathBuf) -> Result<String, Error> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.trim().to_owned()),
        Err(_) => Err(Error::Text { path }),
    }
}

fn parse<T: std::str::FromStr>(
    variable: impl Fn(&str) -> Option<OsString>,
    name: &'static str,
    expected: &'static str,
) -> Result<T, Error> {
    let value = variable(name).ok_or(Error::NotInPod { variable: name })?;
    match value.to_str().map(str::parse) {
        Some(Ok(parsed)) => Ok(parsed),
        _ => Err(Error::Variable { variable: name, value, expected }),
    }
}

#[cfg(test)]
mod tests;
