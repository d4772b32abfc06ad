//! Reads files by name from a directory or an archive, and blobs from an [`Origin`].

pub(crate) mod input;

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader, Read};
use std::path::{Path as FilePath, PathBuf};

use unlade_directory::read_at_most;
use unlade_text::excerpt;

use self::input::Input;

use crate::budget::{Budget, Metered, Received};
use crate::link::Links;
use crate::manifest::blob_path;
use crate::origin::{Origin, Part};
use crate::path::{self, Path};
use crate::tar_reader::{self, Entry, Kind};
use crate::{compression::decompress, limit};

/// The names of files that must be unique in an archive, because no digest verifies them.
const SINGLE: [&[u8]; 3] = [b"oci-layout", b"index.json", b"manifest.json"];

/// An error that prevents a file of a layout or an archive from being read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The directory or archive cannot be opened.
    #[error("failed to open {}", path.display())]
    Open {
        /// The directory or archive.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The archive is not a regular file, so it cannot be read more than once.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The archive.
        path: PathBuf,
    },
    /// The file does not start with the header of a tar, compressed or not.
    #[error("{} is not a tar archive", path.display())]
    NotAnArchive {
        /// The file.
        path: PathBuf,
    },
    /// The archive is damaged, does not decompress, or exceeds a limit.
    #[error("failed to read the archive {}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A required file does not exist.
    #[error("{name} does not exist")]
    Missing {
        /// Its path in the directory or archive.
        name: String,
    },
    /// A file cannot be read.
    #[error("failed to read {name}")]
    Read {
        /// Its path in the directory or archive.
        name: String,
        /// The error of the operating system.
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
    /// An origin, such as a registry, does not return a part of the image.
    #[error("failed to read {name}")]
    Origin {
        /// The digest of the part, or `the image` for its root.
        name: String,
        /// The error of the origin.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file of the archive is inside a link. Some readers follow the link, and others do not.
    #[error("the archive contains {name}, which is inside the link {link}")]
    Inside {
        /// The name of the file.
        name: String,
        /// The name of the link.
        link: String,
    },
    /// A path in the archive is longer than Linux allows, or deeper than any real directory tree.
    #[error(
        "the archive contains {name}, which is a path or link target longer than {} bytes, or with \
         more than {} slashes",
        limit::PATH,
        limit::DEPTH
    )]
    Path {
        /// The start of the path, or of the target of the link.
        name: String,
    },
    /// The archive contains two files with a name that must be unique, or a link with this name.
    /// Some readers follow it when they find it, and others when they know all files.
    #[error("the archive contains {name} twice, or as a link")]
    Ambiguous {
        /// The name.
        name: String,
    },
}

/// A directory, an archive or an [`Origin`].
pub(crate) struct Store<'a> {
    budget: &'a Budget,
    place: Place<'a>,
}

enum Place<'a> {
    Directory(PathBuf),
    Archive(Archive),
    Origin(&'a dyn Origin),
}

impl<'a> Store<'a> {
    pub(crate) fn directory(path: &FilePath, budget: &'a Budget) -> Result<Self, Error> {
        let open = |source| Error::Open { path: path.to_owned(), source };
        std::fs::read_dir(path).map_err(open)?;
        Ok(Self { budget, place: Place::Directory(path.to_owned()) })
    }

    /// Opens the tar in `path`, compressed or not.
    pub(crate) fn archive(path: &FilePath, budget: &'a Budget) -> Result<Self, Error> {
        let place = Place::Archive(Archive::open(path, budget)?);
        Ok(Self { budget, place })
    }

    pub(crate) fn origin(origin: &'a dyn Origin, budget: &'a Budget) -> Self {
        Self { budget, place: Place::Origin(origin) }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match &self.place {
            Place::Directory(directory) => directory.join(name).is_file(),
            Place::Archive(archive) => archive.find(name).is_some(),
            Place::Origin(_) => false,
        }
    }

    /// Checks whether several files have the name `name`, or a link has it, so that readers
    /// disagree about its content.
    pub(crate) fn is_ambiguous(&self, name: &str) -> bool {
        let Place::Archive(archive) = &self.place else { return false };
        path::normalize(name.as_bytes()).is_some_and(|path| archive.ambiguous.contains(&path))
    }

