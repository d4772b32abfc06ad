//! Reads small files completely.

use std::io;
use std::path::Path;

use unlade_directory::{open_regular_file, read_at_most};

/// Reads the regular file at `path`, which may have at most `max` bytes. A FIFO or device is an
/// error and does not block.
pub(crate) fn read(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    let file = open_regular_file(path)?.ok_or_else(|| io::Error::other("not a regular file"))?;
    let bytes = read_at_most(file, max as u64)?;
    bytes.ok_or_else(|| io::Error::other(format!("larger than {max} bytes")))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn only_small_regular_files_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(read(&path, 4).unwrap_err().to_string().contains("larger than 4 bytes"));
        assert!(read(directory.path(), 4).is_err());
        let fifo = directory.path().join("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(read(&fifo, 4).unwrap_err().to_string().contains("not a regular file"));
    }
}
