//! Opening what lies beneath a folder, and nothing else.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, open};
use rustix::io::Errno;

use super::place::{Place, SEARCH};
use super::{Error, walk};

#[cfg(target_os = "linux")]
mod kernel;

/// Who resolves paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Resolution {
    /// The kernel, and where it refuses, [`walk`]: it works where `openat2` is missing (before
    /// Linux 5.6, and on other systems) or filtered by seccomp, and names the link or mount that is
    /// at fault.
    #[default]
    Auto,
    /// The kernel alone, so that tests can compare the two.
    #[cfg(test)]
    Kernel,
    /// The walk alone.
    #[cfg(test)]
    Walk,
    /// The walk alone, as it is on systems other than Linux.
    #[cfg(test)]
    Portable,
}

/// An open folder, with its name for messages.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
    name: String,
    mount: Mount,
    resolution: Resolution,
}

/// The mount that something lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mount {
    /// The kernel's id of the mount.
    #[cfg(target_os = "linux")]
    Id(u64),
    /// The device, where neither the kernel (before Linux 5.8) nor `/proc` gives the id. It
    /// overlooks a bind mount of the same file system. The number is unsigned on Linux and signed on
    /// macOS.
    Device(i128),
}

impl Folder {
    /// The folder that `path` names; its own links are followed, since the caller chose it.
    pub(crate) fn root(path: &Path, resolution: Resolution) -> Result<Self, Error> {
        let failed = |errno: Errno| Error::Root { path: path.to_owned(), source: errno.into() };
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = open(path, flags, Mode::empty()).map_err(failed)?;
        let mount = match resolution {
            #[cfg(test)]
            Resolution::Portable => fstat(&fd).map(|stat| Mount::of_device(&stat)),
            _ => Mount::of(fd.as_fd()),
        };
        let mount = mount.map_err(failed)?;
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
        match self.resolution {
            #[cfg(target_os = "linux")]
            Resolution::Auto => self.place_by_kernel(path).or_else(|_| walk::place(self, path)),
            #[cfg(not(target_os = "linux"))]
            Resolution::Auto => walk::place(self, path),
            #[cfg(test)]
            Resolution::Kernel => {
                self.place_by_kernel(path).map_err(|errno| self.failed(path, errno))
            }
            #[cfg(test)]
            Resolution::Walk | Resolution::Portable => walk::place(self, path),
        }
    }

    /// Opens `path` for reading, which was found to be `place`.
    pub(crate) fn open(&self, path: &str, place: &Place, flags: OFlags) -> Result<OwnedFd, Error> {
        // Not blocking, in case that a FIFO takes its place in between.
        let flags = flags | OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = self.resolve(path, flags | OFlags::CLOEXEC)?;
        match place.is(fd.as_fd()) {
            Ok(true) => Ok(fd),
            Ok(false) => Err(Error::Changed { path: self.name_of(path) }),
            Err(errno) => Err(self.failed(path, errno)),
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
        match self.resolution {
            #[cfg(target_os = "linux")]
            Resolution::Auto => kernel::resolve(self.fd.as_fd(), path, flags)
                .or_else(|_| walk::open(self, path, flags)),
            #[cfg(not(target_os = "linux"))]
            Resolution::Auto => walk::open(self, path, flags),
            #[cfg(test)]
            Resolution::Kernel => kernel::resolve(self.fd.as_fd(), path, flags)
                .map_err(|errno| self.failed(path, errno)),
            #[cfg(test)]
            Resolution::Walk | Resolution::Portable => walk::open(self, path, flags),
        }
    }

    #[cfg(target_os = "linux")]
    fn place_by_kernel(&self, path: &str) -> Result<Place, Errno> {
        Place::hold(kernel::resolve(self.fd.as_fd(), path, SEARCH | OFlags::CLOEXEC)?)
    }

    /// Looks at `name` in `folder`, which is this folder or one beneath it.
    pub(super) fn look(&self, folder: BorrowedFd<'_>, name: &str) -> Result<Place, Errno> {
        match self.resolution {
            #[cfg(test)]
            Resolution::Portable => Place::find_portably(folder, name),
            _ => Place::find(folder, name),
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
        #[cfg(target_os = "linux")]
        if let Some(id) = kernel::id_of_mount(fd) {
            return Ok(Self::Id(id));
        }
        Ok(Self::of_device(&fstat(fd)?))
    }

    pub(super) fn of_device(stat: &Stat) -> Self {
        Self::Device(stat.st_dev.into())
    }
}
