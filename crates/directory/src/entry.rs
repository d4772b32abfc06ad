//! Entries of a directory of any depth, for readers of more than bundles.

use std::fs;
use std::os::fd::AsFd as _;

use rustix::fs::{FileType, OFlags};
use unlade_bundle::source::{Entry, Error, Tree as _};

use super::beneath::Dir;

/// The kind of an entry, if links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// Anything else. [`Dir::open_file`] checks it.
    Other,
}

impl Dir {
    /// Returns the kind of the entry `name` of this directory. Does not follow a link.
    ///
    /// # Errors
    ///
    /// Returns an error if the entry does not exist.
    pub fn read_kind(&self, name: &str) -> Result<Kind, Error> {
        let found = self.find_in(self.as_fd(), name.as_bytes());
        let found = found.map_err(|errno| self.system_error(name, errno))?;
        let is_directory = found.file_type() == FileType::Directory;
        Ok(if is_directory { Kind::Directory } else { Kind::Other })
    }

    /// Returns the size of the regular file that [`open_file`](Self::open_file) opens, in bytes, or
    /// 0 if it opens none.
    pub fn file_size(&self, path: &str) -> u64 {
        match self.find(self, path) {
            Ok(Entry::File(found)) => u64::try_from(found.stat.st_size).unwrap_or_default(),
            _ => 0,
        }
    }

    /// Opens the regular file at `path` beneath this directory for reading, or the file that the
    /// link at this path leads to.
    ///
    /// # Errors
    ///
    /// Returns an error if the path leads out of this directory or to another mount, or if it is
    /// not a regular file that this user may read.
    pub fn open_file(&self, path: &str) -> Result<fs::File, Error> {
        match self.find(self, path)? {
            Entry::File(found) => Ok(self.open_found(path, &found, OFlags::empty())?.into()),
            Entry::Directory => Err(Error::Special { path: self.path_of(path), kind: "directory" }),
            Entry::Special(kind) => Err(Error::Special { path: self.path_of(path), kind }),
        }
    }
}
