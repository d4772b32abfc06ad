//! The format of the ConfigMap that contains an unpacked operator bundle.
//!
//! [`encode()`] converts the [`Content`] of a bundle into ConfigMaps, and [`decode()`] reads it
//! back from ConfigMaps of unlade or of upstream. [`fill()`] writes an encoded ConfigMap over an
//! existing one. [`protocol`] defines what the unpacker and the launcher exchange about a launch.
//! This crate does no I/O, has no async code and uses no API client. With the feature
//! `k8s-openapi`, a [`ConfigMap`] converts from and to the type of that crate.
//!
//! [`Content`]: unlade_bundle::Content
//!
//! ```
//! use unlade_bundle::{Content, Directory, File, Limits};
//! use unlade_config_map::{decode, encode, encode::Options};
//!
//! let limits = Limits::default();
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
//!     &limits,
//! )?;
//!
//! let config_maps = encode(&reading.content, &Options::default())?;
//! assert_eq!(config_maps[0].data["hello-csv.yaml"], "kind: ClusterServiceVersion\n");
//! assert_eq!(config_maps[0].metadata.annotations["example.com/v"], "4.10");
//!
//! let decoded = decode(&config_maps, &limits)?;
//! assert_eq!(decoded.content, reading.content);
//! assert_eq!(decoded.digest, Some(reading.content.digest()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "k8s-openapi")]
mod api;
pub mod decode;
pub mod encode;
mod field;
pub mod fill;
pub mod gzip;
pub mod mark;
pub mod object;
pub mod protocol;

pub use decode::{Decoded, decode};
pub use encode::{Encoding, encode};
pub use fill::{clear_content, fill, fill_over};
pub use object::ConfigMap;
