//! [`Opened`]: a catalog whose files are listed and can be read.

use std::fs;
use std::io::{self, Read};
use std::iter;
use std::path::{Path, PathBuf};

use unlade_bundle::source;
use unlade_directory::{Dir, open_regular_file};

use crate::{Error, Limits, Texts, walk};

/// The content of a file.
pub(crate) type Input<'t> = Box<dyn Read + 't>;

/// A directory or a single file, of which some files may have been replaced.
pub(crate) struct Opened<'t> {
    root: Root,
    changed: &'t Texts,
    files: Vec<String>,
    size: u64,
}

enum Root {
    Dir(Dir),
    File(PathBuf),
}

impl<'t> Opened<'t> {
    /// Opens the catalog at `root` with other texts for the files in `changed`, lists its files,
    /// and checks their size.
    pub(crate) fn new(root: &Path, limits: &Limits, changed: &'t Texts) -> Result<Self, Error> {
        let failed = |source| Error::Root { path: root.to_owned(), source };
        let metadata = fs::metadata(root).map_err(failed)?;
        if metadata.is_dir() {
            let directory = open_root(root)?;
            let is_new = |path: &&String| root.join(path).symlink_metadata().is_err();
            let files = walk::list(&directory, limits, changed.keys().filter(is_new))?;
            return Self { root: Root::Dir(directory), changed, files, size: 0 }.measured(limits);
        }
        // A pipe can be read only once, but a file with problems is read twice.
        if !metadata.is_file() {
            return Err(failed(io::Error::other("it is neither a directory nor a regular file")));
        }
        let files = iter::once(file_name(root)).collect();
        Self { root: Root::File(root.to_owned()), changed, files, size: 0 }.measured(limits)
    }

    /// Adds up the sizes of the files. Those that cannot be read have none.
    fn measured(mut self, limits: &Limits) -> Result<Self, Error> {
        let size = |path: &String| match (self.changed.get(path), &self.root) {
            (Some(text), _) => text.len() as u64,
            (None, Root::Dir(directory)) => directory.file_size(path),
            (None, Root::File(file)) => fs::metadata(file).map_or(0, |it| it.len()),
        };
        self.size = self.files.iter().map(size).fold(0, u64::saturating_add);
        let limit = limits.bytes;
        if self.size > limit { Err(Error::Size { limit }) } else { Ok(self) }
    }

    /// Returns the size of all files together, in bytes. A file counts for each of its names.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns the paths of the files in the order in which upstream reads them.
    pub(crate) fn files(&self) -> &[String] {
        &self.files
    }

    /// Opens one of the [`files`](Self::files).
    pub(crate) fn open(&self, path: &str) -> Result<Input<'t>, String> {
        if let Some(text) = self.changed.get(path) {
            return Ok(Box::new(text.as_slice()));
        }
        let file = match &self.root {
            Root::Dir(directory) => {
                directory.open_file(path).map_err(|error| unlade_text::chain(&error))
            }
            Root::File(file) => open_file(file).map_err(|error| error.to_string()),
        };
        Ok(Box::new(file?))
    }
}

/// Opens the directory of a catalog.
pub(crate) fn open_root(root: &Path) -> Result<Dir, Error> {
    Dir::open_root(root).map_err(|error| match error {
        source::Error::Root { source, .. } => Error::Root { path: root.to_owned(), source },
        error => Error::Directory(error),
    })
}

/// Opens a catalog that is a single file. Its path may have come to name another one, such as a
/// FIFO.
pub(crate) fn open_file(root: &Path) -> io::Result<fs::File> {
    open_regular_file(root)?.ok_or_else(|| io::Error::other("it is not a regular file"))
}

/// Returns the name of a catalog that is a single file, for messages.
pub(crate) fn file_name(root: &Path) -> String {
    root.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
