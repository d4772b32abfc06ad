//! Copies a tree of directories, files and links within limits and without leaving the image.
//!
//! The image of a catalog decides what each path contains. With a link at the mount point, it can
//! make the kubelet mount the token of a service account inside the catalog. So the tree is opened
//! beneath the root, and each entry must be on the same mount as the root, as in
//! [`unlade_directory`].

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{Dir as Listing, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;
use unlade_bundle::source;
use unlade_directory::{CopyError, Dir, Mount, copy_file};

/// The limits of a copy.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    /// The maximum number of files, directories and links.
    entries: usize,
    /// The maximum size of all files, in bytes.
    bytes: u64,
    /// The maximum nesting depth of directories.
    depth: usize,
}

impl Default for Limits {
    /// The largest published catalogs have tens of thousands of files, and about 1 GB with the
    /// cache of `opm`; both limits are more than ten times as large. Directories of a catalog are
    /// nested a few levels deep, and each level needs an open descriptor.
    fn default() -> Self {
        Self { entries: 1_000_000, bytes: 16 << 30, depth: 100 }
    }
}

/// Why a tree was not copied.
#[derive(Debug, thiserror::Error)]
pub(in crate::applet) enum Error {
    #[error("failed to open the parent directory of {}", path.display())]
    Directory { path: PathBuf, source: source::Error },
    #[error("the path {} has no file name, or its parent is not valid UTF-8", .0.display())]
    Path(PathBuf),
    #[error("failed to read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "{} is on a different mount from the root: only files of the image are copied",
        .0.display()
    )]
    Mount(PathBuf),
    #[error("{} changed while it was read", .0.display())]
    Changed(PathBuf),
    #[error("{}: the catalog has more than {limit} entries", path.display())]
    Entries { path: PathBuf, limit: usize },
    #[error("{}: the files of the catalog are larger than {limit} bytes in total", path.display())]
    Bytes { path: PathBuf, limit: u64 },
    #[error("{} is nested in more than {limit} directories", path.display())]
    Depth { path: PathBuf, limit: usize },
}

/// Copies `from`, a path beneath `root`, to `to`, which must not exist yet. Links are copied as
/// links. Devices, FIFOs and sockets are skipped, because catalogs do not need them.
pub(super) fn copy(root: &Path, from: &Path, to: &Path, limits: &Limits) -> Result<(), Error> {
    let failed = |source| Error::Directory { path: from.to_owned(), source };
    let not_a_path = || Error::Path(from.to_owned());
    let root = Dir::open_root(root).map_err(failed)?;
    let beneath = from.strip_prefix("/").unwrap_or(from);
    let name = beneath.file_name().ok_or_else(not_a_path)?;
    let parent = beneath.parent().and_then(Path::to_str).ok_or_else(not_a_path)?;
    // Only the parent is opened, so that `from` itself is copied as a link if it is one.
    let directory = root.open_dir(if parent.is_empty() { "." } else { parent }).map_err(failed)?;
    let mut copier =
        Copier { mount: root.mount(), limits, entries: limits.entries, bytes: limits.bytes };
    let mut open = Vec::new();
    open.extend(copier.copy(directory.as_fd(), name, from.to_owned(), to.to_owned())?);
    // Not recursive, because the image chooses the depth.
    while let Some(level) = open.last_mut() {
        let Some(entry) = level.entries.next() else {
            open.pop();
            continue;
        };
        let failed = |errno: Errno| Error::Read { path: level.from.clone(), source: errno.into() };
        let entry = entry.map_err(failed)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let (from, to) = (level.from.join(name), level.to.join(name));
        let inner = copier.copy(level.entries.fd().map_err(failed)?, name, from, to)?;
        if let Some(inner) = inner {
            if open.len() == limits.depth {
                return Err(Error::Depth { path: inner.from, limit: limits.depth });
            }
            open.push(inner);
        }
    }
    Ok(())
}

