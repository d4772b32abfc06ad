//! The local files that images are read from.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

use unlade_directory::{open_regular_file, read_at_most};

/// The size of a block in `st_blocks`, in bytes. It does not depend on the file system.
const BLOCK: u64 = 512;

/// An open regular file.
pub(crate) struct Input {
    file: Arc<File>,
    /// The size in bytes when the file was opened. The files of `/proc` have size 0.
    pub(crate) size: u64,
    /// The number of stored bytes, without holes.
    pub(crate) stored: u64,
}

/// Opens the file `path`. Returns `None` if it is not a regular file.
pub(crate) fn open(path: &Path) -> io::Result<Option<Input>> {
    // Opening a device can have side effects.
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    // The path may now name another file, such as a FIFO.
    let Some(file) = open_regular_file(path)? else { return Ok(None) };
    let metadata = file.metadata()?;
    let size = metadata.len();
    // File systems without support for holes report one at the end. Some of them do not report
    // blocks either.
    let hole = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)).unwrap_or(size);
    let stored = if hole < size { size.min(metadata.blocks() * BLOCK) } else { size };
    Ok(Some(Input { file: Arc::new(file), size, stored }))
}

/// Reads the whole file `path`, which must be a regular file of at most `limit` bytes.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path)?.ok_or_else(|| io::Error::other("it is not a regular file"))?;
    let bytes = read_at_most(file.bytes(0, file.size), limit)?;
    bytes.ok_or_else(|| io::Error::other(format!("it is larger than {limit} bytes")))
}

impl Input {
    /// Returns a reader for `size` bytes from `offset`, or fewer at the end of the file.
    pub(crate) fn bytes(&self, offset: u64, size: u64) -> Bytes {
        let end = offset.saturating_add(size).min(self.size);
        Bytes { file: Arc::clone(&self.file), start: offset, position: offset, end }
    }
}

/// A reader of a part of a file. Several readers can be used at the same time.
pub(crate) struct Bytes {
    file: Arc<File>,
    start: u64,
    position: u64,
    end: u64,
}

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let n = buffer.len().min(left);
        let n = self.file.read_at(buffer.get_mut(..n).unwrap_or_default(), self.position)?;
        self.position += n as u64;
        Ok(n)
    }
}

impl Seek for Bytes {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(offset) => self.start.checked_add(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
            SeekFrom::End(offset) => self.end.checked_add_signed(offset),
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position - self.start.min(self.position))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read_all(mut bytes: Bytes) -> Vec<u8> {
        let mut all = Vec::new();
        bytes.read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn file_that_changes_its_size_has_at_most_the_size_of_when_it_was_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("blob");
        fs::write(&path, [b'a'; 100]).unwrap();
        let file = open(&path).unwrap().unwrap();
        fs::write(&path, [b'b'; 1_000]).unwrap();
        assert_eq!(read_all(file.bytes(10, u64::MAX)), [b'b'; 90]);
        fs::write(&path, [b'c'; 50]).unwrap();
        assert_eq!(read_all(file.bytes(10, 80)), [b'c'; 40]);
        assert!(read_all(file.bytes(60, 30)).is_empty());
    }
}
