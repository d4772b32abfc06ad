//! Reads an unpacked Operator bundle: [`Bundle`], [`PackageManifest`] and a report.
//!
//! [`load`] takes the [`Content`] of a bundle, [`load_config_maps`] the ConfigMaps that hold one,
//! ours or upstream's. Both give what OLM's own loader gives (operator-registry
//! `pkg/configmap/configmap.go`), fill the fields that it leaves empty as its directory reader
//! would (`pkg/registry/parse.go`), and report everything that either drops silently. This crate
//! is pure: no I/O, no async, no API client.
//!
//! [`Content`]: unlade_format::Content

pub mod bundle;
mod channel;
mod compose;
pub mod constraint;
mod crd;
mod csv;
mod fill;
pub mod load;
mod metadata;
pub mod object;
pub mod package_manifest;
pub mod property;
mod typed;
pub mod version;

pub use bundle::{Api, Bundle, Definition};
pub use constraint::Constraint;
pub use load::{Error, Manifest, Options, Strictness, load, load_config_maps};
pub use object::Object;
pub use package_manifest::{Channel, PackageManifest};
pub use property::{Dependency, Property};
