//! Reads and writes images in registries: the OCI distribution API, with the logins of podman and
//! docker.
//!
//! [`read`] reads the bundle in an image like [`unlade_oci::read`], also from a registry.
//! [`push()`] copies an image into a registry.
//!
//! Registries are untrusted. Everything that they send has a [limit], everything that has a
//! digest is verified, and a password is sent only to the registry that it is for and to the token
//! server that this registry names.
//!
//! ```no_run
//! use unlade_registry::{Options, read};
//!
//! let source = "docker://registry.example/bundles/etcd:0.9.4".parse()?;
//! let image = read(&source, &Default::default(), &Options::default())?;
//! println!("{} files", image.reading.content.files().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
pub mod address;
mod blob;
mod client;
pub mod credential;
mod error;
pub mod limit;
mod pull;
mod push;
mod retry;
mod source;

pub use credential::{Credentials, Login};
pub use error::Error;
pub use limit::Limits;
pub use pull::Remote;
pub use push::push;
pub use source::{locate, read};

/// The connection to a registry.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether to use HTTP without TLS and without a proxy, for a registry on this machine. A login
    /// is then sent unencrypted.
    pub plain_http: bool,
    /// The login, if the registry requires one.
    pub login: Login,
    /// The limits for everything that a registry sends.
    pub limits: Limits,
}