    /// Opens the file `name`. The caller must ensure that the name does not lead out of the
    /// directory.
    pub(crate) fn open(&self, name: &str) -> Result<Box<dyn Read + '_>, Error> {
        match &self.place {
            Place::Directory(directory) => {
                let path = directory.join(name);
                let file = input::open(&path).map_err(|source| match source.kind() {
                    io::ErrorKind::NotFound => Error::Missing { name: excerpt::shorten(name) },
                    _ => Error::Read { name: excerpt::shorten(name), source },
                })?;
                let file = file.ok_or(Error::NotAFile { path })?;
                self.budget.add_input(name, file.stored);
                Ok(Box::new(Metered::new(file.bytes(0, file.size), self.budget)))
            }
            Place::Archive(archive) => archive.stream(name, self.budget),
            Place::Origin(_) => Err(Error::Missing { name: excerpt::shorten(name) }),
        }
    }

    /// Opens a blob, a manifest or an index for streaming.
    pub(crate) fn open_part(&self, part: &Part<'_>) -> Result<Box<dyn Read + '_>, Error> {
        let Place::Origin(origin) = &self.place else { return self.open(&blob_path(part.digest)) };
        let name = part.digest.to_string();
        match origin.open(part) {
            Ok(reader) => Ok(Box::new(Received::new(reader, name, self.budget))),
            Err(source) => Err(Error::Origin { name, source }),
        }
    }

    /// Prepares to open `parts` one after another.
    pub(crate) fn prepare(&self, parts: &[Part<'_>]) {
        if let Place::Origin(origin) = &self.place {
            origin.prepare(parts);
        }
    }

    /// Returns how many files can be read at the same time with the memory for one decompressor.
    pub(crate) fn max_readers(&self) -> usize {
        match &self.place {
            // Each reader decompresses the archive from its beginning, with a window of its own.
            Place::Archive(archive) if archive.is_compressed => 1,
            Place::Directory(_) | Place::Archive(_) => limit::TRANSFERS,
            Place::Origin(origin) => origin.max_readers(),
        }
    }

    /// Reads the whole file `name`.
    pub(crate) fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let bytes = read_at_most(self.open(name)?, limit)
            .map_err(|source| Error::Read { name: excerpt::shorten(name), source })?;
        bytes.ok_or_else(|| Error::TooLarge { name: excerpt::shorten(name), limit })
    }
}

/// A tar file, and the positions of its files.
struct Archive {
    file: Input,
    is_compressed: bool,
    files: HashMap<Path, Item>,
    /// The names that occur more than once, or are those of links.
    ambiguous: HashSet<Path>,
}

enum Item {
    /// A range of the decompressed stream.
    Range { offset: u64, size: u64 },
    /// The content of a small file of a compressed archive.
    Content(Vec<u8>),
    /// A link to another file. `docker save` writes a layer that occurs twice only once.
    Link(Path),
}

impl Archive {
    fn open(path: &FilePath, budget: &Budget) -> Result<Self, Error> {
        let file = input::open(path)
            .map_err(|source| Error::Open { path: path.to_owned(), source })?
            .ok_or_else(|| Error::NotAFile { path: path.to_owned() })?;
        budget.add_input("", file.stored);
        let broken = |source| Error::Archive { path: path.to_owned(), source };
        let bytes = || Metered::new(file.bytes(0, file.size), budget);
        let mut plain = decompress(bytes(), budget).map_err(broken)?;
        let start = tar_reader::start(&mut plain.reader).map_err(broken)?;
        if !tar_reader::is_tar(&start) {
            return Err(Error::NotAnArchive { path: path.to_owned() });
        }
        let is_compressed = plain.was_compressed;
        let mut index = Index { is_compressed, ..Index::default() };
        let result = if is_compressed {
            let reader = BufReader::with_capacity(1 << 16, start.as_slice().chain(plain.reader));
            tar_reader::each_within(reader, budget, |entry| index.add(entry, budget))
        } else {
            tar_reader::each_seeking(bytes(), budget, |entry| index.add(entry, budget))
        };
        result.map_err(|fault| match fault {
            Fault::Io(source) => broken(source),
            Fault::Ambiguous(name) => Error::Ambiguous { name },
            Fault::Path(name) => Error::Path { name },
            Fault::Inside { name, link } => Error::Inside { name, link },
        })?;
        let Index { files, ambiguous, .. } = index;
        Ok(Self { file, is_compressed, files, ambiguous })
    }

    fn find(&self, name: &str) -> Option<&Item> {
        let item = self.files.get(&path::normalize(name.as_bytes())?)?;
        match item {
            // Like containers/image, follow only one link, so that a loop is impossible.
            Item::Link(target) => {
                self.files.get(target).filter(|item| !matches!(item, Item::Link(_)))
            }
            item => Some(item),
        }
    }

