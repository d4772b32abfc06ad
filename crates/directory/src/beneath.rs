//! Opens paths beneath a directory, and never any path outside it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open};
use rustix::io::Errno;
use unlade_bundle::source::Error;
use unlade_bundle::source::walk::LinkBudget;

use super::found::{FoundFile, SEARCH};
use super::walk;

#[cfg(target_os = "linux")]
mod kernel;

/// Other systems have none of these system calls.
#[cfg(not(target_os = "linux"))]
mod kernel {
    use super::{BorrowedFd, Errno, OFlags, OwnedFd};

    pub(super) fn resolve(
        _: BorrowedFd<'_>,
        _: &str,
        _: OFlags,
        _: bool,
    ) -> Result<OwnedFd, Errno> {
        Err(Errno::NOSYS)
    }

    pub(super) fn mount_id(_: BorrowedFd<'_>) -> Option<u64> {
        None
    }
}

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Resolution {
    /// By the kernel, and if that fails, by [`walk`]. The walk follows links, whose cost it counts.
    /// It also works if `openat2` does not exist (before Linux 5.6, and on other systems) or is
    /// filtered by seccomp, and its errors name the link or mount.
    #[default]
    Auto,
    /// Only by the kernel, with links, so that tests can compare both.
    #[cfg(test)]
    Kernel,
    /// Only by the walk.
    #[cfg(test)]
    Walk,
    /// Only by the walk, as on systems other than Linux.
    #[cfg(test)]
    Portable,
}

/// An open directory and its path for messages.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    name: String,
    mount: Mount,
    resolution: Resolution,
    /// The budget for the links of the root and of all directories beneath it.
    links: Arc<LinkBudget>,
}

/// The mount that a file is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mount {
    /// The ID of the mount.
    Id(u64),
    /// The device, if neither `statx` (since Linux 5.8) nor `/proc` returns the ID. It does not
    /// distinguish a bind mount of the same file system. The number is unsigned on Linux and signed
    /// on macOS.
    Device(i128),
}

impl Dir {
    /// Opens the directory at `path`. Links in `path` are followed, because the caller chose it.
    ///
    /// # Errors
    ///
    /// Returns an error if `path` is not a directory that this user may enter.
    pub fn open_root(path: &Path) -> Result<Self, Error> {
        Self::open_root_by(path, Resolution::default())
    }

    /// Opens the directory at `path` as [`Dir::open_root`] does. Resolves paths beneath it as
    /// `resolution` says.
    pub(crate) fn open_root_by(path: &Path, resolution: Resolution) -> Result<Self, Error> {
        let failed = |errno: Errno| Error::Root { path: path.to_owned(), source: errno.into() };
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(failed)?;
        let mount = match resolution {
            #[cfg(test)]
            Resolution::Portable => fstat(&fd).map(|stat| Mount::from_device(&stat)),
            _ => Mount::from_fd(fd.as_fd()),
        };
        let mount = mount.map_err(failed)?;
        Ok(Self { fd, name: String::new(), mount, resolution, links: Arc::default() })
    }

    /// Opens the directory at `path` beneath this one for listing.
    ///
    /// # Errors
    ///
    /// Returns an error if `path` leads out of this directory or to another mount, or is not a
    /// directory that this user may list.
    pub fn open_dir(&self, path: &str) -> Result<Self, Error> {
        let found = self.look_up(path)?;
        let name = self.path_of(path);
        if found.file_type() != FileType::Directory {
            return Err(Error::NotADirectory { path: name });
        }
        let fd = self.open_found(path, &found, OFlags::DIRECTORY)?;
        let links = Arc::clone(&self.links);
        Ok(Self { fd, name, mount: self.mount, resolution: self.resolution, links })
    }

    /// Finds the file at `path` beneath this directory.
    pub(crate) fn look_up(&self, path: &str) -> Result<FoundFile, Error> {
        let flags = SEARCH | OFlags::CLOEXEC;
        let by_kernel = |path: &_| FoundFile::from_fd(self.resolve_by_kernel(path, flags)?);
        self.resolve(path, by_kernel, |path| walk::look_up(self, path))
    }

    /// Opens `path` for reading, and checks that it is still `found`.
    pub(crate) fn open_found(
        &self,
        path: &str,
        found: &FoundFile,
        flags: OFlags,
    ) -> Result<OwnedFd, Error> {
        // Nonblocking, in case a FIFO replaced the file in the meantime.
        let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let by_kernel = |path: &_| self.resolve_by_kernel(path, flags);
        let fd = self.resolve(path, by_kernel, |path| walk::open(self, path, flags))?;
        match found.is_open_as(fd.as_fd()) {
            Ok(true) => Ok(fd),
            Ok(false) => Err(Error::Changed { path: self.path_of(path) }),
            Err(errno) => Err(self.system_error(path, errno)),
        }
    }

    /// Returns `path` relative to the root, for messages.
    pub(crate) fn path_of(&self, path: &str) -> String {
        match (self.name.as_str(), path) {
            ("", "") => ".".to_owned(),
            ("", path) => path.to_owned(),
            (name, "") => name.to_owned(),
            (name, path) => format!("{name}/{path}"),
        }
    }

    /// Returns the path of this directory relative to the root, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the mount of the root.
    pub fn mount(&self) -> Mount {
        self.mount
    }

    /// Creates the error for a failure of the system at `path`.
    pub(crate) fn system_error(&self, path: &str, errno: Errno) -> Error {
        Error::System { path: self.path_of(path), source: errno.into() }
    }

    /// Resolves `path` beneath the root, with the system call if the kernel has it.
    fn resolve<T>(
        &self,
        path: &str,
        by_kernel: impl FnOnce(&str) -> Result<T, Errno>,
        by_walk: impl FnOnce(&str) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match self.resolution {
            Resolution::Auto => by_kernel(path).or_else(|_| by_walk(path)),
            #[cfg(test)]
            Resolution::Kernel => by_kernel(path).map_err(|errno| self.system_error(path, errno)),
            #[cfg(test)]
            Resolution::Walk | Resolution::Portable => by_walk(path),
        }
    }

    /// Opens `path` by the system call. Only the tests that compare it with the walk let it follow
    /// links.
    fn resolve_by_kernel(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let follows_links = self.resolution != Resolution::Auto;
        kernel::resolve(self.fd.as_fd(), path, flags, follows_links)
    }

    /// Returns the budget for the links beneath the root.
    pub(super) fn links(&self) -> &LinkBudget {
        &self.links
    }

    /// Finds `name` in `directory`, which is this directory or one beneath it.
    pub(super) fn find_in(
        &self,
        directory: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<FoundFile, Errno> {
        match self.resolution {
            #[cfg(test)]
            Resolution::Portable => FoundFile::find_portably(directory, name),
            _ => FoundFile::find(directory, name),
        }
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Mount {
    /// Returns the mount that `fd` is on.
    ///
    /// # Errors
    ///
    /// Returns the error of `fstat`, which is called if the ID is unknown.
    pub fn from_fd(fd: BorrowedFd<'_>) -> Result<Self, Errno> {
        match kernel::mount_id(fd) {
            Some(id) => Ok(Self::Id(id)),
            None => Ok(Self::from_device(&fstat(fd)?)),
        }
    }

    /// Returns the device of a file in place of its mount.
    pub(super) fn from_device(stat: &Stat) -> Self {
        Self::Device(stat.st_dev.into())
    }
}
