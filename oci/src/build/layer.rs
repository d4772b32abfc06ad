//! A layer, and the tar that it is written as.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path as FilePath;

use tar::{Builder, EntryType, Header};

use super::Error;
use super::entry::{Data, Entry, Kind, Place};

/// A change of the file system: entries in any order, over those of lower layers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layer {
    /// What is in it.
    pub entries: Vec<Entry>,
    /// How its tar is stored.
    pub compression: Compression,
}

/// How the tar of a layer is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all. Two versions of this crate give the same digest.
    #[default]
    None,
    /// gzip, which every engine reads. Another version of the compressor may give another digest.
    Gzip,
    /// zstd, which containerd reads since 1.5 and Docker since 23; the same goes for digests.
    Zstd,
}

impl Layer {
    /// A layer of these entries, stored as tar.
    pub fn new(entries: impl IntoIterator<Item = Entry>) -> Self {
        Self { entries: entries.into_iter().collect(), compression: Compression::None }
    }

    /// The same, stored in another way.
    #[must_use]
    pub fn compressed(self, compression: Compression) -> Self {
        Self { compression, ..self }
    }

    /// Writes the tar: removals first, so that none can be taken to mean an entry of this layer;
    /// hard links last; directories before what is in them.
    pub(super) fn write(&self, output: impl Write, name: &FilePath) -> Result<(), Error> {
        let entries = self.placed()?;
        let mut tape = Tape {
            builder: Builder::new(output),
            name,
            entries: &entries,
            directories: BTreeSet::new(),
        };
        for turn in [Turn::Removals, Turn::Others, Turn::HardLinks] {
            for (place, entry) in entries.iter().filter(|(_, entry)| Turn::of(entry) == turn) {
                for above in place.ancestors() {
                    tape.directory(&above)?;
                }
                tape.entry(place, entry)?;
            }
        }
        tape.finish()
    }

    fn placed(&self) -> Result<BTreeMap<Place, &Entry>, Error> {
        let mut placed = BTreeMap::new();
        for entry in &self.entries {
            if placed.insert(Place::of(&entry.path)?, entry).is_some() {
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

/// When an entry is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turn {
    Removals,
    Others,
    HardLinks,
}

impl Turn {
    fn of(entry: &Entry) -> Self {
        match entry.kind {
            Kind::Removed | Kind::Opaque => Self::Removals,
            Kind::File(_) | Kind::Directory | Kind::Link(_) => Self::Others,
            Kind::HardLink(_) => Self::HardLinks,
        }
    }
}

struct Tape<'a, W: Write> {
    builder: Builder<W>,
    /// What is written, for errors.
    name: &'a FilePath,
    entries: &'a BTreeMap<Place, &'a Entry>,
    /// Those that are written.
    directories: BTreeSet<Place>,
}

impl<W: Write> Tape<'_, W> {
    fn directory(&mut self, place: &Place) -> Result<(), Error> {
        if !self.directories.insert(place.clone()) {
            return Ok(());
        }
        let entry = self.entries.get(place);
        let (mode, owner) = entry.map_or((0o755, (0, 0)), |entry| (entry.mode, entry.owner));
        let mut header = header(EntryType::Directory, mode, owner, 0);
        let path = format!("{}/", place.path());
        let appended = self.builder.append_data(&mut header, path, io::empty());
        self.written(appended)
    }

    fn empty_file(&mut self, path: &str) -> Result<(), Error> {
        let mut header = header(EntryType::Regular, 0o644, (0, 0), 0);
        let appended = self.builder.append_data(&mut header, path, io::empty());
        self.written(appended)
    }

    fn entry(&mut self, place: &Place, entry: &Entry) -> Result<(), Error> {
        let header = |kind, size| header(kind, entry.mode, entry.owner, size);
        let path = place.path();
        let appended = match &entry.kind {
            Kind::File(Data::Bytes(bytes)) => {
                let mut header = header(EntryType::Regular, bytes.len() as u64);
                self.builder.append_data(&mut header, path, bytes.as_slice())
            }
            Kind::File(Data::Path(file)) => {
                let input = |source| Error::Input { path: file.clone(), source };
                let mut reader = Exact::open(file).map_err(input)?;
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
                let target = Place::of(target)?.path();
                self.builder.append_link(&mut header(EntryType::Link, 0), path, target)
            }
            Kind::Directory => return self.directory(place),
            Kind::Removed => return self.empty_file(&place.whiteout()),
            Kind::Opaque => {
                self.directory(place)?;
                return self.empty_file(&place.opaque());
            }
        };
        self.written(appended)
    }

    fn finish(self) -> Result<(), Error> {
        let name = self.name;
        let finished = self.builder.into_inner().and_then(|mut inner| inner.flush());
        finished.map_err(|source| Error::Output { path: name.to_owned(), source })
    }

    fn written(&self, result: io::Result<()>) -> Result<(), Error> {
        result.map_err(|source| Error::Output { path: self.name.to_owned(), source })
    }
}

/// A header without a date, a name of a user, or anything else of this machine.
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

/// A file that has to keep the size with which it was announced. An error of it ends the stream,
/// and is kept apart from those of what is written.
struct Exact {
    file: File,
    left: u64,
    error: Option<io::Error>,
}

impl Exact {
    fn open(path: &FilePath) -> io::Result<Self> {
        // A FIFO would be waited for.
        if !path.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = File::open(path)?;
        Ok(Self { left: file.metadata()?.len(), file, error: None })
    }
}

impl Read for Exact {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.file.read(buffer).and_then(|n| match self.left.checked_sub(n as u64) {
            Some(0) if n == 0 => Ok(0),
            Some(_) if n == 0 && !buffer.is_empty() => {
                Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it shrank meanwhile"))
            }
            Some(left) => {
                self.left = left;
                Ok(n)
            }
            None => Err(io::Error::other("it grew meanwhile")),
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
