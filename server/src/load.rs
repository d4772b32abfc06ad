//! Loads a catalog: from its cache if that fits, or from its files.

use std::fs::File;
use std::io;
use std::path::{self, Path, PathBuf};

use rustix::fs::MemfdFlags;
use unlade_catalog::{Problem, Severity, TooLarge};
use unlade_catalog_directory as directory;

use crate::cache::{self, Cache, CacheState};
use crate::index::Index;
use crate::server::Options;

mod parse;

/// The reason why a catalog cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The catalog cannot be read.
    #[error("failed to read the catalog")]
    Read(#[from] directory::Error),
    /// The catalog is invalid.
    #[error("the catalog is invalid: {}", .problems.first().map(ToString::to_string).unwrap_or_default())]
    Invalid {
        /// The errors. Not empty.
        problems: Vec<Problem>,
    },
    /// A bundle is too large.
    #[error("failed to read the catalog")]
    TooLarge(#[from] TooLarge),
    /// The texts of the catalog cannot be written to any place.
    #[error("failed to store the content of the catalog")]
    Write(#[source] io::Error),
}

/// A place for the texts of a catalog.
#[derive(Debug)]
pub(crate) enum TextPlace<'o> {
    Cache(&'o Cache),
    Temporary(&'o Path),
    Memory,
}

impl TextPlace<'_> {
    /// Creates an empty file.
    fn create(&self) -> io::Result<File> {
        match self {
            Self::Cache(cache) => cache.create(),
            Self::Temporary(dir) => tempfile::tempfile_in(dir),
            Self::Memory => Ok(rustix::fs::memfd_create("texts", MemfdFlags::CLOEXEC)?.into()),
        }
    }

    /// Removes the file that [`create`](Self::create) has made. Only that of a cache has a name.
    fn discard(&self, file: &File) {
        if let Self::Cache(cache) = self {
            // The next writer replaces a file that is left.
            _ = cache.discard(file);
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Cache(cache) => cache.directory().to_owned(),
            Self::Temporary(dir) => (*dir).to_owned(),
            Self::Memory => "memory".into(),
        }
    }
}

/// A catalog that can be served.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) index: Index,
    pub(crate) cache: CacheState,
    /// The digest of the catalog before it was read, if it was computed.
    pub(crate) digest: Option<[u8; 32]>,
}

/// Loads the catalog at `path`. A cache that does not match the catalog or cannot be written is not
/// an error.
pub(crate) fn load(path: &Path, options: &Options) -> Result<Loaded, Error> {
    let digest = || directory::digest(path, &options.limits);
    let without_cache = |cache| {
        let places = [TextPlace::Temporary(&options.temporary), TextPlace::Memory];
        // If the catalog cannot be read, the parser says why.
        let digest = if options.digest { digest().ok() } else { None };
        Ok(Loaded { index: parse_into(path, &places, options)?.0, cache, digest })
    };
    let Some(dir) = &options.cache else { return without_cache(CacheState::Disabled) };
    if is_inside(dir, path) {
        // The cache would change the catalog, and would be a part of it.
        let failure = "the directory of the cache is inside the catalog".to_owned();
        let reason = "it would be a part of the catalog".to_owned();
        return without_cache(CacheState::Unusable { reason, failure });
    }
    let cache = Cache::new(dir);
    let before = match digest() {
        Ok(digest) => digest,
        // If the catalog cannot be read, the parser says why, with the line.
        Err(error) => {
            let reason = "the catalog has no digest".to_owned();
            let failure = unlade_text::chain(&error);
            return without_cache(CacheState::Unusable { reason, failure });
        }
    };
    let identity = cache::identify(before);
    let reason = match cache.open(&identity) {
        Ok(index) => {
            return Ok(Loaded { index, cache: CacheState::Used, digest: Some(before) });
        }
        Err(reason) => unlade_text::chain(&reason),
    };
    let temporary =
        [TextPlace::Temporary(dir), TextPlace::Temporary(&options.temporary), TextPlace::Memory];
    let places: Vec<_> = [TextPlace::Cache(&cache)].into_iter().chain(temporary).collect();
    let (index, failure) = parse_into(path, &places, options)?;
    if let Some(failure) = failure {
        let cache = CacheState::Unusable { reason, failure };
        return Ok(Loaded { index, cache, digest: Some(before) });
    }
    // A catalog that changes while it is read must not be taken for the one whose digest is known.
    let is_unchanged = digest().is_ok_and(|after| after == before);
    let written = if is_unchanged {
        cache.commit(&index, &identity)
    } else {
        // The next writer replaces a file that is left.
        _ = cache.discard(index.content.file().0);
        Err(io::Error::other("the catalog was changed while it was read"))
    };
    let cache = match written {
        Ok(()) => CacheState::Written { reason },
        Err(error) => CacheState::Unusable { reason, failure: error.to_string() },
    };
    Ok(Loaded { index, cache, digest: is_unchanged.then_some(before) })
}

/// Checks whether `dir`, which may not exist yet, is `catalog` or inside it.
fn is_inside(dir: &Path, catalog: &Path) -> bool {
    let (Ok(dir), Ok(catalog)) = (path::absolute(dir), catalog.canonicalize()) else {
        return false;
    };
    let existing = dir.ancestors().find_map(|dir| dir.canonicalize().ok());
    existing.is_some_and(|dir| dir.starts_with(catalog))
}

/// Reads the catalog, and writes its texts to the first place with room.
fn parse_into(
    path: &Path,
    places: &[TextPlace<'_>],
    options: &Options,
) -> Result<(Index, Option<String>), Error> {
    write_to(places, |file| parse::parse(path, file, &options.limits))
}

/// Returns an error if one of the problems is an error.
pub(crate) fn check(mut problems: Vec<Problem>) -> Result<(), Error> {
    problems.retain(|problem| problem.severity == Severity::Error);
    if problems.is_empty() { Ok(()) } else { Err(Error::Invalid { problems }) }
}

/// Calls `write` with an empty file in the first place with room. The result has the reason why it
/// is not the first place.
pub(crate) fn write_to<T>(
    places: &[TextPlace<'_>],
    write: impl Fn(File) -> Result<T, Error>,
) -> Result<(T, Option<String>), Error> {
    let (mut first, mut last) = (None, io::Error::from(io::ErrorKind::NotFound));
    for place in places {
        let created = place.create().and_then(|file| Ok((file.try_clone()?, file)));
        let error = match created {
            // The second handle keeps the lock of the file until its name is removed.
            Ok((locked, file)) => match write(file) {
                Ok(written) => return Ok((written, first)),
                Err(error) => {
                    place.discard(&locked);
                    match error {
                        Error::Write(error) => error,
                        error => return Err(error),
                    }
                }
            },
            Err(error) => error,
        };
        let message = format!("failed to write texts to {}: {error}", place.path().display());
        tracing::warn!("{}", unlade_text::line(&message));
        first.get_or_insert_with(|| error.to_string());
        last = error;
    }
    Err(Error::Write(last))
}
