//! Reads a bundle from a [`Tree`] of files: a directory, or the stacked layers of an image.
//!
//! This module contains the rules for the files of a bundle: which directory has the manifests,
//! what may be in it, which links are followed ([`walk`]), and how much is read. A tree contains
//! what differs between its kinds: how names are looked up, and how bytes are read.

use std::rc::Rc;

use crate::{
    Content, Directory, File, Finding, Layout, Limits, Reading, content::ANNOTATIONS_FILE, layout,
};

mod error;
#[cfg(test)]
mod tests;
pub mod walk;

pub use self::error::{Error, LinkFault};

/// The files that contain a bundle, under one root. Paths are relative to the root, with `/`
/// between their parts.
///
/// A tree follows a link only to a target inside the directory that the link belongs to: that is
/// the root for the path of a directory, and the directory itself for its files.
pub trait Tree {
    /// An open directory.
    type Dir;
    /// A regular file that was found, but not read.
    type File;
    /// Why something cannot be read.
    type Error: From<Error>;

    /// Opens the directory at `path`. Returns `None` if nothing exists there.
    ///
    /// # Errors
    ///
    /// Returns an error if something else is there, or if the path leads out of the tree.
    fn open(&self, path: &str) -> Result<Option<Self::Dir>, Self::Error>;

    /// Calls `visit` with the name of each entry of `dir`, in any order, until it fails.
    ///
    /// # Errors
    ///
    /// Returns the error of `visit`, or one of the tree.
    fn list<E: From<Self::Error>>(
        &self,
        dir: &Self::Dir,
        visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E>;

    /// Finds the entry `name` of `dir`, or the target of the link with this name.
    ///
    /// # Errors
    ///
    /// Returns an error if it does not exist, or if it is a link that cannot be followed.
    fn find(&self, dir: &Self::Dir, name: &str) -> Result<Entry<Self::File>, Self::Error>;

    /// Reads the file that [`find`](Self::find) found at `name`. Returns `None` if it has more than
    /// `max` bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read, or is not the one that was found.
    fn read(
        &self,
        dir: &Self::Dir,
        name: &str,
        file: Self::File,
        max: usize,
    ) -> Result<Option<Rc<Vec<u8>>>, Self::Error>;
}

/// An entry of a directory, whose links were followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry<F> {
    /// A regular file.
    File(F),
    /// A directory.
    Directory,
    /// An entry of another kind, such as a `device`.
    Special(&'static str),
}

/// Reads the bundle in `tree`: the files of `metadata/`, and those of the directory that
/// `manifests.v1` of its annotations.yaml names, or of `manifests/`.
///
/// # Errors
///
/// Returns an error if a directory does not exist, if it contains anything other than readable
/// regular files and links to them, if a limit is exceeded, or if the files are not a valid
/// [`Content`].
pub fn read<T: Tree>(tree: T, limits: &Limits) -> Result<Reading, T::Error> {
    let (files, layout) = read_files(tree, limits)?;
    let mut reading = Content::assemble(files, limits).map_err(Error::from)?;
    reading.findings.splice(0..0, layout.findings);
    Ok(reading)
}

/// Reads the same files as [`read`], and the layout of the bundle.
///
/// # Errors
///
/// Fails as [`read`] does, but does not check that the files are a [`Content`].
pub fn read_files<T: Tree>(tree: T, limits: &Limits) -> Result<(Vec<File>, Layout), T::Error> {
    let mut reader = Reader::new(&tree, limits);
    let mut files = reader.read_directory(Directory::Metadata.as_str(), Directory::Metadata)?;
    let annotations = files.iter().find(|file| file.name == ANNOTATIONS_FILE);
    let mut layout = reader.read_layout(annotations)?;
    files.extend(reader.read_manifests(&mut layout)?);
    Ok((finish(tree, files), layout))
}

/// Reads the files that OLM's copier (`cpb`) copies from a bundle image:
/// `metadata/annotations.yaml` and the directory of manifests that it names, or `manifests/`. Also
/// returns findings about paths that the annotations name but that are not used.
///
/// # Errors
///
/// Fails as [`read`] does, but does not check that the files are a [`Content`]: the reader of the
/// copy checks it.
pub fn read_as_copier<T: Tree>(
    tree: T,
    limits: &Limits,
) -> Result<(Vec<File>, Vec<Finding>), T::Error> {
    let mut reader = Reader::new(&tree, limits);
    let path = Directory::Metadata.as_str();
    let dir = reader.open(path)?;
    let annotations = reader.read_file(&dir, path, Directory::Metadata, ANNOTATIONS_FILE)?;
    let mut layout = reader.read_layout(Some(&annotations))?;
    let mut files = vec![annotations];
    files.extend(reader.read_manifests(&mut layout)?);
    Ok((finish(tree, files), layout.findings))
}

/// Reads the files that upstream's writer (`opm`) reads from such a copy: all of `manifests/` and
/// `metadata/`, whatever paths the annotations name.
///
/// # Errors
///
/// Fails as [`read`] does, but does not check that the files are a [`Content`]: the caller checks
/// it.
pub fn read_as_writer<T: Tree>(tree: T, limits: &Limits) -> Result<Vec<File>, T::Error> {
    let mut reader = Reader::new(&tree, limits);
    let mut files = Vec::new();
    for directory in [Directory::Manifests, Directory::Metadata] {
        files.extend(reader.read_directory(directory.as_str(), directory)?);
    }
    Ok(finish(tree, files))
}

/// A file of the bundle. It may share its bytes with the tree.
struct Found {
    directory: Directory,
    name: String,
    bytes: Rc<Vec<u8>>,
}

/// Returns the files. Drops the tree first, so that only bytes that several names share are copied.
fn finish(tree: impl Tree, files: Vec<Found>) -> Vec<File> {
    drop(tree);
    let files = files.into_iter().map(|Found { directory, name, bytes }| File {
        directory,
        name,
        bytes: Rc::unwrap_or_clone(bytes),
    });
    files.collect()
}

/// Reads files until a limit is exceeded.
struct Reader<'a, T> {
    tree: &'a T,
    limits: &'a Limits,
    /// How many more files may be read.
    files: usize,
    /// How many more bytes may be read.
    bytes: usize,
}

