//! Reads the directories of an Operator bundle, and fills a ConfigMap with them from inside the
//! bundle's pod.
//!
//! Without features, the crate reads a bundle directory. This is safe even if the bundle is
//! hostile:
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
//!
//! With the feature `serve`, the crate also contains the program `unlade-unpacker`, which fills
//! ConfigMaps through the API server.

pub mod directory;

#[cfg(feature = "serve")]
mod api;
#[cfg(feature = "serve")]
mod applet;
#[cfg(feature = "serve")]
mod args;
#[cfg(feature = "serve")]
pub mod command;
#[cfg(feature = "serve")]
mod end;
#[cfg(feature = "serve")]
mod file;
#[cfg(feature = "serve")]
#[doc(hidden)]
pub mod fuzz;
#[cfg(feature = "serve")]
pub mod install;
#[cfg(feature = "serve")]
mod interrupt;
#[cfg(feature = "serve")]
mod log;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "serve")]
mod termination;
