//! Where the API server is, how it is recognised, and who we are to it.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};

use crate::{file, name};

/// Where the kubelet mounts a service account.
pub(crate) const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Most bytes of a token, namespace, key or bundle of certificates. Tokens have about 1 KiB, the
/// largest authority bundles some 250 KiB.
pub(super) const SIZE: usize = 1 << 20;

/// All that a connection needs to know.
#[derive(Debug)]
pub(crate) struct Access {
    /// The address that is connected to, whatever its name is.
    pub(crate) address: SocketAddr,
    /// The `Host` header.
    pub(crate) host: String,
    /// What every path begins with; empty for most servers.
    pub(crate) base: String,
    pub(crate) token: Token,
    /// None for plain HTTP, which only a kubeconfig can ask for.
    pub(crate) tls: Option<Tls>,
}

/// How the server is recognised.
#[derive(Debug)]
pub(crate) struct Tls {
    pub(crate) config: Arc<ClientConfig>,
    /// The name or address that its certificate must bear.
    pub(crate) name: ServerName<'static>,
}

/// How we say who we are.
pub(crate) enum Token {
    /// Not by a token.
    None,
    /// By this one.
    Fixed(String),
    /// By the one in this file, which is read for every request: the kubelet replaces it.
    File(PathBuf),
}

/// Why there is no way to the API server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("{variable} is not set, as it is in every pod, and no --kubeconfig is given")]
    NotInPod { variable: &'static str },
    #[error("{variable} is {value:?}, which is no {expected}")]
    Variable { variable: &'static str, value: OsString, expected: &'static str },
    #[error("{} cannot be read", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{} is not text", path.display())]
    Text { path: PathBuf },
    #[error("{namespace:?} is no name of a namespace")]
    Namespace { namespace: String },
    #[error("{what} holds no certificate that can be used")]
    NoCertificate { what: String },
    #[error("{what} is not a private key in PEM")]
    NoKey { what: String },
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

impl Error {
    /// What may help.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotInPod { .. } => Some("outside of a pod: --kubeconfig FILE, or --dry-run"),
            Self::File { path, source }
                if path.starts_with(ACCOUNT) && source.kind() == io::ErrorKind::NotFound =>
            {
                Some("the pod needs its service account: automountServiceAccountToken: true")
            }
            _ => None,
        }
    }
}

impl Access {
    /// The way that a pod has: the two variables of the `kubernetes` service, and the service
    /// account in `account`.
    ///
    /// `variable` gives environment variables; no other one is asked for.
    pub(crate) fn of_pod(
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

/// The namespace of the pod that this is.
pub(crate) fn namespace_of_pod(account: &Path) -> Result<String, Error> {
    let path = account.join("namespace");
    namespace(text(read(&path)?, path)?)
}

/// `namespace`, if it can be one: it becomes part of a URL.
pub(super) fn namespace(namespace: String) -> Result<String, Error> {
    if name::is_label(&namespace) { Ok(namespace) } else { Err(Error::Namespace { namespace }) }
}

impl Token {
    /// The token, freshly read.
    pub(crate) fn read(&self) -> Result<Option<String>, Error> {
        match self {
            Self::None => Ok(None),
            Self::Fixed(token) => Ok(Some(token.clone())),
            // A second time, in case that the kubelet has just removed the old one.
            Self::File(path) => {
                let bytes = read(path).or_else(|_| read(path))?;
                text(bytes, path.clone()).map(Some)
            }
        }
    }
}

/// No token gets into a log.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Fixed(_) => f.write_str("Fixed(..)"),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
        }
    }
}

/// TLS that trusts the certificates of `authority` (PEM; `what` says where it comes from).
pub(super) fn tls_config(
    authority: &[u8],
    what: &str,
    client: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
) -> Result<ClientConfig, Error> {
    let mut roots = RootCertStore::empty();
    // As Go does, odd certificates beside good ones are passed over.
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

/// The certificates in a PEM text.
pub(super) fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}

pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    file::read(path, SIZE).map_err(|source| Error::File { path: path.to_owned(), source })
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
