//! The model of an operator bundle: its files and annotations, what they mean to OLM, and findings.
//!
//! [`Content`] is the common representation of a bundle. Readers of directories, images and
//! ConfigMaps produce it. Writers of ConfigMaps and images, and the loader, consume it.
//!
//! With the feature `model`, other modules read what the files contain, by the rules of OLM: the
//! [`Csv`], the APIs of a [CRD](crd), each [`Property`], [`Dependency`] and [`Constraint`],
//! [versions](version), and the [`Channels`] of the package. They need neither a `Content` nor a
//! ConfigMap.
//!
//! This crate does no I/O, has no async code and uses no API client.
//!
//! ```
//! use unlade_bundle::{Content, Directory, File, Limits};
//!
//! let file = |directory, name: &str, text: &str| File {
//!     directory,
//!     name: name.to_owned(),
//!     bytes: text.into(),
//! };
//! let reading = Content::assemble(
//!     vec![
//!         file(Directory::Manifests, "hello csv.yaml", "kind: ClusterServiceVersion\n"),
//!         file(Directory::Metadata, "annotations.yaml", "annotations: {example.com/v: 4.10}\n"),
//!     ],
//!     &Limits::default(),
//! )?;
//! assert_eq!(reading.content.annotations()["example.com/v"], "4.10");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod annotation;
#[cfg(feature = "model")]
pub mod api;
#[cfg(feature = "model")]
pub mod channel;
#[cfg(feature = "model")]
pub mod constraint;
pub mod content;
#[cfg(feature = "model")]
pub mod crd;
#[cfg(feature = "model")]
pub mod csv;
pub mod digest;
pub mod finding;
#[cfg(feature = "model")]
mod json;
pub mod key;
pub mod layout;
mod limit;
#[cfg(feature = "model")]
pub mod property;
pub mod source;
#[cfg(feature = "model")]
pub mod typed;
#[cfg(feature = "model")]
pub mod version;

pub use content::{Content, Directory, File, Reading};
pub use finding::{Finding, Findings, Reason};
pub use key::ConfigMapKey;
pub use layout::Layout;
pub use limit::Limits;
#[cfg(feature = "model")]
pub use {
    api::{Api, Definition},
    channel::Channels,
    constraint::Constraint,
    csv::Csv,
    property::{Dependency, Property},
};
