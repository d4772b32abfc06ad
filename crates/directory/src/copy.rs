//! Copies the content of a file.

use std::io::{self, Read, Write};

/// The size of the buffer, in bytes.
const BUFFER: usize = 64 << 10;

/// The reason why the content of a file was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The source failed.
    #[error("failed to read the source")]
    Read(#[source] io::Error),
    /// The destination failed.
    #[error("failed to write the destination")]
    Write(#[source] io::Error),
}

/// Copies `from` to `to`, and returns the number of bytes. Unlike that of [`io::copy`], the error
/// says which of them failed.
///
/// # Errors
///
/// Returns an error if the source or the destination fails.
pub fn copy_file(from: &mut dyn Read, to: &mut dyn Write) -> Result<u64, CopyError> {
    let (mut buffer, mut size) = (vec![0; BUFFER], 0);
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(size),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        to.write_all(buffer.get(..count).unwrap_or_default()).map_err(CopyError::Write)?;
        size += count as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn the_error_tells_which_side_failed() {
        let directory = tempfile::tempdir().unwrap();
        let mut unreadable = File::open(directory.path()).unwrap();
        let copied = copy_file(&mut unreadable, &mut Vec::new());
        assert!(matches!(copied, Err(CopyError::Read(_))), "{copied:?}");

        let copied = copy_file(&mut &b"text"[..], &mut [0; 2].as_mut_slice());
        assert!(matches!(copied, Err(CopyError::Write(_))), "{copied:?}");

        let mut copy = Vec::new();
        assert_eq!(copy_file(&mut &b"text"[..], &mut copy).unwrap(), 4);
        assert_eq!(copy, b"text");
    }
}
