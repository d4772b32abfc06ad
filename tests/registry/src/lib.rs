//! Our own image, and what copies images into registries, for the tests and for releases; nothing
//! that users run.
//!
//! [`unpacker::Unpacker`] makes the image that is shipped, and the one that the tests run in pods;
//! [`tree::write`] lays an image out for an engine to copy.
//! [`push()`] copies any: each request is one of the OCI distribution spec: blobs that the registry lacks are uploaded
//! whole, then the manifests, each after what it refers to.
//!
//! ```no_run
//! use unlade_registry::{Name, Options, push};
//!
//! let name: Name = "registry.example/bundles/etcd:0.9.4".parse()?;
//! let digest = push(&"oci-archive:etcd.tar".parse()?, &name, &Options::default())?;
//! println!("{name}: {digest}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod name;
mod push;
pub mod tree;
pub mod unpacker;

pub use name::{Name, NameError};
pub use push::{Credentials, CredentialsError, Error, Options, push};
