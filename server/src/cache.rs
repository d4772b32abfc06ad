//! [`Cache`]: a file that makes parsing a catalog unnecessary.
//!
//! | part | bytes |
//! |---|---|
//! | the texts, one after another | any |
//! | the [`Records`] as JSON | any |
//! | the [`Trailer`] | 56 |
//! | the SHA-256 of everything before it | 32 |

use std::fmt;
use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};
use unlade_catalog::MAX_OBJECTS;

use crate::content::{Content, Span};
use crate::index::{Bundle, Csv, Index, Records};

/// The name of the file. Its version changes with the format.
const FILE: &str = "unlade.v1";
/// The name of the file while it is written.
const PARTIAL: &str = "unlade.v1.partial";
/// Identifies a file in this format.
const MAGIC: &[u8; 16] = b"unlade cache v1\n";
/// The length of a SHA-256, in bytes.
const HASH: usize = 32;
/// The length of the [`Trailer`], in bytes.
const TRAILER: usize = MAGIC.len() + size_of::<u64>() + HASH;
/// The maximum size of the file, in bytes.
const MAX_FILE: u64 = 8 << 30;
/// The maximum size of the JSON, in bytes.
const MAX_RECORDS: u64 = 64 << 20;
/// The maximum size of any other text, in bytes.
const MAX_TEXT: usize = 64 << 20;
/// The version of the interpretation of catalogs. Increase it if the same catalog leads to other
/// responses.
const MEANING: u32 = 1;

/// The state of the cache of a catalog after loading.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CacheState {
    /// The server has no cache.
    Disabled,
    /// The catalog was not parsed.
    Used,
    /// The catalog was parsed, and the cache was written.
    Written {
        /// The reason why there was no usable cache.
        reason: String,
    },
    /// The catalog was parsed, and the cache could not be written.
    Unusable {
        /// The reason why there was no usable cache.
        reason: String,
        /// The reason why the cache could not be written.
        failure: String,
    },
}

/// The reason why a cache is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    #[error("it does not exist")]
    Missing,
    #[error("failed to read it")]
    Read(#[source] io::Error),
    #[error("it is not a complete cache of this version of unlade")]
    Format,
    #[error("it is damaged")]
    Damaged,
    #[error("it belongs to another catalog or to another version of unlade")]
    OtherCatalog,
    #[error("it has a text that is too large or incomplete")]
    Text,
    #[error("its records are invalid")]
    Records(#[from] serde_json::Error),
}

/// What follows the records, without the SHA-256 of the file.
///
/// | part | bytes |
/// |---|---|
/// | [`MAGIC`] | 16 |
/// | the length of the texts, little-endian | 8 |
/// | the [identity](identify) of the catalog | 32 |
#[derive(Debug, PartialEq, Eq)]
struct Trailer {
    /// The length of the texts, in bytes.
    texts: u64,
    /// The [identity](identify) of the catalog.
    catalog: [u8; HASH],
}

impl Trailer {
    fn to_bytes(&self) -> [u8; TRAILER] {
        let mut bytes = [0; TRAILER];
        let texts = self.texts.to_le_bytes();
        let parts = MAGIC.iter().chain(&texts).chain(&self.catalog);
        bytes.iter_mut().zip(parts).for_each(|(to, from)| *to = *from);
        bytes
    }

    /// Returns `None` if the file is not in this format.
    fn from_bytes(bytes: &[u8; TRAILER]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk()?;
        let (texts, rest) = rest.split_first_chunk()?;
        let (catalog, _) = rest.split_first_chunk()?;
        let texts = u64::from_le_bytes(*texts);
        (magic == MAGIC).then_some(Self { texts, catalog: *catalog })
    }
}

/// The cache of a catalog in a directory.
#[derive(Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
}

impl fmt::Display for CacheState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disabled => formatter.write_str("disabled"),
            Self::Used => formatter.write_str("used"),
            Self::Written { .. } => formatter.write_str("written"),
            Self::Unusable { .. } => formatter.write_str("unusable"),
        }
    }
}

impl From<io::Error> for Unfit {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::Missing,
            _ => Self::Read(error),
        }
    }
}

impl Cache {
    pub(crate) fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads the cache of the catalog with the [identity](identify) `catalog`.
    pub(crate) fn open(&self, catalog: &[u8; 32]) -> Result<Index, Unfit> {
        let file = open(&self.directory.join(FILE), OFlags::RDONLY)?;
        let len = file.metadata()?.len();
        let end = len.checked_sub((TRAILER + HASH) as u64).filter(|_| len <= MAX_FILE);
        let end = end.ok_or(Unfit::Format)?;
        let (mut trailer, mut digest) = ([0; TRAILER], [0; HASH]);
        file.read_exact_at(&mut trailer, end)?;
        let hashed = end + TRAILER as u64;
        file.read_exact_at(&mut digest, hashed)?;
        let trailer = Trailer::from_bytes(&trailer).ok_or(Unfit::Format)?;
        let texts = trailer.texts;
        let n_records = end.checked_sub(texts).filter(|n| *n <= MAX_RECORDS);
        let n_records = n_records.ok_or(Unfit::Format)?;
        if trailer.catalog != *catalog {
            return Err(Unfit::OtherCatalog);
        }
        if hash(&file, hashed)? != digest {
            return Err(Unfit::Damaged);
        }
        let mut json = vec![0; usize::try_from(n_records).map_err(|_| Unfit::Format)?];
        file.read_exact_at(&mut json, texts)?;
        let records: Records = serde_json::from_slice(&json)?;
        // The digest detects accidental damage. It does not show who wrote the file.
        if !has_valid_texts(&records, texts) {
            return Err(Unfit::Text);
        }
        Ok(Index::new(records, Content::new(file, texts)))
    }

