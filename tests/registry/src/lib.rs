//! The image of the unpacker, and a client that pushes images, for tests and releases.
//!
//! [`unpacker::Unpacker`] describes the image for releases and for the pods of tests.
//! [`tree::write`] writes the files of an image to a directory, for an engine to copy.
//! [`push()`] copies an image into a registry with requests of the OCI distribution specification:
//! it uploads missing blobs whole, and then the manifests, each after those that it refers to.
//!
//! ```no_run
//! use unlade_registry::{Options, push};
//!
//! let image = "registry.example/bundles/etcd:0.9.4".parse()?;
//! let digest = push(&"oci-archive:etcd.tar".parse()?, &image, &Options::default())?;
//! println!("{image}: {digest}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod push;
pub mod tree;
pub mod unpacker;

pub use push::{Credentials, CredentialsError, Error, Options, push};
