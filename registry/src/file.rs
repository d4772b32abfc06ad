//! Reads files of the user's configuration.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// An error that prevents a file from being read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file or folder cannot be read.
    #[error("failed to read {}", path.display())]
    Read {
        /// The file or folder.
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
pub(crate) fn read_at_most(path: &Path, limit: u64) -> Result<Vec<u8>, Error> {
    let fails = |source| Error::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(fails)?;
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(fails)?;
    if bytes.len() as u64 > limit {
        return Err(Error::TooLarge { path: path.to_owned(), limit });
    }
    Ok(bytes)
}
