//! [`Layer`], and its serialization as a tar.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path as FilePath;

use tar::{Builder, EntryType, Header};

use super::Error;
use super::entry::{Data, Entry, Kind, Place};

/// A layer: a change to the file system of the lower layers. The entries can be in any order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layer {
    /// The entries of the layer.
    pub entries: Vec<Entry>,
    /// The compression of its tar.
    pub compression: Compression,
}

/// The compression of the tar of a layer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// No compression. All versions of this crate produce the same digest.
    #[default]
    None,
    /// gzip, which all engines support. Other versions of the compressor may produce a different
    /// digest.
    Gzip,
    /// zstd, which containerd supports since 1.5 and Docker since 23. Other versions of the
    /// compressor may produce a different digest.
    Zstd,
}

impl Layer {
    /// Creates a layer of these entries, without compression.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        Self { entries: entries.into_iter().collect(), compression: Compression::None }
    }

    /// Sets the compression.
    #[must_use]
    pub fn compressed(self, compression: Compression) -> Self {
        Self { compression, ..self }
    }

    /// Writes the tar. Removals come first, so that no reader applies them to entries of this
    /// layer. Hard links come last. Directories come before their content.
    pub(super) fn write(&self, output: impl Write, name: &FilePath) -> Result<(), Error> {
        let entries = self.entries_by_place()?;
        let mut tape = Tape {
            builder: Builder::new(output),
            name,
            entries: &entries,
            directories: BTreeSet::new(),
        };
        for pass in [Pass::Removals, Pass::Others, Pass::HardLinks] {
            for (place, entry) in
                entries.iter().filter(|(_, entry)| Pass::from_entry(entry) == pass)
            {
                for above in place.ancestors() {
                    tape.write_directory(&above)?;
                }
                tape.write_entry(place, entry)?;
            }
        }
        tape.finish()
    }

    fn entries_by_place(&self) -> Result<BTreeMap<Place, &Entry>, Error> {
        let mut placed = BTreeMap::new();
        for entry in &self.entries {
            if placed.insert(Place::parse(&entry.path)?, entry).is_some() {
                return Err(Error::Twice { path: entry.path.clone() });
            }
        }
        for (place, entry) in &placed {
            for above in place.ancestors() {
                let is_directory = placed
                    .get(&above)
                    .is_none_or(|above| matches!(above.kind, Kind::Directory | Kind::Opaque));
                if !is_directory {
                    let (path, above) = (entry.path.clone(), above.path());
                    return Err(Error::Beneath { path, above });
                }
            }
        }
        Ok(placed)
    }
}

/// The pass in which an entry is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Removals,
    Others,
    HardLinks,
}

impl Pass {
    fn from_entry(entry: &Entry) -> Self {
        match entry.kind {
            Kind::Removed | Kind::Opaque => Self::Removals,
            Kind::File(_) | Kind::Directory | Kind::Link(_) => Self::Others,
            Kind::HardLink(_) => Self::HardLinks,
        }
    }
}

struct Tape<'a, W: Write> {
    builder: Builder<W>,
    /// The path of the output, for errors.
    name: &'a FilePath,
    entries: &'a BTreeMap<Place, &'a Entry>,
    /// The directories that are already written.
    directories: BTreeSet<Place>,
}