impl<'a, T: Tree> Reader<'a, T> {
    fn new(tree: &'a T, limits: &'a Limits) -> Self {
        Self { tree, limits, files: limits.files, bytes: limits.total_size }
    }

    fn open(&self, path: &str) -> Result<T::Dir, T::Error> {
        let dir = self.tree.open(path)?;
        dir.ok_or_else(|| Error::Missing { path: path.to_owned() }.into())
    }

    fn read_layout(&self, annotations: Option<&Found>) -> Result<Layout, T::Error> {
        let bytes = annotations.map(|file| file.bytes.as_slice());
        Ok(layout::read(bytes, self.limits).map_err(Error::from)?)
    }

    /// Reads the manifests from the directory in `layout`. If it does not exist, replaces `layout`
    /// by its fallback.
    fn read_manifests(&mut self, layout: &mut Layout) -> Result<Vec<Found>, T::Error> {
        let dir = match (self.tree.open(&layout.manifests)?, layout.fallback()) {
            (None, Some(fallback)) => {
                *layout = fallback;
                self.open(&layout.manifests)?
            }
            (None, None) => return Err(Error::Missing { path: layout.manifests.clone() }.into()),
            (Some(dir), _) => dir,
        };
        self.read_all(&dir, &layout.manifests, Directory::Manifests)
    }

    fn read_directory(&mut self, path: &str, directory: Directory) -> Result<Vec<Found>, T::Error> {
        let dir = self.open(path)?;
        self.read_all(&dir, path, directory)
    }

    /// Reads all files of `dir`, which is at `path`, sorted by name.
    fn read_all(
        &mut self,
        dir: &T::Dir,
        path: &str,
        directory: Directory,
    ) -> Result<Vec<Found>, T::Error> {
        let mut names = Vec::new();
        self.tree.list(dir, |name| {
            let limit = self.limits.files;
            let left = self.files.checked_sub(1);
            self.files = left.ok_or_else(|| Error::Files { directory: path.to_owned(), limit })?;
            let text = str::from_utf8(name).map_err(|_| Error::Name {
                directory: path.to_owned(),
                name: name.escape_ascii().to_string(),
            })?;
            names.push(text.to_owned());
            Ok::<_, T::Error>(())
        })?;
        names.sort_unstable();
        names.into_iter().map(|name| self.read_file(dir, path, directory, &name)).collect()
    }

    fn read_file(
        &mut self,
        dir: &T::Dir,
        path: &str,
        directory: Directory,
        name: &str,
    ) -> Result<Found, T::Error> {
        let entry = self.tree.find(dir, name)?;
        let path = format!("{path}/{name}");
        let file = match entry {
            Entry::File(file) => file,
            Entry::Directory => return Err(Error::NestedDirectory { path }.into()),
            Entry::Special(kind) => return Err(Error::Special { path, kind }.into()),
        };
        let Limits { file_size, total_size, .. } = *self.limits;
        let max = self.bytes.min(file_size);
        let bytes = match self.tree.read(dir, name, file, max)? {
            Some(bytes) => bytes,
            None if max < file_size => {
                return Err(Error::TotalSize { path, limit: total_size }.into());
            }
            None => return Err(Error::FileSize { path, limit: file_size }.into()),
        };
        self.bytes = self.bytes.saturating_sub(bytes.len());
        Ok(Found { directory, name: name.to_owned(), bytes })
    }
}