    /// Creates the file of a new cache. This does not affect another process that is writing a
    /// cache, or that serves from the one that it wrote.
    pub(crate) fn create(&self) -> io::Result<File> {
        fs::create_dir_all(&self.directory)?;
        let path = self.directory.join(PARTIAL);
        let file = open(&path, OFlags::RDWR | OFlags::CREATE)?;
        file.try_lock().map_err(|error| match error {
            fs::TryLockError::WouldBlock => busy(),
            fs::TryLockError::Error(error) => error,
        })?;
        // The file may have become the cache before it was locked.
        self.check_name(&file)?;
        // A process that was killed has left a part of a cache.
        file.set_len(0)?;
        Ok(file)
    }

    /// Completes the cache, whose texts [`create`](Self::create) has received, and replaces an
    /// older one.
    pub(crate) fn commit(&self, index: &Index, catalog: &[u8; 32]) -> io::Result<()> {
        let written = self.complete(index, catalog);
        written.inspect_err(|_| _ = self.discard(index.content.file().0))
    }

    fn complete(&self, index: &Index, catalog: &[u8; 32]) -> io::Result<()> {
        let (mut file, texts) = index.content.file();
        if !has_valid_texts(&index.records, texts) {
            return Err(io::Error::other("a text is too large for a cache"));
        }
        let mut writer = io::BufWriter::new(file);
        serde_json::to_writer(&mut writer, &index.records)?;
        writer.flush()?;
        let end = file.metadata()?.len();
        if end.saturating_sub(texts) > MAX_RECORDS || end + (TRAILER + HASH) as u64 > MAX_FILE {
            return Err(io::Error::other("the catalog is too large for a cache"));
        }
        writer.write_all(&Trailer { texts, catalog: *catalog }.to_bytes())?;
        writer.flush()?;
        drop(writer);
        let len = file.metadata()?.len();
        file.write_all(&hash(file, len)?)?;
        // The user who builds an image is often not the user who reads the cache.
        file.set_permissions(Permissions::from_mode(0o644))?;
        self.check_name(file)?;
        fs::rename(self.directory.join(PARTIAL), self.directory.join(FILE))
    }

    /// Removes the file that [`create`](Self::create) has made. A process that has it open can
    /// still read it. `file` is that file: its lock keeps other writers out until it is removed.
    pub(crate) fn discard(&self, file: &File) -> io::Result<()> {
        self.check_name(file)?;
        fs::remove_file(self.directory.join(PARTIAL))
    }

    /// Checks that the unfinished cache is `file`, and that it has no other name.
    fn check_name(&self, file: &File) -> io::Result<()> {
        let (own, named) = (file.metadata()?, fs::symlink_metadata(self.directory.join(PARTIAL))?);
        if (own.dev(), own.ino()) != (named.dev(), named.ino()) || own.nlink() != 1 {
            return Err(busy());
        }
        Ok(())
    }
}

/// Returns what identifies a catalog in a cache: its digest, and the version of this program,
/// because another one may read the same catalog in another way.
pub(crate) fn identify(digest: [u8; 32]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(digest);
    hash.update(MEANING.to_le_bytes());
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.finalize().into()
}

/// Checks that each text is one of the `len` bytes of all texts, and that no response can be much
/// larger than those for a catalog that was parsed.
fn has_valid_texts(records: &Records, len: u64) -> bool {
    let is_valid = |span: &Span| span.is_within(len) && span.len() <= MAX_TEXT;
    let others = records.others.values().flat_map(|packages| packages.values()).flatten();
    let packages = records.packages.values();
    let mut texts = packages.flat_map(|it| [&it.description, &it.icon]).chain(others);
    texts.all(is_valid)
        && records.bundles.iter().all(|bundle| {
            let mut size = 0_usize;
            is_valid(&bundle.summary)
                && objects(bundle).all(|span| {
                    size = size.saturating_add(span.len());
                    span.is_within(len) && size <= MAX_OBJECTS
                })
        })
}

/// Returns the objects and the ClusterServiceVersion of a bundle.
fn objects(bundle: &Bundle) -> impl Iterator<Item = Span> {
    let csv = match bundle.csv {
        Csv::Synthesized { before, between, after, .. } => [before, between, after],
        Csv::None | Csv::Object(_) => [Span::default(); 3],
    };
    bundle.objects.iter().copied().chain(csv)
}

fn busy() -> io::Error {
    io::Error::other("another process is writing a cache")
}

/// Opens a regular file. A link is refused, because a directory with a cache may come from others.
fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(file)
}

/// Computes the SHA-256 of the first `len` bytes.
fn hash(file: &File, len: u64) -> io::Result<[u8; 32]> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 18]);
    let mut at = 0;
    while at < len {
        let wanted = buffer.len().min(usize::try_from(len - at).unwrap_or(usize::MAX));
        let Some(part) = buffer.get_mut(..wanted) else { break };
        file.read_exact_at(part, at)?;
        hash.update(&*part);
        at += wanted as u64;
    }
    Ok(hash.finalize().into())
}
