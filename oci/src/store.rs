//! Files by name, out of a directory or out of a tar archive.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path as FilePath, PathBuf};

use tar::{Entry, EntryType};

use crate::budget::Budget;
use crate::compression::decompress;
use crate::limit;
use crate::path::{self, Path};
use crate::tape;

/// Names that an archive may hold only once: no digest says which one is meant.
const SINGLE: [&[u8]; 3] = [b"oci-layout", b"index.json", b"manifest.json"];

/// Why a file of a layout or an archive is not read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory or archive cannot be opened.
    #[error("{} cannot be opened", path.display())]
    Open {
        /// The directory or archive.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The archive is no regular file, but read more than once.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The archive.
        path: PathBuf,
    },
    /// The file does not begin as a tar does, compressed or not.
    #[error("{} is no tar archive", path.display())]
    NotAnArchive {
        /// The file.
        path: PathBuf,
    },
    /// The archive is broken, does not decompress, or passes a limit.
    #[error("archive {} cannot be read", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// A file that should be there is not.
    #[error("{name} is missing")]
    Missing {
        /// Its path in the directory or archive.
        name: String,
    },
    /// A file cannot be read.
    #[error("{name} cannot be read")]
    Read {
        /// Its path in the directory or archive.
        name: String,
        /// What the system said.
        source: io::Error,
    },
    /// A file is larger than the limit for its kind.
    #[error("{name} is larger than {limit} bytes")]
    TooLarge {
        /// Its path in the directory or archive.
        name: String,
        /// The limit, in bytes.
        limit: u64,
    },
    /// An archive holds two files of a name that must be unique.
    #[error("the archive holds {name} twice")]
    Twice {
        /// The name.
        name: String,
    },
}

/// A directory or an archive.
pub(crate) enum Store<'a> {
    Directory(PathBuf),
    Archive(Archive<'a>),
}

impl<'a> Store<'a> {
    pub(crate) fn directory(path: &FilePath) -> Result<Self, Error> {
        let open = |source| Error::Open { path: path.to_owned(), source };
        std::fs::read_dir(path).map_err(open)?;
        Ok(Self::Directory(path.to_owned()))
    }

    /// The tar in `path`, compressed or not.
    pub(crate) fn archive(path: &FilePath, budget: &'a Budget) -> Result<Self, Error> {
        Archive::open(path, budget).map(Self::Archive)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match self {
            Self::Directory(directory) => directory.join(name).is_file(),
            Self::Archive(archive) => archive.find(name).is_some(),
        }
    }

    /// The file `name`, to be streamed. The caller vouches that a name does not climb out.
    pub(crate) fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, Error> {
        let read = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => Error::Missing { name: name.to_owned() },
            _ => Error::Read { name: name.to_owned(), source },
        };
        match self {
            Self::Directory(directory) => {
                let path = directory.join(name);
                // Before it is opened: opening a FIFO waits.
                if !path.metadata().map_err(read)?.is_file() {
                    return Err(Error::NotAFile { path });
                }
                Ok(Box::new(File::open(path).map_err(read)?))
            }
            Self::Archive(archive) => archive.stream(name),
        }
    }

    /// All of the file `name`.
    pub(crate) fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let reader = self.open(name)?;
        reader
            .take(limit.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| Error::Read { name: name.to_owned(), source })?;
        if bytes.len() as u64 > limit {
            return Err(Error::TooLarge { name: name.to_owned(), limit });
        }
        Ok(bytes)
    }
}

/// A tar file, and where in it which file lies.
pub(crate) struct Archive<'a> {
    path: PathBuf,
    budget: &'a Budget,
    is_compressed: bool,
    files: HashMap<Path, Place>,
}

enum Place {
    /// Bytes from this offset of the decompressed stream on.
    At { offset: u64, size: u64 },
    /// A small file of a compressed archive.
    Here(Vec<u8>),
    /// Another name of a file: `docker save` writes a layer that occurs twice once.
    Link(Path),
}