/// A directory that is being copied.
struct Level {
    entries: Listing,
    from: PathBuf,
    to: PathBuf,
}

struct Copier<'a> {
    mount: Mount,
    limits: &'a Limits,
    /// How many more entries may be copied.
    entries: usize,
    /// How many more bytes may be copied.
    bytes: u64,
}

impl Copier<'_> {
    /// Copies the entry `name` of `directory`. For a directory, returns its level, whose entries
    /// are not copied yet.
    fn copy(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &OsStr,
        from: PathBuf,
        to: PathBuf,
    ) -> Result<Option<Level>, Error> {
        let Some(left) = self.entries.checked_sub(1) else {
            return Err(Error::Entries { path: from, limit: self.limits.entries });
        };
        self.entries = left;
        let read = |errno: Errno| Error::Read { path: from.clone(), source: errno.into() };
        let write = |source| Error::Write { path: to.clone(), source };
        let nofollow = OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let place =
            openat(directory, name, OFlags::PATH | nofollow, Mode::empty()).map_err(read)?;
        if Mount::from_fd(place.as_fd()).map_err(read)? != self.mount {
            return Err(Error::Mount(from));
        }
        let stat = fstat(&place).map_err(read)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let fd = open(directory, name, OFlags::DIRECTORY, &stat, &from)?;
                fs::create_dir_all(&to).map_err(write)?;
                return Ok(Some(Level { entries: Listing::new(fd).map_err(read)?, from, to }));
            }
            FileType::Symlink => {
                let target = readlinkat(&place, "", Vec::new()).map_err(read)?;
                symlink(OsStr::from_bytes(target.to_bytes()), &to).map_err(write)?;
            }
            FileType::RegularFile => {
                let fd = open(directory, name, OFlags::NONBLOCK, &stat, &from)?;
                self.copy_file(File::from(fd), &stat, from, &to)?;
            }
            _ => {}
        }
        Ok(None)
    }

    fn copy_file(
        &mut self,
        source: File,
        stat: &Stat,
        from: PathBuf,
        to: &Path,
    ) -> Result<(), Error> {
        let too_large = |path| Error::Bytes { path, limit: self.limits.bytes };
        // The size is checked first, so that a sparse file does not fill the disk.
        if u64::try_from(stat.st_size).is_ok_and(|size| size > self.bytes) {
            return Err(too_large(from));
        }
        let mode = stat.st_mode & 0o777;
        let write = |source| Error::Write { path: to.to_owned(), source };
        let mut options = fs::OpenOptions::new();
        let mut copy = options.write(true).create_new(true).mode(mode).open(to).map_err(write)?;
        let mut source = source.take(self.bytes.saturating_add(1));
        let n_copied = copy_file(&mut source, &mut copy).map_err(|error| match error {
            CopyError::Read(source) => Error::Read { path: from.clone(), source },
            CopyError::Write(source) => write(source),
        })?;
        match self.bytes.checked_sub(n_copied) {
            Some(left) => self.bytes = left,
            None => return Err(too_large(from)),
        }
        copy.set_permissions(fs::Permissions::from_mode(mode)).map_err(write)
    }
}

