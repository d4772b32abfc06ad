//! [`Cache`]: blobs of registries on disk, by their digests.
//!
//! Only configurations and layers are stored. The manifest of an image is requested from the
//! registry each time, with the credentials of the user, so a tag is never resolved from the cache,
//! and a blob is used only if the registry has just given the user a manifest of the same
//! repository.

mod entry;

use std::fs::{self, File, FileTimes};
use std::io::{self, Read, Seek as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tempfile::{Builder, NamedTempFile};
use unlade_name::ImageReference;
use unlade_oci::{Digest, digest};
use unlade_text::chain;

pub use entry::Entry;
use entry::{TEMPORARY, list};

/// The part of the cache that one blob may fill: a larger blob would displace many others.
const SHARE: u64 = 4;
/// The age from which a temporary file belongs to a process that was killed.
const STALE: Duration = Duration::from_hours(1);

/// A directory with blobs of registries. Clones share their counts.
///
/// A blob belongs to the repository from which it was read. Several processes can use the directory
/// at the same time: a blob appears when it is complete, and its digest is verified each time. If
/// the blobs exceed the limit, the least recently used ones are deleted.
#[derive(Debug, Clone)]
pub struct Cache(Arc<Shared>);

struct Shared {
    directory: PathBuf,
    limit: u64,
    /// The size of all blobs, in bytes; `None` before it is known.
    size: Mutex<Option<u64>>,
    report: Box<dyn Fn(&str) + Send + Sync>,
    is_reported: AtomicBool,
}

/// An error of a cache. Commands that read images go on without the cache.
#[derive(Debug, thiserror::Error)]
#[error("failed to use the cache {}", path.display())]
pub struct Error {
    /// The file or directory.
    path: PathBuf,
    source: io::Error,
}

/// The result of [`Cache::prune`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// The number of blobs that were deleted.
    pub blobs: usize,
    /// Their size, in bytes.
    pub size: u64,
}

/// The place of a repository's blobs in a cache.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    cache: Cache,
    directory: PathBuf,
}

impl Cache {
    /// Uses a directory, which is created when the first blob is stored. The blobs have at most
    /// `limit` bytes in all, not counting those that are being written. `report` gets the first
    /// problem, such as a full disk, and no later one. No problem prevents an image from being
    /// read.
    pub fn new(
        directory: impl Into<PathBuf>,
        limit: u64,
        report: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            directory: directory.into(),
            limit,
            size: Mutex::new(None),
            report: Box::new(report),
            is_reported: AtomicBool::new(false),
        }))
    }

    /// Lists the blobs, the least recently used ones first.
    ///
    /// # Errors
    ///
    /// Returns an error if a directory cannot be read. A cache that does not exist is empty.
    pub fn list(&self) -> Result<Vec<Entry>, Error> {
        let mut entries = list(&self.0.directory)?;
        entries.retain(|entry| !entry.is_temporary);
        Ok(entries)
    }

    /// Deletes the least recently used blobs, until the others have at most `keep` bytes in total.
    ///
    /// # Errors
    ///
    /// Returns an error if a directory cannot be read, or a blob cannot be deleted.
    pub fn prune(&self, keep: u64) -> Result<Pruned, Error> {
        let entries = list(&self.0.directory)?;
        let mut left = total(&entries);
        let mut pruned = Pruned::default();
        let now = SystemTime::now();
        for entry in entries {
            let age = now.duration_since(entry.used).unwrap_or_default();
            // Another process may be writing a new temporary file.
            let is_unwanted = if entry.is_temporary { age >= STALE } else { left > keep };
            if is_unwanted {
                match fs::remove_file(&entry.path) {
                    // Another process was faster.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(source) => return Err(Error { path: entry.path, source }),
                    Ok(()) if entry.is_temporary => {}
                    Ok(()) => {
                        pruned.blobs += 1;
                        pruned.size += entry.size;
                    }
                }
                if !entry.is_temporary {
                    left = left.saturating_sub(entry.size);
                }
            }
        }
        Ok(pruned)
    }

    /// Returns the place for the blobs of a repository. Blobs that were read without TLS are
    /// separate, because anyone could have sent the manifest that names them.
    pub(crate) fn repository(&self, image: &ImageReference, is_insecure: bool) -> Repository {
        let trust = if is_insecure { entry::INSECURE } else { entry::SECURE };
        // Neither the registry nor a repository has a part that begins with a dot or an underscore.
        let directory = self.0.directory.join(trust).join(image.registry());
        let directory = directory.join(image.repository()).join(entry::BLOBS);
        Repository { cache: self.clone(), directory }
    }

    /// Reports the first problem.
    fn note(&self, error: &Error) {
        if !self.0.is_reported.swap(true, Ordering::Relaxed) {
            (self.0.report)(&chain(error));
        }
    }

    /// Counts a new blob, and deletes others if the blobs are too large.
    fn count(&self, more: u64) -> Result<(), Error> {
        let mut size = self.0.size.lock().unwrap_or_else(PoisonError::into_inner);
        let total = match *size {
            Some(total) => total.saturating_add(more),
            None => total(&list(&self.0.directory)?),
        };
        *size = Some(total);
        if total > self.0.limit {
            // Delete slightly more than necessary, so that not every new blob requires listing the
            // directory.
            let keep = self.0.limit - self.0.limit / 10;
            self.prune(keep)?;
            *size = None;
        }
        Ok(())
    }
}

