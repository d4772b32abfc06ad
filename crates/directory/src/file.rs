//! Lists and reads the files of a directory.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{Dir as Listing, FileType, OFlags};
use unlade_bundle::source::{Entry, Error, Tree};

use super::beneath::Dir;
use super::found::FoundFile;

impl Tree for Dir {
    type Dir = Self;
    type File = FoundFile;
    type Error = Error;

    fn open(&self, path: &str) -> Result<Option<Self>, Error> {
        match self.open_dir(path) {
            Err(Error::Missing { .. }) => Ok(None),
            directory => directory.map(Some),
        }
    }

    fn list<E: From<Error>>(
        &self,
        directory: &Self,
        mut visit: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |errno| directory.system_error("", errno);
        // `rustix::fs::Dir::read_from` would open `.`, which needs the permission to enter the
        // directory.
        let fd = rustix::io::fcntl_dupfd_cloexec(directory, 0).map_err(failed)?;
        for entry in Listing::new(fd).map_err(failed)? {
            match entry.map_err(failed)?.file_name().to_bytes() {
                b"." | b".." => {}
                name => visit(name)?,
            }
        }
        Ok(())
    }

    fn find(&self, directory: &Self, name: &str) -> Result<Entry<FoundFile>, Error> {
        let found = directory.look_up(name)?;
        Ok(match found.file_type() {
            FileType::RegularFile => Entry::File(found),
            FileType::Directory => Entry::Directory,
            FileType::BlockDevice | FileType::CharacterDevice => Entry::Special("device"),
            FileType::Fifo => Entry::Special("FIFO"),
            FileType::Socket => Entry::Special("socket"),
            _ => Entry::Special("special file"),
        })
    }

    fn read(
        &self,
        directory: &Self,
        name: &str,
        found: FoundFile,
        max: usize,
    ) -> Result<Option<Rc<Vec<u8>>>, Error> {
        let file = fs::File::from(directory.open_found(name, &found, OFlags::empty())?);
        let bytes = read_at_most(file, max as u64)
            .map_err(|source| Error::System { path: directory.path_of(name), source })?;
        Ok(bytes.map(Rc::new))
    }
}

/// Opens the file `path`, which may be a link. Returns `None` if it is not a regular file. Does not
/// wait for the writer of a FIFO.
///
/// # Errors
///
/// Returns an error if the file cannot be opened.
pub fn open_regular_file(path: &Path) -> io::Result<Option<fs::File>> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = fs::File::options().read(true).custom_flags(flags).open(path)?;
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Reads `source` to its end. Returns `None` if it has more than `max` bytes.
///
/// # Errors
///
/// Returns the error of `source`.
pub fn read_at_most(source: impl Read, max: u64) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= max).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, Mode, mknodat};

    use super::*;

    #[test]
    fn a_fifo_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fifo");
        mknodat(CWD, &path, FileType::Fifo, Mode::from(0o644), 0).unwrap();
        assert!(open_regular_file(&path).unwrap().is_none());
        fs::write(directory.path().join("file"), "").unwrap();
        assert!(open_regular_file(&directory.path().join("file")).unwrap().is_some());
    }

    #[test]
    fn a_source_is_read_up_to_the_limit() {
        let read = |max| read_at_most(&b"abc"[..], max).unwrap();
        assert_eq!(read(2), None);
        for max in [3, 4, usize::MAX as u64, u64::MAX] {
            assert_eq!(read(max).as_deref(), Some(&b"abc"[..]), "{max}");
        }
    }
}
