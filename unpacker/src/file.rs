//! Reads small files completely.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, fstat, open};

use unlade_directory::read_at_most;

/// Reads the regular file at `path`, which may have at most `max` bytes. A FIFO or device is an
/// error and does not block.
pub(crate) fn read(path: &Path, max: usize) -> io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(path, flags, Mode::empty())?);
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("not a regular file"));
    }
    let bytes = read_at_most(file, max as u64)?;
    bytes.ok_or_else(|| io::Error::other(format!("larger than {max} bytes")))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, mknodat};

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
