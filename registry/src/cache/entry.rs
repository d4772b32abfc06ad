//! [`Entry`]: a blob in a cache, and how blobs are found.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Error;

/// The directory with the blobs of a repository. No part of a repository begins with an underscore.
pub(super) const BLOBS: &str = "_blobs";
/// The directory for blobs whose manifests came from a registry with a trusted certificate.
pub(super) const SECURE: &str = "tls";
/// The directory for all other blobs.
pub(super) const INSECURE: &str = "insecure";
/// The prefix of the names of temporary files.
pub(super) const TEMPORARY: &str = ".new-";
/// The maximum depth of a cache: the registry, and the parts of the longest repository.
const DEPTH: usize = 140;

/// A blob in a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The repository that it belongs to, with its registry.
    pub repository: String,
    /// Its digest.
    pub digest: String,
    /// Its size, in bytes.
    pub size: u64,
    /// When it was last used.
    pub used: SystemTime,
    /// The file.
    pub path: PathBuf,
    /// Whether a process is writing the file, or was killed while it did.
    pub(super) is_temporary: bool,
}

/// Lists all blobs and temporary files, the least recently used ones first.
/// Other files are ignored.
pub(super) fn list(directory: &Path) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::new();
    for trust in [SECURE, INSECURE] {
        let root = directory.join(trust);
        let mut directories = vec![(root.clone(), 0)];
        while let Some((directory, depth)) = directories.pop() {
            for (path, is_directory) in children(&directory)? {
                if !is_directory {
                    continue;
                }
                if path.ends_with(BLOBS) {
                    add(&root, &directory, &path, &mut entries)?;
                } else if depth < DEPTH {
                    directories.push((path, depth + 1));
                }
            }
        }
    }
    entries.sort_by(|one, other| (one.used, &one.path).cmp(&(other.used, &other.path)));
    Ok(entries)
}

/// Adds the blobs of a repository.
fn add(
    root: &Path,
    repository: &Path,
    blobs: &Path,
    entries: &mut Vec<Entry>,
) -> Result<(), Error> {
    let repository = repository.strip_prefix(root).unwrap_or(repository).display().to_string();
    for (path, _) in children(blobs)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_temporary = name.starts_with(TEMPORARY);
        let digest = name.replacen('-', ":", 1);
        // Another process may have deleted or renamed it.
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if !metadata.is_file() || !(is_temporary || digest.parse::<unlade_oci::Digest>().is_ok()) {
            continue;
        }
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let (repository, size) = (repository.clone(), metadata.len());
        entries.push(Entry { repository, digest, size, used, path, is_temporary });
    }
    Ok(())
}

/// Returns the files and directories in a directory, and whether they are directories. A directory
/// that does not exist is empty. Links are not followed.
fn children(directory: &Path) -> Result<Vec<(PathBuf, bool)>, Error> {
    let fails = |source| Error { path: directory.to_owned(), source };
    let read = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(fails)?,
    };
    let child = |entry: io::Result<fs::DirEntry>| {
        let entry = entry.map_err(fails)?;
        Ok((entry.path(), entry.file_type().is_ok_and(|kind| kind.is_dir())))
    };
    read.map(child).collect()
}
