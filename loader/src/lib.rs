//! Loads an unpacked operator bundle: a [`Bundle`], a [`PackageManifest`] and a report.
//!
//! [`load()`] loads the [`Reading`] of a bundle, and [`load_config_maps`] loads it from ConfigMaps
//! of unlade or of upstream. Both return the same as OLM's own loader (operator-registry
//! `pkg/configmap/configmap.go`). They fill the fields that it leaves empty as OLM's directory
//! reader does (`pkg/registry/parse.go`), and report everything that either of them silently drops.
//! This crate does no I/O, has no async code and uses no API client.
//!
//! ```
//! use unlade_bundle::{Content, Directory, File, Limits};
//! use unlade_loader::{Options, load};
//!
//! let file = |directory, name: &str, text: &str| File {
//!     directory,
//!     name: name.to_owned(),
//!     bytes: text.as_bytes().to_vec(),
//! };
//! let annotations = "annotations:
//!   operators.operatorframework.io.bundle.package.v1: hello
//!   operators.operatorframework.io.bundle.channels.v1: stable
//! ";
//! let csv = "kind: ClusterServiceVersion\nmetadata: {name: hello.v1.0.0}\nspec: {version: 1.0.0}\n";
//! let files = vec![
//!     file(Directory::Metadata, "annotations.yaml", annotations),
//!     file(Directory::Manifests, "csv.yaml", csv),
//!     file(Directory::Manifests, "notes.txt", "remember the milk"),
//! ];
//! let reading = Content::assemble(files, &Limits::default())?;
//!
//! let loaded = load(&reading, &Options::default())?;
//! assert_eq!(loaded.bundle.csv_name, "hello.v1.0.0");
//! assert_eq!(loaded.bundle.version, "1.0.0");
//! assert_eq!(loaded.package_manifest.channels[0].name, "stable");
//! // The report contains what upstream silently drops.
//! assert_eq!(loaded.report[0].subject, "notes.txt");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Reading`]: unlade_bundle::Reading

pub mod bundle;
mod compose;
mod fill;
mod further_document;
pub mod load;
mod metadata;
pub mod object;
pub mod package_manifest;
mod property;

pub use bundle::Bundle;
pub use load::{
    Error, Loaded, Options, Strictness, load, load_config_maps, load_config_maps_within,
};
pub use object::Object;
pub use package_manifest::{Channel, PackageManifest};