impl Repository {
    /// Opens a blob that the cache has, after its digest was verified.
    pub(crate) fn open(&self, digest: &Digest, size: u64) -> Option<File> {
        let path = self.path(digest);
        match open_intact(&path, digest, size) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => {
                self.cache.note(&Error { path, source });
                None
            }
        }
    }

    /// Checks whether the cache has a blob, which can be damaged.
    pub(crate) fn has(&self, digest: &Digest, size: u64) -> bool {
        let found = fs::symlink_metadata(self.path(digest));
        found.is_ok_and(|found| found.is_file() && found.len() == size)
    }

    /// Checks whether a blob can be stored, and reports the problem if not.
    pub(crate) fn is_usable(&self) -> bool {
        let created = self.create().map_err(|error| self.cache.note(&error));
        created.is_ok() && !self.has_failed()
    }

    /// Checks whether a problem was found, so that blobs may not be stored.
    pub(crate) fn has_failed(&self) -> bool {
        self.cache.0.is_reported.load(Ordering::Relaxed)
    }

    /// Returns the maximum size of a blob in the cache, in bytes.
    pub(crate) fn max_size(&self) -> u64 {
        self.cache.0.limit / SHARE
    }

    /// Stores what `inner` returns, once it is complete.
    pub(crate) fn store<'a>(
        &self,
        digest: &Digest,
        size: u64,
        inner: Box<dyn Read + 'a>,
    ) -> Box<dyn Read + 'a> {
        if size > self.max_size() {
            return inner;
        }
        match self.create() {
            Ok(file) => {
                let (repository, path) = (self.clone(), self.path(digest));
                let file = Some(file);
                Box::new(Storing { inner, repository, path, file, size, count: 0 })
            }
            Err(error) => {
                self.cache.note(&error);
                inner
            }
        }
    }

    fn create(&self) -> Result<NamedTempFile, Error> {
        let fails = |source| Error { path: self.directory.clone(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(fails)?;
        Builder::new().prefix(TEMPORARY).tempfile_in(&self.directory).map_err(fails)
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.directory.join(format!("{}-{}", digest.algorithm(), digest.digest()))
    }
}

/// Returns the size of all blobs, without those that are being written: they cannot be deleted, so
/// they must not displace others.
fn total(entries: &[Entry]) -> u64 {
    entries.iter().filter(|entry| !entry.is_temporary).map(|entry| entry.size).sum()
}

/// Opens a blob whose digest matches. Deletes a damaged one.
fn open_intact(path: &Path, digest: &Digest, size: u64) -> io::Result<Option<File>> {
    let found = fs::symlink_metadata(path)?;
    // Opening a FIFO would block.
    if found.is_file() && found.len() == size {
        let mut file = File::open(path)?;
        if digest::verify(&mut file, digest, size)?.is_ok() {
            file.rewind()?;
            // The time of the last use. Without it, the blob is only deleted earlier.
            _ = file.set_times(FileTimes::new().set_modified(SystemTime::now()));
            return Ok(Some(file));
        }
    }
    // The disk may be damaged.
    fs::remove_file(path)?;
    Ok(None)
}

/// A reader that stores what it reads.
struct Storing<'a> {
    inner: Box<dyn Read + 'a>,
    repository: Repository,
    path: PathBuf,
    /// `None` once the blob is stored, or cannot be stored.
    file: Option<NamedTempFile>,
    size: u64,
    count: u64,
}

impl Storing<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.count += bytes.len() as u64;
        let Some(file) = &mut self.file else { return };
        let written = match bytes {
            // More than announced: the reader of images refuses it.
            _ if self.count > self.size => Err(io::ErrorKind::FileTooLarge.into()),
            bytes => file.write_all(bytes),
        };
        match written {
            Ok(()) if self.count == self.size => self.persist(),
            Ok(()) => {}
            Err(source) => {
                self.file = None;
                if self.count <= self.size {
                    self.repository.cache.note(&Error { path: self.path.clone(), source });
                }
            }
        }
    }

    /// Moves the file to its place. Its digest is verified when it is used.
    fn persist(&mut self) {
        let Some(file) = self.file.take() else { return };
        let moved = file.persist(&self.path).map_err(|error| error.error);
        let moved = moved.map_err(|source| Error { path: self.path.clone(), source });
        if let Err(error) = moved.and_then(|_| self.repository.cache.count(self.size)) {
            self.repository.cache.note(&error);
        }
    }
}

impl Read for Storing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.write(buffer.get(..n).unwrap_or_default());
        Ok(n)
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (directory, limit) = (&self.directory, &self.limit);
        f.debug_struct("Cache")
            .field("directory", directory)
            .field("limit", limit)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