/// Opens the entry `name` for reading, and checks that it is still the one that `stat` describes.
fn open(
    directory: BorrowedFd<'_>,
    name: &OsStr,
    flags: OFlags,
    stat: &Stat,
    path: &Path,
) -> Result<OwnedFd, Error> {
    let failed = |errno: Errno| Error::Read { path: path.to_owned(), source: errno.into() };
    let flags = flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = openat(directory, name, flags, Mode::empty()).map_err(failed)?;
    let opened = fstat(&fd).map_err(failed)?;
    if (opened.st_dev, opened.st_ino) == (stat.st_dev, stat.st_ino) {
        Ok(fd)
    } else {
        Err(Error::Changed(path.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{CWD, mknodat};

    use super::*;

    fn limits() -> Limits {
        Limits { entries: 5, bytes: 10, depth: 2 }
    }

    /// Copies `from` of an image. `add` creates the files in its `configs/`.
    fn copied(from: &str, add: impl FnOnce(&Path)) -> (tempfile::TempDir, Result<(), Error>) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("configs")).unwrap();
        add(&root.path().join("configs"));
        let result = copy(root.path(), Path::new(from), &root.path().join("copy"), &limits());
        (root, result)
    }

    #[test]
    fn the_entry_that_exceeds_a_limit_is_named() {
        let (_root, result) = copied("/configs", |configs| {
            (0..5).for_each(|at| fs::write(configs.join(at.to_string()), "").unwrap());
        });
        assert!(matches!(result, Err(Error::Entries { limit: 5, .. })), "{result:?}");

        let (_root, result) = copied("/configs", |configs| {
            fs::write(configs.join("a"), "123456").unwrap();
            fs::write(configs.join("b"), "12345").unwrap();
        });
        assert!(matches!(result, Err(Error::Bytes { limit: 10, .. })), "{result:?}");

        let (root, result) = copied("/configs", |configs| {
            File::create(configs.join("sparse")).unwrap().set_len(1 << 40).unwrap();
        });
        let Err(Error::Bytes { path, .. }) = &result else { panic!("{result:?}") };
        assert_eq!(path, Path::new("/configs/sparse"));
        assert!(!root.path().join("copy/sparse").exists());

        let (_root, result) = copied("/configs", |configs| {
            fs::create_dir_all(configs.join("a/b")).unwrap();
        });
        let Err(Error::Depth { path, limit: 2 }) = &result else { panic!("{result:?}") };
        assert_eq!(path, Path::new("/configs/a/b"));

        let (root, result) = copied("/configs", |configs| {
            fs::create_dir(configs.join("a")).unwrap();
            fs::write(configs.join("a/b"), "1234567890").unwrap();
        });
        result.unwrap();
        assert_eq!(fs::read(root.path().join("copy/a/b")).unwrap(), b"1234567890");
    }

    #[test]
    fn a_path_to_the_catalog_through_a_link_out_of_the_image_is_refused() {
        for (target, is_taken) in [("configs", true), ("/configs", false), ("../etc", false)] {
            let (root, result) = copied("/link/inner", |configs| {
                fs::write(configs.join("inner"), "x").unwrap();
                symlink(target, configs.with_file_name("link")).unwrap();
            });
            assert_eq!(result.is_ok(), is_taken, "{target}: {result:?}");
            assert_eq!(root.path().join("copy").exists(), is_taken, "{target}");
        }
    }

    #[test]
    fn the_catalog_itself_may_be_a_link_which_is_copied_as_one() {
        let (root, result) = copied("/link", |configs| {
            symlink("/etc", configs.with_file_name("link")).unwrap();
        });
        result.unwrap();
        assert_eq!(fs::read_link(root.path().join("copy")).unwrap(), Path::new("/etc"));
    }

    #[test]
    fn fifos_are_neither_waited_for_nor_copied() {
        let (root, result) = copied("/configs", |configs| {
            mknodat(CWD, configs.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        });
        result.unwrap();
        assert_eq!(fs::read_dir(root.path().join("copy")).unwrap().count(), 0);
    }

    #[test]
    fn an_entry_on_another_mount_is_refused() {
        // The kernel's own file systems are mounted on every machine that runs this.
        let to = tempfile::tempdir().unwrap();
        let error =
            copy(Path::new("/"), Path::new("/proc"), &to.path().join("copy"), &Limits::default());
        assert!(matches!(&error, Err(Error::Mount(path)) if path == "/proc"), "{error:?}");
        assert!(!to.path().join("copy").exists());
    }

    #[test]
    fn a_path_without_a_name_is_refused() {
        let (_root, result) = copied("/", |_| {});
        assert!(matches!(result, Err(Error::Path(_))), "{result:?}");
    }
}
