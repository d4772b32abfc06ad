//! [`Tls`]: which certificates a client accepts and presents (`containers-certs.d(5)`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use ureq::tls::{
    Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider, parse_pem,
};

use crate::{environment, file, limit};

/// The directories with a directory for each registry, after that of the user.
const DIRECTORIES: [&str; 2] = ["/etc/containers/certs.d", "/etc/docker/certs.d"];

/// The settings for verifying registries, and for identifying the client.
///
/// The default trusts the authorities of this machine, and reads no files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Tls {
    /// Whether to accept any certificate, and registries without TLS. Credentials can then be sent
    /// unencrypted, and to anyone.
    pub insecure: bool,
    /// A file with certificates of authorities (PEM), which are trusted besides those of this
    /// machine.
    pub authorities: Option<PathBuf>,
    /// Directories that contain a directory for each registry, such as `registry.example:5000`.
    /// Only the first one that exists is used: its `*.crt` are authorities, and each `*.cert` is a
    /// certificate of the client, with its key in the `*.key` of the same name.
    pub directories: Vec<PathBuf>,
}

/// An error that prevents certificates from being read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or a directory cannot be read, or is too large.
    #[error(transparent)]
    File(#[from] file::Error),
    /// A file does not contain a certificate or a key as PEM.
    #[error("{} does not contain {expected} as PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What it should contain, with an article.
        expected: &'static str,
    },
    /// A client certificate has no key, or a key has no certificate.
    #[error("{} does not exist, but {} needs it", missing.display(), present.display())]
    Pair {
        /// The missing file.
        missing: PathBuf,
        /// The file that needs it.
        present: PathBuf,
    },
}

/// The TLS configurations of one client.
#[derive(Debug)]
pub(crate) struct Configs {
    /// The configuration for the registry.
    pub(crate) registry: TlsConfig,
    /// The configuration for the hosts that it names, without a client certificate.
    pub(crate) others: TlsConfig,
}

impl Tls {
    /// Returns the settings with the directories of podman and docker:
    /// `~/.config/containers/certs.d`, `/etc/containers/certs.d` and `/etc/docker/certs.d`.
    pub fn from_env() -> Self {
        let home = environment::path("HOME");
        let own = home.map(|home| home.join(".config/containers/certs.d"));
        let directories = own.into_iter().chain(DIRECTORIES.map(PathBuf::from)).collect();
        Self { directories, ..Self::default() }
    }

    /// Returns the directory with the certificates for `registry`, if one exists.
    pub fn directory(&self, registry: &str) -> Option<PathBuf> {
        // The name of a registry is not a path, but this function is public.
        let is_name = !registry.is_empty() && !registry.starts_with('.') && !registry.contains('/');
        let mut directories = self.directories.iter().map(|directory| directory.join(registry));
        directories.find(|directory| is_name && directory.is_dir())
    }

    pub(crate) fn configs(&self, registry: &str, insecure: bool) -> Result<Configs, Error> {
        let (mut authorities, mut clients) = (Vec::new(), Vec::new());
        if let Some(path) = &self.authorities {
            authorities.append(&mut read_certificates(path)?);
        }
        if let Some(directory) = self.directory(registry) {
            for path in file::list(&directory, |_| true)? {
                match path.extension().and_then(|extension| extension.to_str()) {
                    Some("crt") => authorities.append(&mut read_certificates(&path)?),
                    Some("cert") => clients.push(path),
                    Some("key") => expect(path.with_extension("cert"), &path)?,
                    _ => {}
                }
            }
        }
        let roots = if authorities.is_empty() {
            RootCerts::PlatformVerifier
        } else {
            // The authorities of this machine remain trusted.
            let native = rustls_native_certs::load_native_certs().certs;
            let native = native.iter().map(|it| Certificate::from_der(it.as_ref()).to_owned());
            RootCerts::Specific(Arc::new(native.chain(authorities).collect()))
        };
        // ureq presents one certificate; with several, containers/image lets the server choose.
        let client = clients.first().map(|path| read_client(path)).transpose()?;
        let config = |client| {
            TlsConfig::builder()
                .provider(TlsProvider::Rustls)
                .root_certs(roots.clone())
                .client_cert(client)
                .disable_verification(insecure || self.insecure)
                .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
                .build()
        };
        Ok(Configs { registry: config(client), others: config(None) })
    }
}

fn expect(missing: PathBuf, present: &Path) -> Result<(), Error> {
    if missing.exists() {
        return Ok(());
    }
    Err(Error::Pair { missing, present: present.to_owned() })
}

fn read_certificates(path: &Path) -> Result<Vec<Certificate<'static>>, Error> {
    let bytes = file::read(path, limit::FILE)?;
    let invalid = || Error::Pem { path: path.to_owned(), expected: "a certificate" };
    let mut certificates = Vec::new();
    for item in parse_pem(&bytes) {
        if let PemItem::Certificate(certificate) = item.map_err(|_| invalid())? {
            certificates.push(certificate);
        }
    }
    if certificates.is_empty() { Err(invalid()) } else { Ok(certificates) }
}

/// Reads a client certificate, and its key.
fn read_client(path: &Path) -> Result<ClientCert, Error> {
    let key = path.with_extension("key");
    expect(key.clone(), path)?;
    let certificates = read_certificates(path)?;
    let bytes = file::read(&key, limit::FILE)?;
    let invalid = |_| Error::Pem { path: key.clone(), expected: "a private key" };
    let key = PrivateKey::from_pem(&bytes).map_err(invalid)?;
    Ok(ClientCert::new_with_certs(&certificates, key))
}