impl<'a> Archive<'a> {
    fn open(path: &FilePath, budget: &'a Budget) -> Result<Self, Error> {
        let open = |source| Error::Open { path: path.to_owned(), source };
        if !path.metadata().map_err(open)?.is_file() {
            return Err(Error::NotAFile { path: path.to_owned() });
        }
        let mut file = File::open(path).map_err(open)?;
        let broken = |source| Error::Archive { path: path.to_owned(), source };
        let mut plain = decompress(&file, budget).map_err(broken)?;
        let start = tape::start(&mut plain.reader).map_err(broken)?;
        if !tape::is_tar(&start) {
            return Err(Error::NotAnArchive { path: path.to_owned() });
        }
        let is_compressed = plain.was_compressed;
        let mut index = Index { files: HashMap::new(), is_compressed, kept: 0 };
        let result = if is_compressed {
            tape::each(start.as_slice().chain(plain.reader), budget, |entry| {
                index.add(entry, budget)
            })
        } else {
            drop(plain);
            file.seek(SeekFrom::Start(0)).map_err(open)?;
            tape::each_seeking(file, budget, |entry| index.add(entry, budget))
        };
        result.map_err(|fault| match fault {
            Fault::Io(source) => broken(source),
            Fault::Twice(name) => Error::Twice { name },
        })?;
        let files = index.files;
        Ok(Self { path: path.to_owned(), budget, is_compressed, files })
    }

    fn find(&self, name: &str) -> Option<&Place> {
        let place = self.files.get(&path::clean(name.as_bytes())?)?;
        match place {
            // One link, as containers/image follows it: there can be no loop.
            Place::Link(target) => {
                self.files.get(target).filter(|place| !matches!(place, Place::Link(_)))
            }
            place => Some(place),
        }
    }

    fn stream(&self, name: &str) -> Result<Box<dyn Read + '_>, Error> {
        let read = |source| Error::Read { name: name.to_owned(), source };
        let (offset, size) = match self.find(name) {
            Some(Place::At { offset, size }) => (*offset, *size),
            Some(Place::Here(bytes)) => return Ok(Box::new(bytes.as_slice())),
            _ => return Err(Error::Missing { name: name.to_owned() }),
        };
        let mut file = File::open(&self.path)
            .map_err(|source| Error::Open { path: self.path.clone(), source })?;
        if self.is_compressed {
            let mut plain = decompress(file, self.budget).map_err(read)?.reader;
            io::copy(&mut plain.by_ref().take(offset), &mut io::sink()).map_err(read)?;
            return Ok(Box::new(plain.take(size)));
        }
        file.seek(SeekFrom::Start(offset)).map_err(read)?;
        Ok(Box::new(file.take(size)))
    }
}

enum Fault {
    Io(io::Error),
    Twice(String),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

struct Index {
    files: HashMap<Path, Place>,
    is_compressed: bool,
    /// Bytes of the files that are kept.
    kept: u64,
}

impl Index {
    fn add<R: Read>(&mut self, entry: &mut Entry<'_, R>, budget: &Budget) -> Result<(), Fault> {
        let written = entry.path_bytes().into_owned();
        // What does not lie in the archive cannot be asked for.
        let Some(path) = path::clean(&written).filter(|path| path.len() <= limit::NAME) else {
            return Ok(());
        };
        let place = match entry.header().entry_type() {
            EntryType::Regular | EntryType::Continuous if !written.ends_with(b"/") => {
                self.place(entry, budget)?
            }
            EntryType::Symlink => {
                let target = entry.link_name_bytes().unwrap_or_default().into_owned();
                let directory = path::parent(&path).unwrap_or_default();
                match path::clean(&path::join(directory, &target)) {
                    Some(target) if target.len() <= limit::NAME => Place::Link(target),
                    _ => return Ok(()),
                }
            }
            EntryType::Link => match entry.link_name_bytes().as_deref().and_then(path::clean) {
                Some(target) if target.len() <= limit::NAME => Place::Link(target),
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        if self.files.len() >= limit::FILES {
            return Err(io::Error::other("too many files").into());
        }
        let is_single = SINGLE.contains(&path.as_slice());
        let name = path::display(&path);
        match self.files.insert(path, place) {
            Some(_) if is_single => Err(Fault::Twice(name)),
            _ => Ok(()),
        }
    }

    fn place<R: Read>(&mut self, entry: &mut Entry<'_, R>, budget: &Budget) -> io::Result<Place> {
        let size = entry.size();
        if !self.is_compressed || size > budget.limits.json || self.kept + size > limit::KEPT {
            return Ok(Place::At { offset: entry.raw_file_position(), size });
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        self.kept += bytes.len() as u64;
        Ok(Place::Here(bytes))
    }
}
