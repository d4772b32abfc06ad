//! [`Contents`]: the contents of the files of all layers, one after another in a single file.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path as FilePath, PathBuf};

use unlade_directory::{CopyError, copy_file};

use super::Error;
use crate::limit;
use crate::path;
use crate::tar_reader::Entry;

/// The contents of files, each with a number. This includes the contents that a later entry
/// replaces or removes. Appending to a file is cheap, but creating a file can take a millisecond.
pub(super) struct Contents {
    /// A file without a name.
    file: File,
    /// The directory that it is in.
    directory: PathBuf,
    /// The range of each content in the file, by number.
    ranges: Vec<Range<u64>>,
    /// The size of all contents, in bytes.
    size: u64,
}

impl Contents {
    /// Creates the file in `directory`.
    pub(super) fn new(directory: &FilePath) -> Result<Self, Error> {
        let directory = directory.to_owned();
        match tempfile::tempfile_in(&directory) {
            Ok(file) => Ok(Self { file, directory, ranges: Vec::new(), size: 0 }),
            Err(source) => Err(Error::Write { path: directory, source }),
        }
    }

    /// Stores the content of the entry at `path`, and returns its number.
    pub(super) fn push<R: Read>(
        &mut self,
        entry: &mut Entry<'_, R>,
        path: &[u8],
    ) -> Result<usize, Error> {
        let (start, size) = (self.size, entry.size);
        self.size = self.size.saturating_add(size);
        if self.size > limit::EXTRACTED {
            return Err(Error::TooLarge { path: path::display(path) });
        }
        let fails = |source| Error::Write { path: self.directory.clone(), source };
        if copy(entry, &mut self.file, fails)? != size {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.ranges.push(start..self.size);
        Ok(self.ranges.len() - 1)
    }

    /// Writes the content with this number to the new file `to`.
    pub(super) fn write(&self, number: usize, to: &FilePath) -> io::Result<()> {
        let range = self.ranges.get(number).cloned().unwrap_or_default();
        let (mut from, size) = (&self.file, range.end - range.start);
        from.seek(SeekFrom::Start(range.start))?;
        let mut to = File::create_new(to)?;
        // On Linux, the kernel copies the bytes, so they do not pass through this process.
        if io::copy(&mut from.take(size), &mut to)? == size {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
}

/// Copies `from` to `to`, and returns the number of bytes. An error of `to` is passed to `fails`,
/// so that it is not reported as a damaged layer.
fn copy(
    from: &mut dyn Read,
    to: &mut dyn Write,
    fails: impl Fn(io::Error) -> Error,
) -> Result<u64, Error> {
    copy_file(from, to).map_err(|error| match error {
        CopyError::Read(source) => source.into(),
        CopyError::Write(source) => fails(source),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_not_a_damaged_layer() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        struct Damaged;
        impl Read for Damaged {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::InvalidData.into())
            }
        }
        let fails = |source| Error::Write { path: PathBuf::from("x"), source };
        let error = copy(&mut &b"x"[..], &mut Full, fails).unwrap_err();
        assert!(matches!(error, Error::Write { .. }), "{error}");
        let error = copy(&mut Damaged, &mut Full, fails).unwrap_err();
        assert!(matches!(error, Error::Read(_)), "{error}");
        let text = b"text".repeat(5_000);
        let mut written = Vec::new();
        assert_eq!(copy(&mut text.as_slice(), &mut written, fails).unwrap(), 20_000);
        assert_eq!(written, text);
    }
}
