//! Reads the files of a folder within limits.

use std::fs;
use std::io::{self, Read};

use rustix::fs::{Dir, FileType, OFlags};
use unlade_bundle::{Directory, File, Limits};

use super::beneath::Folder;
use super::{Error, Kind};

/// How many files and bytes of a bundle may still be read.
#[derive(Debug)]
pub(super) struct Budget<'a> {
    limits: &'a Limits,
    files: usize,
    bytes: usize,
}

impl<'a> Budget<'a> {
    pub(super) fn new(limits: &'a Limits) -> Self {
        Self { limits, files: limits.files, bytes: limits.total_size }
    }

    /// Returns the budget that remains after `files` were read within the same limits.
    pub(super) fn after(limits: &'a Limits, files: &[File]) -> Self {
        let bytes: usize = files.iter().map(|file| file.bytes.len()).sum();
        Self {
            limits,
            files: limits.files.saturating_sub(files.len()),
            bytes: limits.total_size.saturating_sub(bytes),
        }
    }
}

/// Reads all files of `folder`, sorted by name.
pub(super) fn read_all(
    folder: &Folder,
    directory: Directory,
    budget: &mut Budget<'_>,
) -> Result<Vec<File>, Error> {
    let mut names = list_names(folder, budget)?;
    names.sort_unstable();
    names.into_iter().map(|name| read_file(folder, directory, &name, budget)).collect()
}

/// Reads the file `name` of `folder`.
pub(super) fn read_file(
    folder: &Folder,
    directory: Directory,
    name: &str,
    budget: &mut Budget<'_>,
) -> Result<File, Error> {
    let bytes = read_bytes(folder, name, budget)?;
    Ok(File { directory, name: name.to_owned(), bytes })
}

fn list_names(folder: &Folder, budget: &mut Budget<'_>) -> Result<Vec<String>, Error> {
    let failed = |errno| folder.system_error("", errno);
    let mut names = Vec::new();
    // `Dir::read_from` would open `.`, which needs the permission to enter the folder.
    let fd = rustix::io::fcntl_dupfd_cloexec(folder, 0).map_err(failed)?;
    for entry in Dir::new(fd).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        budget.files = budget.files.checked_sub(1).ok_or_else(|| Error::Files {
            directory: folder.name().to_owned(),
            limit: budget.limits.files,
        })?;
        names.push(name.to_str().map(str::to_owned).map_err(|_| Error::Name {
            directory: folder.name().to_owned(),
            name: name.to_bytes().escape_ascii().to_string(),
        })?);
    }
    Ok(names)
}

/// Reads the bytes of the regular file `name`.
fn read_bytes(folder: &Folder, name: &str, budget: &mut Budget<'_>) -> Result<Vec<u8>, Error> {
    let place = folder.place(name)?;
    let path = folder.path_of(name);
    match FileType::from_raw_mode(place.stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Error::NestedDirectory { path }),
        other => return Err(Error::Special { path, kind: kind(other) }),
    }
    let file = fs::File::from(folder.open(name, &place, OFlags::empty())?);
    let max = budget.bytes.min(budget.limits.file_size);
    let bytes =
        read_at_most(file, max).map_err(|source| Error::System { path: path.clone(), source })?;
    let Some(bytes) = bytes else {
        return Err(if max < budget.limits.file_size {
            Error::TotalSize { path, limit: budget.limits.total_size }
        } else {
            Error::FileSize { path, limit: budget.limits.file_size }
        });
    };
    budget.bytes -= bytes.len();
    Ok(bytes)
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

fn kind(file_type: FileType) -> Kind {
    match file_type {
        FileType::BlockDevice | FileType::CharacterDevice => Kind::Device,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        _ => Kind::Unknown,
    }
}
