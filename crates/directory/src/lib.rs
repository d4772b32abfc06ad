//! Reads the directories of a bundle into [`Content`].
//!
//! ```no_run
//! use unlade_directory::Options;
//!
//! let reading = unlade_directory::read("examples/hello-operator".as_ref(), &Options::default())?;
//! for file in reading.content.files() {
//!     println!("{:?} {} {}", file.directory, file.name, file.bytes.len());
//! }
//! # Ok::<(), unlade_directory::Error>(())
//! ```
//!
//! The bundle may be hostile, and in a pod its files are next to the token of a service account. So
//! `manifests/` and `metadata/` are each opened beneath the bundle root, without crossing mounts
//! or magic links. Each directory is then its own root: a link may only lead to another file of the
//! same directory. Upstream follows every link (`configmap_writer.go`), so a bundle can make it
//! write the token into the ConfigMap.

mod beneath;
mod error;
mod file;
mod place;
mod walk;

use std::path::Path;

use unlade_bundle::{
    Content, Directory, File, Finding, Limits, Reading, annotation,
    content::ANNOTATIONS_FILE,
    layout::{self, Layout},
};

use self::beneath::Resolution;
pub use self::beneath::{Folder, Mount};
pub use self::error::{Error, Kind, LinkFault};
pub use self::file::read_at_most;
use self::file::{Budget, read_all, read_file};

/// How a bundle directory is read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Limits on what is read.
    pub limits: Limits,
    /// Whether the metadata is read from the path that `metadata.v1` of annotations.yaml names. If
    /// not, a path other than `metadata/` is reported.
    pub honour_metadata_path: bool,
    /// How paths are resolved. Only tests change it.
    resolution: Resolution,
}

impl Options {
    /// Returns the default options with these limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }
}

/// Reads the bundle in `root`: the files of `metadata/`, and those of the directory that
/// `manifests.v1` of its annotations.yaml names, or of `manifests/`.
///
/// # Errors
///
/// Returns an error if a directory does not exist, if it contains anything other than readable
/// regular files and links to them, if a limit is exceeded, or if the files are not a valid
/// [`Content`].
pub fn read(root: &Path, options: &Options) -> Result<Reading, Error> {
    let root = Folder::root_by(root, options.resolution)?;
    let mut budget = Budget::new(&options.limits);
    let mut files = read_all(&root.folder("metadata")?, Directory::Metadata, &mut budget)?;
    let annotations = files.iter().find(|file| file.name == ANNOTATIONS_FILE);
    let mut layout = layout::read(annotations.map(|file| file.bytes.as_slice()), &options.limits)?;
    if let Some(path) = layout.metadata.take_if(|_| options.honour_metadata_path) {
        layout.findings.retain(|finding| finding.subject != annotation::METADATA);
        files = read_metadata(&root, &path, files, &options.limits)?;
        budget = Budget::after(&options.limits, &files);
    }
    let manifests = open_manifests(&root, &mut layout)?;
    files.extend(read_all(&manifests, Directory::Manifests, &mut budget)?);
    let mut reading = Content::assemble(files, &options.limits)?;
    reading.findings.splice(0..0, layout.findings);
    Ok(reading)
}

/// Reads the files that OLM's copier (`cpb`) copies from a bundle image:
/// `metadata/annotations.yaml` and the directory of manifests that it names, or `manifests/`. Also
/// returns findings about paths that the annotations name but that are not used.
///
/// # Errors
///
/// Fails as [`read`] does, but does not check that the files are a [`Content`]: the reader of the
/// copy checks it.
pub fn read_as_copier(root: &Path, options: &Options) -> Result<(Vec<File>, Vec<Finding>), Error> {
    let root = Folder::root_by(root, options.resolution)?;
    let mut budget = Budget::new(&options.limits);
    let folder = root.folder("metadata")?;
    let annotations = read_file(&folder, Directory::Metadata, ANNOTATIONS_FILE, &mut budget)?;
    let mut layout = layout::read(Some(&annotations.bytes), &options.limits)?;
    let mut files = vec![annotations];
    let folder = open_manifests(&root, &mut layout)?;
    files.extend(read_all(&folder, Directory::Manifests, &mut budget)?);
    Ok((files, layout.findings))
}

/// Reads the files that upstream's writer (`opm`) reads from such a copy: all of `manifests/` and
/// `metadata/`, whatever paths the annotations name.
///
/// # Errors
///
/// Fails as [`read`] does, but does not check that the files are a [`Content`]: the caller checks
/// it.
pub fn read_as_writer(root: &Path, options: &Options) -> Result<Vec<File>, Error> {
    let root = Folder::root_by(root, options.resolution)?;
    let mut budget = Budget::new(&options.limits);
    let mut files = Vec::new();
    for directory in [Directory::Manifests, Directory::Metadata] {
        files.extend(read_all(&root.folder(directory.as_str())?, directory, &mut budget)?);
    }
    Ok(files)
}

/// Opens the folder of the manifests.
fn open_manifests(root: &Folder, layout: &mut Layout) -> Result<Folder, Error> {
    match (root.folder(&layout.manifests), layout.fallback()) {
        (Err(Error::Missing { .. }), Some(fallback)) => {
            *layout = fallback;
            root.folder(&layout.manifests)
        }
        (folder, _) => folder,
    }
}

/// Reads the metadata at `path`. If it contains no annotations.yaml, the one among `named_by`,
/// which names `path`, is used.
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