    fn stream<'s>(&'s self, name: &str, budget: &'s Budget) -> Result<Box<dyn Read + 's>, Error> {
        let read = |source| Error::Read { name: excerpt::shorten(name), source };
        let (offset, size) = match self.find(name) {
            Some(Item::Range { offset, size }) => (*offset, *size),
            Some(Item::Content(bytes)) => {
                return Ok(Box::new(Metered::new(bytes.as_slice(), budget)));
            }
            _ => return Err(Error::Missing { name: excerpt::shorten(name) }),
        };
        if self.is_compressed {
            let bytes = Metered::new(self.file.bytes(0, self.file.size), budget);
            let mut plain = decompress(bytes, budget).map_err(read)?.reader;
            io::copy(&mut plain.by_ref().take(offset), &mut io::sink()).map_err(read)?;
            return Ok(Box::new(plain.take(size)));
        }
        Ok(Box::new(Metered::new(self.file.bytes(offset, size), budget)))
    }
}

enum Fault {
    Io(io::Error),
    Ambiguous(String),
    Path(String),
    Inside { name: String, link: String },
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

#[derive(Default)]
struct Index {
    files: HashMap<Path, Item>,
    ambiguous: HashSet<Path>,
    is_compressed: bool,
    links: Links,
    /// The size of the files that are kept, in bytes.
    kept: u64,
}

impl Index {
    fn add<R: Read>(&mut self, entry: &mut Entry<'_, R>, budget: &Budget) -> Result<(), Fault> {
        if let Some(long) = entry.long_path() {
            return Err(Fault::Path(path::display(long)));
        }
        // Files outside the archive, or with too long names, cannot be requested.
        let Some(path) = path::normalize(&entry.path) else { return Ok(()) };
        if let Some(inside) = self.links.add(&path, entry, None, budget, |_| true)? {
            let [name, link] = [&inside.path, &inside.link].map(|path| path::display(path));
            return Err(Fault::Inside { name, link });
        }
        if path.len() > limit::NAME {
            return Ok(());
        }
        let target = match entry.kind {
            Kind::File if !entry.path.ends_with(b"/") => None,
            Kind::Symlink => {
                let directory = path::parent(&path).unwrap_or_default();
                Some(path::normalize(&path::join(directory, &entry.link)))
            }
            Kind::HardLink => Some(path::normalize(&entry.link)),
            _ => return Ok(()),
        };
        let item = match target {
            None => self.item(entry, budget)?,
            Some(Some(target)) if target.len() <= limit::NAME => {
                budget.count_name(&target)?;
                Item::Link(target)
            }
            Some(_) => return Ok(()),
        };
        if self.files.len() >= limit::FILES {
            return Err(io::Error::other("the archive contains too many files").into());
        }
        budget.count_name(&path)?;
        let is_link = matches!(item, Item::Link(_));
        match self.files.insert(path.clone(), item) {
            None if !is_link => Ok(()),
            _ if SINGLE.contains(&path.as_slice()) => Err(Fault::Ambiguous(path::display(&path))),
            _ => {
                budget.count_name(&path)?;
                self.ambiguous.insert(path);
                Ok(())
            }
        }
    }

    fn item<R: Read>(&mut self, entry: &mut Entry<'_, R>, budget: &Budget) -> io::Result<Item> {
        let size = entry.size;
        if !self.is_compressed || size > budget.limits.json || self.kept + size > limit::KEPT {
            return Ok(Item::Range { offset: entry.offset, size });
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        self.kept += bytes.len() as u64;
        Ok(Item::Content(bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::write::GzEncoder;

    use super::*;
    use crate::build::{Image, write};
    use crate::{Limits, Platform};

    #[test]
    fn a_compressed_archive_has_one_reader_and_others_have_several() {
        let directory = tempfile::tempdir().unwrap();
        let [plain, compressed] = ["plain", "compressed"].map(|name| directory.path().join(name));
        let output = format!("oci-archive:{}", plain.display()).parse().unwrap();
        write(&Image::from_scratch(Platform::host()), &output).unwrap();
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(&std::fs::read(&plain).unwrap()).unwrap();
        std::fs::write(&compressed, encoder.finish().unwrap()).unwrap();
        let budget = Budget::new(Limits::default());
        let readers = |path: &FilePath| Store::archive(path, &budget).unwrap().max_readers();
        assert_eq!((readers(&compressed), readers(&plain)), (1, limit::TRANSFERS));
        let directory = Store::directory(directory.path(), &budget).unwrap();
        assert_eq!(directory.max_readers(), limit::TRANSFERS);
    }
}
