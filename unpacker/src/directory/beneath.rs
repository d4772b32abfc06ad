//! Opens paths beneath a folder, and never any path outside it.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, Stat, StatxFlags, fstat,
    fstatfs, open, openat2, statx,
};
use rustix::io::Errno;

use super::Error;
use super::file::read_at_most;
use super::walk;

/// The maximum size of the information in `/proc` about a descriptor, in bytes. It consists of four
/// short lines for a file or folder.
const MAX_FDINFO_SIZE: usize = 4 << 10;

/// How paths are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Resolution {
    /// By the kernel, and if that fails, by [`walk`]. The walk also works if `openat2` does not
    /// exist (before Linux 5.6) or is filtered by seccomp, and its errors name the link or mount.
    #[default]
    Auto,
    /// Only by the kernel, so that tests can compare both.
    #[cfg(test)]
    Kernel,
    /// Only by the walk.
    #[cfg(test)]
    Walk,
}

/// An open folder and its path for messages.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    name: String,
    mount: Mount,
    resolution: Resolution,
}

/// A file of any kind that was opened with `O_PATH`, which has no effect on devices and does not
/// block on a FIFO.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) stat: Stat,
    /// Prevents the inode number from being reused.
    _fd: OwnedFd,
}

/// The mount that a file is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mount {
    /// The ID of the mount.
    Id(u64),
    /// The device, if neither `statx` (since Linux 5.8) nor `/proc` returns the ID. It does not
    /// distinguish a bind mount of the same file system.
    Device(u64),
}

impl Folder {
    /// Opens the folder at `path`. Links in `path` are followed, because the caller chose it.
    pub(crate) fn root(path: &Path, resolution: Resolution) -> Result<Self, Error> {
        let failed = |errno: Errno| Error::Root { path: path.to_owned(), source: errno.into() };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(failed)?;
        let mount = Mount::from_fd(fd.as_fd()).map_err(failed)?;
        Ok(Self { fd, name: String::new(), mount, resolution })
    }

    /// Opens the folder at `path` beneath this one for listing.
    pub(crate) fn folder(&self, path: &str) -> Result<Self, Error> {
        let place = self.place(path)?;
        let name = self.path_of(path);
        if FileType::from_raw_mode(place.stat.st_mode) != FileType::Directory {
            return Err(Error::NotADirectory { path: name });
        }
        let fd = self.open(path, &place, OFlags::DIRECTORY)?;
        Ok(Self { fd, name, mount: self.mount, resolution: self.resolution })
    }

    /// Finds the file at `path` beneath this folder.
    pub(crate) fn place(&self, path: &str) -> Result<Place, Error> {
        let fd = self.resolve(path, OFlags::PATH)?;
        let stat = fstat(&fd).map_err(|errno| self.system_error(path, errno))?;
        Ok(Place { stat, _fd: fd })
    }

    /// Opens `path` for reading, and checks that it is still `place`.
    pub(crate) fn open(&self, path: &str, place: &Place, flags: OFlags) -> Result<OwnedFd, Error> {
        // Nonblocking, in case a FIFO replaced the file in the meantime.
        let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = self.resolve(path, flags)?;
        let stat = fstat(&fd).map_err(|errno| self.system_error(path, errno))?;
        if (stat.st_dev, stat.st_ino) == (place.stat.st_dev, place.stat.st_ino) {
            Ok(fd)
        } else {
            Err(Error::Changed { path: self.path_of(path) })
        }
    }

    /// Returns `path` relative to the bundle root, for messages.
    pub(crate) fn path_of(&self, path: &str) -> String {
        match (self.name.as_str(), path) {
            ("", "") => ".".to_owned(),
            ("", path) => path.to_owned(),
            (name, "") => name.to_owned(),
            (name, path) => format!("{name}/{path}"),
        }
    }

    /// Returns the path of this folder relative to the bundle root, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the mount of the bundle root.
    pub(crate) fn mount(&self) -> Mount {
        self.mount
    }

    /// Creates the error for a failure of the system at `path`.
    pub(crate) fn system_error(&self, path: &str, errno: Errno) -> Error {
        Error::System { path: self.path_of(path), source: errno.into() }
    }

    fn resolve(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Error> {
        let flags = flags | OFlags::CLOEXEC;
        match self.resolution {
            Resolution::Auto => resolve_in_kernel(self.fd.as_fd(), path, flags)
                .or_else(|_| walk::resolve(self, path, flags)),
            #[cfg(test)]
            Resolution::Kernel => resolve_in_kernel(self.fd.as_fd(), path, flags)
                .map_err(|errno| self.system_error(path, errno)),
            #[cfg(test)]
            Resolution::Walk => walk::resolve(self, path, flags),
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Mount {
    /// Returns the mount that `fd` is on.
    pub(crate) fn from_fd(fd: BorrowedFd<'_>) -> Result<Self, Errno> {
        match mount_id_from_statx(fd).or_else(|| mount_id_from_proc(fd)) {
            Some(id) => Ok(Self::Id(id)),
            None => Ok(Self::Device(fstat(fd)?.st_dev)),
        }
    }
}

fn mount_id_from_statx(fd: BorrowedFd<'_>) -> Option<u64> {
    let found = statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    let is_known = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
    is_known.then_some(found.stx_mnt_id)
}

/// Reads the same ID from `/proc` (since Linux 3.15, see proc(5)), for kernels and seccomp filters
/// without `statx`.
fn mount_id_from_proc(fd: BorrowedFd<'_>) -> Option<u64> {
    let path = format!("/proc/self/fdinfo/{}", fd.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let info = open(path, flags, Mode::empty()).ok()?;
    // The image of a bundle can contain a folder with this name, but not the file system itself.
    if fstatfs(&info).ok()?.f_type != PROC_SUPER_MAGIC {
        return None;
    }
    let text = read_at_most(File::from(info), MAX_FDINFO_SIZE).ok()??;
    let text = String::from_utf8(text).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

fn resolve_in_kernel(folder: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_MAGICLINKS;
    openat2(folder, path, flags, Mode::empty(), resolve)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statx_and_proc_return_the_same_mount_id() {
        for path in ["/", "/proc", "/dev"] {
            let fd = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
            let from_proc = mount_id_from_proc(fd.as_fd());
            assert!(from_proc.is_some(), "{path}");
            assert_eq!(mount_id_from_statx(fd.as_fd()), from_proc, "{path}");
        }
    }
}
