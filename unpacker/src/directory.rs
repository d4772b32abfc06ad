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
mod place;
mod walk;

use std::path::Path;

#[cfg(feature = "serve")]
use unlade_bundle::Finding;
use unlade_bundle::{
    Content, Directory, File, Limits, Reading, annotation,
    content::ANNOTATIONS_FILE,
    layout::{self, Layout},
};

#[cfg(feature = "serve")]
pub(crate) use self::beneath::Mount;
pub(crate) use self::beneath::{Folder, Resolution};
pub use self::error::{Error, Kind, LinkFault};
#[cfg(feature = "serve")]
pub(crate) use self::file::read_at_most;
#[cfg(feature = "serve")]
use self::file::read_file;
use self::file::{Budget, read_all};

/// How a bundle directory is read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Limits on what is read.
    pub limits: Limits,
    /// Whether a `metadata.v1` of annotations.yaml that names another path than `metadata/`
    /// decides where the metadata is read; else it is reported.
    pub honour_metadata_path: bool,
    /// How paths are resolved: tests choose.
    pub(crate) resolution: Resolution,
}

impl Options {
    /// Options with these limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }
}

/// The content of the bundle whose directories lie in `root`: `metadata/`, and the directory that
/// `manifests.v1` of its annotations.yaml names, else `manifests/`.
///
/// # Errors
///
/// If a directory is missing, holds anything but regular files that the user can read and links
/// to such beside them, a limit is passed, or the files are no [`Content`].
pub fn read(root: &Path, options: &Options) -> Result<Reading, Error> {
    let root = Folder::root(root, options.resolution)?;
    let mut budget = Budget::new(&options.limits);
    let mut files = read_all(&root.folder("metadata")?, Directory::Metadata, &mut budget)?;
    let annotations = files.iter().find(|file| file.name == ANNOTATIONS_FILE);
    let mut layout = layout::read(annotations.map(|file| file.bytes.as_slice()), &options.limits)?;
    if let Some(path) = layout.metadata.take_if(|_| options.honour_metadata_path) {
        layout.findings.retain(|finding| finding.subject != annotation::METADATA);
        files = read_metadata(&root, &path, files, &options.limits)?;
        budget = Budget::after(&options.limits, &files);
    }
    let manifests = manifests(&root, &mut layout)?;
    files.extend(read_all(&manifests, Directory::Manifests, &mut budget)?);
    let mut reading = Content::assemble(files, &options.limits)?;
    reading.findings.splice(0..0, layout.findings);
    Ok(reading)
}

/// What OLM's copier takes out of a bundle image: `metadata/annotations.yaml`, and the directory
/// of manifests that it names, else `manifests/`; and the paths that are named and not used.
///
/// # Errors
///
/// As [`read`], but whether the files are a [`Content`] is left to who reads the copy.
#[cfg(feature = "serve")]
pub(crate) fn read_as_copier(
    root: &Path,
    options: &Options,
) -> Result<(Vec<File>, Vec<Finding>), Error> {
    let root = Folder::root(root, options.resolution)?;
    let mut budget = Budget::new(&options.limits);
    let folder = root.folder("metadata")?;
    let annotations = read_file(&folder, Directory::Metadata, ANNOTATIONS_FILE, &mut budget)?;
    let mut layout = layout::read(Some(&annotations.bytes), &options.limits)?;
    let mut files = vec![annotations];
    let folder = manifests(&root, &mut layout)?;
    files.extend(read_all(&folder, Directory::Manifests, &mut budget)?);
    Ok((files, layout.findings))
}

/// What upstream's writer takes out of such a copy: all of `manifests/` and `metadata/`, by these
/// names.
///
/// # Errors
///
/// As [`read`], but whether the files are a [`Content`] is left to the caller.
#[cfg(feature = "serve")]
pub(crate) fn read_as_writer(root: &Path, options: &Options) -> Result<Vec<File>, Error> {
    let root = Folder::root(root, options.resolution)?;
    let mut budget = Budget::new(&options.limits);
    let mut files = Vec::new();
    for directory in [Directory::Manifests, Directory::Metadata] {
        files.extend(read_all(&root.folder(directory.as_str())?, directory, &mut budget)?);
    }
    Ok(files)
}

/// The folder of the manifests.
fn manifests(root: &Folder, layout: &mut Layout) -> Result<Folder, Error> {
    match (root.folder(&layout.manifests), layout.fallback()) {
        (Err(Error::Missing { .. }), Some(fallback)) => {
            *layout = fallback;
            root.folder(&layout.manifests)
        }
        (folder, _) => folder,
    }
}

/// The metadata at `path`; its annotations.yaml is the one that led there unless it has its own.
fn read_metadata(
    root: &Folder,
    path: &str,
    named_by: Vec<File>,
    limits: &Limits,
) -> Result<Vec<File>, Error> {
    let mut files = read_all(&root.folder(path)?, Directory::Metadata, &mut Budget::new(limits))?;
    if !files.iter().any(|file| file.name == ANNOTATIONS_FILE) {
        files.extend(named_by.into_iter().filter(|file| file.name == ANNOTATIONS_FILE));
    }
    Ok(files)
}

#[cfg(test)]
mod tests;
