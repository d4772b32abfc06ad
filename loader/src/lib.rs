//! Reads an unpacked Operator bundle: [`Bundle`], [`PackageManifest`] and a report.
//!
//! [`load()`] takes the [`Content`] of a bundle, [`load_config_maps`] the ConfigMaps that hold one,
//! ours or upstream's. Both give what OLM's own loader gives (operator-registry
//! `pkg/configmap/configmap.go`), fill the fields that it leaves empty as its directory reader
//! would (`pkg/registry/parse.go`), and report everything that either drops silently. This crate
//! is pure: no I/O, no async, no API client.
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
//! let manifest = load(&reading.content, &Options::default())?;
//! assert_eq!(manifest.bundle.csv_name, "hello.v1.0.0");
//! assert_eq!(manifest.bundle.version, "1.0.0");
//! assert_eq!(manifest.package_manifest.channels[0].name, "stable");
//! // What upstream drops silently is in the report.
//! assert_eq!(manifest.report[0].subject, "notes.txt");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Content`]: unlade_bundle::Content

pub mod bundle;
mod channel;
mod compose;
pub mod constraint;
mod crd;
mod csv;
mod fill;
mod further;
mod json;
pub mod load;
mod metadata;
pub mod object;
pub mod package_manifest;
pub mod property;
mod typed;
pub mod version;

pub use bundle::{Api, Bundle, Definition};
pub use constraint::Constraint;
pub use load::{
    Error, Manifest, Options, Strictness, load, load_config_maps, load_config_maps_within,
};
pub use object::Object;
pub use package_manifest::{Channel, PackageManifest};
pub use property::{Dependency, Property};
