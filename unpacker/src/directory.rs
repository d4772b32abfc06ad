//! A bundle's directories -> [`Content`].
//!
//! The bundle may be hostile, and in a pod its files lie beside a service account's token. So
//! `manifests/` and `metadata/` are each opened beneath the bundle root, without crossing mounts
//! or magic links, and are then each their own root: a link may lead to another file of the same
//! directory, and nowhere else. Upstream follows every link (`configmap_writer.go`), which lets a
//! bundle put the token into the ConfigMap.

mod beneath;
mod error;
mod file;
mod walk;

use std::path::Path;

use unlade_format::{Content, Directory, Limits, Reading};

use self::beneath::{Folder, Resolution};
pub use self::error::{Error, Kind, LinkFault};
use self::file::Budget;

/// How a bundle directory is read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Limits on what is read.
    pub limits: Limits,
    /// How paths are resolved: tests choose.
    pub(crate) resolution: Resolution,
}

impl Options {
    /// Options with these limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }
}

/// The content of the bundle whose `manifests/` and `metadata/` lie in `root`.
///
/// # Errors
///
/// If a directory is missing, holds anything but regular files that the user can read and links
/// to such beside them, a limit is passed, or the files are no [`Content`].
pub fn read(root: &Path, options: &Options) -> Result<Reading, Error> {
    let root = Folder::root(root, options.resolution)?;
    let mut budget = Budget::new(&options.limits);
    let metadata = root.folder("metadata")?;
    let mut files = file::read_all(&metadata, Directory::Metadata, &mut budget)?;
    let manifests = root.folder("manifests")?;
    files.extend(file::read_all(&manifests, Directory::Manifests, &mut budget)?);
    Ok(Content::assemble(files, &options.limits)?)
}

#[cfg(test)]
mod tests;
