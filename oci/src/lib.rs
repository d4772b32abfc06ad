//! Reads operator bundles from OCI and docker images, and [builds](build) images, without a
//! container engine.
//!
//! A bundle image consists of tar layers, and the bundle is in two of its directories. [`read`]
//! reads an image from an OCI image layout (a directory, or a tar of one) or from a docker archive.
//! It verifies the digest of everything that it reads, and applies the layers as an engine does. It
//! returns the files of `manifests/` and `metadata/` as a [`Reading`](unlade_bundle::Reading). It
//! writes nothing to disk, and an image may be far larger than memory.
//!
//! ```
//! use unlade_oci::{Options, Source, read};
//!
//! let source: Source = "oci:no/such/directory:v1".parse()?;
//! let error = read(&source, &Options::default()).unwrap_err();
//! assert!(error.to_string().contains("no/such/directory"));
//! # Ok::<(), unlade_oci::reference::Error>(())
//! ```

mod budget;
pub mod build;
mod bundle;
mod compression;
pub mod copy;
pub mod digest;
pub mod dir;
mod docker;
pub mod document;
pub mod extract;
pub mod image;
pub mod layer;
mod layout;
pub mod limit;
mod link;
pub mod manifest;
pub mod origin;
mod path;
pub mod platform;
pub mod reference;
mod remedy;
pub mod store;
pub mod tar_reader;
mod tree;
mod whiteout;

pub use extract::{extract, extract_from};
pub use image::{Error, Image, Options, read, read_from, read_tar};
pub use limit::Limits;
pub use oci_spec::image::{Descriptor, Digest};
pub use origin::Origin;
pub use platform::Platform;
pub use reference::{Reference, Select, Source, Transport};
pub use remedy::Remedy;
