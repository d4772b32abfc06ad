//! Lists and reads the files of a folder.

use std::fs;
use std::io::{self, Read};
use std::rc::Rc;

use rustix::fs::{Dir, FileType, OFlags};
use unlade_bundle::source::{Entry, Error, Tree};

use super::beneath::Folder;
use super::place::Place;

impl Tree for Folder {
    type Folder = Self;
    type File = Place;
    type Error = Error;

    fn open(&self, path: &str) -> Result<Option<Self>, Error> {
        match self.folder(path) {
            Err(Error::Missing { .. }) => Ok(None),
            folder => folder.map(Some),
        }
    }

    fn list(
        &self,
        folder: &Self,
        mut visit: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |errno| folder.system_error("", errno);
        // `Dir::read_from` would open `.`, which needs the permission to enter the folder.
        let fd = rustix::io::fcntl_dupfd_cloexec(folder, 0).map_err(failed)?;
        for entry in Dir::new(fd).map_err(failed)? {
            match entry.map_err(failed)?.file_name().to_bytes() {
                b"." | b".." => {}
                name => visit(name)?,
            }
        }
        Ok(())
    }

    fn find(&self, folder: &Self, name: &str) -> Result<Entry<Place>, Error> {
        let place = folder.place(name)?;
        Ok(match place.file_type() {
            FileType::RegularFile => Entry::File(place),
            FileType::Directory => Entry::Directory,
            FileType::BlockDevice | FileType::CharacterDevice => Entry::Special("device"),
            FileType::Fifo => Entry::Special("FIFO"),
            FileType::Socket => Entry::Special("socket"),
            _ => Entry::Special("special file"),
        })
    }

    fn read(
        &self,
        folder: &Self,
        name: &str,
        place: Place,
        max: usize,
    ) -> Result<Option<Rc<Vec<u8>>>, Error> {
        let file = fs::File::from(folder.open_place(name, &place, OFlags::empty())?);
        let bytes = read_at_most(file, max)
            .map_err(|source| Error::System { path: folder.path_of(name), source })?;
        Ok(bytes.map(Rc::new))
    }
}

/// Reads `source` to its end. Returns `None` if it has more than `max` bytes.
///
/// # Errors
///
/// Returns the error of `source`.
pub fn read_at_most(source: impl Read, max: usize) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    source.take(max as u64 + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() <= max).then_some(bytes))
}
