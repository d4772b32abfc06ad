//! Reads and writes images in registries: the OCI distribution API, with the credentials of podman
//! and docker.
//!
//! An [`ImageReader`] reads images as [`unlade_oci`] does, also from a registry.
//! [`copy()`] copies an image from one place to another, and [`push()`] copies one into a registry.
//!
//! Registries are untrusted. Everything that they send has a [limit], everything that has a
//! digest is verified, and a password is sent only to the registry that it is for and to the token
//! server that this registry names.
//!
//! ```no_run
//! use unlade_registry::{ImageReader, Options};
//!
//! let source = "docker://registry.example/bundles/etcd:0.9.4".parse()?;
//! let image = ImageReader::open(source, &Options::default())?.read(&Default::default())?;
//! println!("{} files", image.reading.content.files().len());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
pub mod address;
mod blob;
pub mod cache;
mod client;
pub mod configuration;
mod connection;
mod copy;
pub mod credential;
mod environment;
mod error;
mod explain;
pub mod file;
#[cfg(feature = "fuzz")]
#[doc(hidden)]
pub mod fuzz;
pub mod limit;
mod locate;
mod progress;
mod push;
mod reader;
mod remedy;
mod remote;
mod request;
mod retry;
pub mod tls;

use std::num::NonZeroUsize;
use std::sync::Arc;

use configuration::Rules;
use derive_setters::Setters;

pub use cache::Cache;
pub use configuration::Configuration;
pub use connection::Connections;
pub use copy::copy;
pub use credential::{Auth, Credentials};
pub use error::Error;
pub use explain::{Explanation, explain};
pub use limit::Limits;
pub use locate::locate;
pub use progress::{Progress, Transfer};
pub use push::push;
pub use reader::ImageReader;
pub use remedy::Remedy;
pub use remote::Remote;
pub use tls::Tls;

/// The connection to a registry.
#[derive(Debug, Clone, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Options {
    /// Whether to use HTTP without TLS and without a proxy, for a registry on this machine.
    /// Credentials are then sent unencrypted.
    pub plain_http: bool,
    /// Which certificates are accepted and presented.
    pub tls: Tls,
    /// The rules for mirrors, and for blocked and insecure registries.
    pub configuration: Configuration,
    /// The credentials, if the registry requires them.
    pub auth: Auth,
    /// Where blobs are kept that were read from a registry, if they are kept.
    pub cache: Option<Cache>,
    /// Receives the progress of the blobs that are read from the registry, or written to it.
    pub progress: Option<Progress>,
    /// The limits for everything that a registry sends.
    pub limits: Limits,
    /// The connections that clients share.
    pub connections: Connections,
    /// The number of images that are read at the same time. They share the
    /// [`TRANSFERS`](unlade_oci::limit::TRANSFERS), and the part of the cache that is filled in
    /// advance.
    pub images_at_once: NonZeroUsize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            plain_http: false,
            tls: Tls::default(),
            configuration: Configuration::default(),
            auth: Auth::default(),
            cache: None,
            progress: None,
            limits: Limits::default(),
            connections: Connections::default(),
            images_at_once: NonZeroUsize::MIN,
        }
    }
}

impl Options {
    /// Returns the rules for registries.
    pub(crate) fn rules(&self) -> Result<Arc<Rules>, configuration::Error> {
        self.connections.rules(&self.configuration)
    }
}