impl<W: Write> Tape<'_, W> {
    fn write_directory(&mut self, place: &Place) -> Result<(), Error> {
        if !self.directories.insert(place.clone()) {
            return Ok(());
        }
        let entry = self.entries.get(place);
        let (mode, owner) = entry.map_or((0o755, (0, 0)), |entry| (entry.mode, entry.owner));
        let mut header = header(EntryType::Directory, mode, owner, 0);
        let path = format!("{}/", place.path());
        let appended = self.builder.append_data(&mut header, path, io::empty());
        self.check(appended)
    }

    fn write_empty_file(&mut self, path: &str) -> Result<(), Error> {
        let mut header = header(EntryType::Regular, 0o644, (0, 0), 0);
        let appended = self.builder.append_data(&mut header, path, io::empty());
        self.check(appended)
    }

    fn write_entry(&mut self, place: &Place, entry: &Entry) -> Result<(), Error> {
        let header = |kind, size| header(kind, entry.mode, entry.owner, size);
        let path = place.path();
        let appended = match &entry.kind {
            Kind::File(Data::Bytes(bytes)) => {
                let mut header = header(EntryType::Regular, bytes.len() as u64);
                self.builder.append_data(&mut header, path, bytes.as_slice())
            }
            Kind::File(Data::Path(file)) => {
                let input = |source| Error::Input { path: file.clone(), source };
                let mut reader = FixedSizeFile::open(file).map_err(input)?;
                let mut header = header(EntryType::Regular, reader.left);
                let appended = self.builder.append_data(&mut header, path, &mut reader);
                if let Some(source) = reader.error {
                    return Err(input(source));
                }
                appended
            }
            Kind::Link(target) => {
                self.builder.append_link(&mut header(EntryType::Symlink, 0), path, target)
            }
            Kind::HardLink(target) => {
                let target = Place::parse(target)?.path();
                self.builder.append_link(&mut header(EntryType::Link, 0), path, target)
            }
            Kind::Directory => return self.write_directory(place),
            Kind::Removed => return self.write_empty_file(&place.whiteout()),
            Kind::Opaque => {
                self.write_directory(place)?;
                return self.write_empty_file(&place.opaque());
            }
        };
        self.check(appended)
    }

    fn finish(self) -> Result<(), Error> {
        let name = self.name;
        let finished = self.builder.into_inner().and_then(|mut inner| inner.flush());
        finished.map_err(|source| Error::Output { path: name.to_owned(), source })
    }

    fn check(&self, result: io::Result<()>) -> Result<(), Error> {
        result.map_err(|source| Error::Output { path: self.name.to_owned(), source })
    }
}

/// Creates a header without a date, a user name, or any other property of this machine.
fn header(kind: EntryType, mode: u32, (user, group): (u32, u32), size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode & 0o7777);
    header.set_uid(user.into());
    header.set_gid(group.into());
    header.set_mtime(0);
    header.set_size(size);
    header
}

/// A reader of a file whose size must not change, because the tar header already contains it. An
/// error ends the stream and is stored, to distinguish it from errors of the output.
struct FixedSizeFile {
    file: File,
    left: u64,
    error: Option<io::Error>,
}

impl FixedSizeFile {
    fn open(path: &FilePath) -> io::Result<Self> {
        // Opening a FIFO would block.
        if !path.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        Ok(Self { left: file.metadata()?.len(), file, error: None })
    }
}

impl Read for FixedSizeFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.file.read(buffer).and_then(|n| match self.left.checked_sub(n as u64) {
            Some(0) if n == 0 => Ok(0),
            Some(_) if n == 0 && !buffer.is_empty() => Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file shrank while it was read",
            )),
            Some(left) => {
                self.left = left;
                Ok(n)
            }
            None => Err(io::Error::other("the file grew while it was read")),
        });
        match result {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.error = Some(error);
                Err(io::ErrorKind::Other.into())
            }
            result => result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn file_that_changes_its_size_while_it_is_read_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        for (size, expected) in [
            (99, Some("the file shrank while it was read")),
            (100, None),
            (101, Some("the file grew while it was read")),
        ] {
            fs::write(&path, [b'a'; 100]).unwrap();
            let mut reader = FixedSizeFile::open(&path).unwrap();
            fs::write(&path, vec![b'b'; size]).unwrap();
            let mut bytes = Vec::new();
            assert_eq!(reader.read_to_end(&mut bytes).is_err(), expected.is_some());
            assert_eq!(reader.error.map(|error| error.to_string()).as_deref(), expected);
            assert!(bytes.len() <= 100, "{size}");
        }
    }
}
