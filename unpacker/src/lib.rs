//! What runs in the pod of an Operator bundle: reads the bundle's directories and fills a
//! ConfigMap with them.
//!
//! The library reads a bundle directory, safely even if the bundle is hostile:
//!
//! ```no_run
//! use unlade_unpacker::directory::{self, Options};
//!
//! let reading = directory::read("examples/hello-operator".as_ref(), &Options::default())?;
//! for file in reading.content.files() {
//!     println!("{:?} {} {}", file.directory, file.name, file.bytes.len());
//! }
//! # Ok::<(), directory::Error>(())
//! ```

pub mod directory;
