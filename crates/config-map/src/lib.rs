//! What the ConfigMap of an unpacked Operator bundle holds.
//!
//! Between every reader and every writer stands one value, [`Content`]: the annotations of a
//! bundle and its files. A directory, an image and ConfigMaps are read into it; [`encode()`] makes
//! ConfigMaps of it and [`decode()`] reads them back; the loader takes it. This crate is pure: no
//! I/O, no async, no API client.
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

mod base64;
pub mod decode;
pub mod encode;
pub mod fill;
pub mod gzip;
pub mod mark;
pub mod object;
pub mod outcome;
pub mod record;

pub use decode::{Decoded, decode};
pub use encode::{Encoding, encode};
pub use fill::{emptied, fill, fill_over};
pub use object::ConfigMap;
