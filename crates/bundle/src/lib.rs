//! The model of an Operator bundle: its files, its annotations, the rules for both, and findings.
//!
//! [`Content`] is the common representation of a bundle. Readers of directories, images and
//! ConfigMaps produce it. Writers of ConfigMaps and images, and the loader, consume it. This crate
//! does no I/O, has no async code and uses no API client.
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
pub mod content;
pub mod digest;
pub mod finding;
pub mod key;
pub mod layout;
pub mod limit;
pub mod source;

pub use content::{Content, Directory, File, Reading};
pub use finding::{Finding, Findings, Reason};
pub use key::ConfigMapKey;
pub use layout::Layout;
pub use limit::Limits;
