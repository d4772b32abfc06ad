//! Opening what lies beneath a folder, and nothing else.

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

/// Most bytes of what `/proc` says of a descriptor: four short lines for a file or folder.
const FDINFO: usize = 4 << 10;

/// Who resolves paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Resolution {
    /// The kernel, and where it refuses, [`walk`]: it works where `openat2` is missing (before
    /// Linux 5.6) or filtered by seccomp, and names the link or mount that is at fault.
    #[default]
    Auto,
    /// The kernel alone, so that tests can compare the two.
    #[cfg(test)]
    Kernel,
    /// The walk alone.
    #[cfg(test)]
    Walk,
}

/// An open folder, with its name for messages.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    name: String,
    mount: Mount,
    resolution: Resolution,
}

/// What was found at a path, opened only as a place (`O_PATH`): no device wakes up and no FIFO
/// blocks.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) stat: Stat,
    /// Keeps the inode's number from being used again.
    _fd: OwnedFd,
}

/// The mount that something lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mount {
    /// The kernel's id of the mount.
    Id(u64),
    /// The device, where neither the kernel (before Linux 5.8) nor `/proc` gives the id. It
    /// overlooks a bind mount of the same file system.
    Device(u64),
}

impl Folder {
    /// The folder that `path` names; its own links are followed, since the caller chose it.
    pub(crate) fn root(path: &Path, resolution: Resolution) -> Result<Self, Error> {
        let failed = |errno: Errno| Error::Root { path: path.to_owned(), source: errno.into() };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(failed)?;
        let mount = Mount::of(fd.as_fd()).map_err(failed)?;
        Ok(Self { fd, name: String::new(), mount, resolution })
    }

    /// The folder at `path` beneath this one, opened for listing.
    pub(crate) fn folder(&self, path: &str) -> Result<Self, Error> {
        let place = self.place(path)?;
        let name = self.name_of(path);
        if FileType::from_raw_mode(place.stat.st_mode) != FileType::Directory {
            return Err(Error::NotADirectory { path: name });
        }
        let fd = self.open(path, &place, OFlags::DIRECTORY)?;
        Ok(Self { fd, name, mount: self.mount, resolution: self.resolution })
    }

    /// What lies at `path` beneath this folder.
    pub(crate) fn place(&self, path: &str) -> Result<Place, Error> {
        let fd = self.resolve(path, OFlags::PATH)?;
        let stat = fstat(&fd).map_err(|errno| self.failed(path, errno))?;
        Ok(Place { stat, _fd: fd })
    }

    /// Opens `path` for reading, which was found to be `place`.
    pub(crate) fn open(&self, path: &str, place: &Place, flags: OFlags) -> Result<OwnedFd, Error> {
        // Not blocking, in case that a FIFO takes its place in between.
        let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = self.resolve(path, flags)?;
        let stat = fstat(&fd).map_err(|errno| self.failed(path, errno))?;
        if (stat.st_dev, stat.st_ino) == (place.stat.st_dev, place.stat.st_ino) {
            Ok(fd)
        } else {
            Err(Error::Changed { path: self.name_of(path) })
        }
    }

    /// `path` as messages show it: relative to the bundle root.
    pub(crate) fn name_of(&self, path: &str) -> String {
        match (self.name.as_str(), path) {
            ("", "") => ".".to_owned(),
            ("", path) => path.to_owned(),
            (name, "") => name.to_owned(),
            (name, path) => format!("{name}/{path}"),
        }
    }

    /// The name of this folder as messages show it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn mount(&self) -> Mount {
        self.mount
    }

    pub(crate) fn failed(&self, path: &str, errno: Errno) -> Error {
        Error::System { path: self.name_of(path), source: errno.into() }
    }

    fn resolve(&self, path: &str, flags: OFlags) -> Result<OwnedFd, Error> {
        let flags = flags | OFlags::CLOEXEC;
        match self.resolution {
            Resolution::Auto => resolve_in_kernel(self.fd.as_fd(), path, flags)
                .or_else(|_| walk::resolve(self, path, flags)),
            #[cfg(test)]
            Resolution::Kernel => resolve_in_kernel(self.fd.as_fd(), path, flags)
                .map_err(|errno| self.failed(path, errno)),
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
    pub(crate) fn of(fd: BorrowedFd<'_>) -> Result<Self, Errno> {
        match id_of_statx(fd).or_else(|| id_of_proc(fd)) {
            Some(id) => Ok(Self::Id(id)),
            None => Ok(Self::Device(fstat(fd)?.st_dev)),
        }
    }
}

fn id_of_statx(fd: BorrowedFd<'_>) -> Option<u64> {
    let found = statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    let is_there = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID);
    is_there.then_some(found.stx_mnt_id)
}

/// The same id as Linux has told it since 3.15 (proc(5)), for kernels and seccomp filters without
/// the newer call.
fn id_of_proc(fd: BorrowedFd<'_>) -> Option<u64> {
    let path = format!("/proc/self/fdinfo/{}", fd.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let info = open(path, flags, Mode::empty()).ok()?;
    // A bundle can bring along a folder of this name, but no file system of the kernel.
    if fstatfs(&info).ok()?.f_type != PROC_SUPER_MAGIC {
        return None;
    }
    let text = read_at_most(File::from(info), FDINFO).ok()??;
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
    fn both_ways_give_the_same_id_of_a_mount() {
        for path in ["/", "/proc", "/dev"] {
            let fd = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
            let of_proc = id_of_proc(fd.as_fd());
            assert!(of_proc.is_some(), "{path}");
            assert_eq!(id_of_statx(fd.as_fd()), of_proc, "{path}");
        }
    }
}
