//! Reads files of the user's configuration.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use unlade_directory::read_at_most;

/// An error that prevents a file from being read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or directory cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is larger than the limit.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit, in bytes.
        limit: u64,
    },
}

impl Error {
    /// Checks whether the file does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Reads a whole file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let fails = |source| Error::Read { path: path.to_owned(), source };
    let bytes = File::open(path).and_then(|file| read_at_most(file, limit)).map_err(fails)?;
    bytes.ok_or_else(|| Error::TooLarge { path: path.to_owned(), limit })
}
