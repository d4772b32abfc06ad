//! Reads directories without leaving them, and files up to a limit.
//!
//! A [`Dir`] opens what is beneath it, such as the files of a catalog. [`read()`] reads a bundle
//! into [`Content`](unlade_bundle::Content):
//!
//! ```no_run
//! use unlade_bundle::{Limits, source};
//!
//! let reading = unlade_directory::read("examples/hello-operator".as_ref(), &Limits::default())?;
//! for file in reading.content.files() {
//!     println!("{:?} {} {}", file.directory, file.name, file.bytes.len());
//! }
//! # Ok::<(), source::Error>(())
//! ```
//!
//! The bundle may be hostile, and in a pod its files are next to the token of a service account. So
//! `manifests/` and `metadata/` are each opened beneath the bundle root, without crossing mounts
//! or magic links. Each directory is then its own root: a link may only lead to another file of the
//! same directory. Upstream follows every link (`configmap_writer.go`), so a bundle can make it
//! write the token into the ConfigMap.

mod beneath;
mod copy;
mod entry;
mod file;
mod found;
mod walk;

#[cfg(test)]
mod tests;

use std::path::Path;

use unlade_bundle::source::{self, Error};
use unlade_bundle::{Limits, Reading};

pub use self::beneath::{Dir, Mount};
pub use self::copy::{CopyError, copy_file};
pub use self::entry::Kind;
pub use self::file::{open_regular_file, read_at_most};
pub use self::found::FoundFile;

/// Reads the bundle in `root` as [`source::read`] does.
///
/// # Errors
///
/// Fails as [`source::read`] does, and if `root` cannot be opened.
pub fn read(root: &Path, limits: &Limits) -> Result<Reading, Error> {
    source::read(Dir::open_root(root)?, limits)
}
