//! What lies at a name in a folder, without opening it: no device wakes up and no FIFO blocks.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::beneath::Mount;

/// How a folder is opened only to look beneath it. Linux then needs no right to list the folder.
#[cfg(target_os = "linux")]
pub(super) const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(super) const SEARCH: OFlags = OFlags::RDONLY;

/// What was found at a name.
#[derive(Debug)]
pub(crate) struct Place {
    pub(super) stat: Stat,
    /// Keeps the inode's number from being used again, and is what a link is read from and a folder
    /// is entered by, so that nothing can take its place in between. Only Linux has such
    /// descriptors (`O_PATH`).
    fd: Option<OwnedFd>,
}

impl Place {
    /// Looks at `name` in `folder`. A link is not followed.
    #[cfg(target_os = "linux")]
    pub(super) fn find(folder: BorrowedFd<'_>, name: &str) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Self::hold(openat(folder, name, flags, Mode::empty())?)
    }

    /// Looks at `name` in `folder`. A link is not followed.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn find(folder: BorrowedFd<'_>, name: &str) -> Result<Self, Errno> {
        Self::find_portably(folder, name)
    }

    /// The same on systems without `O_PATH`. Linux has it for the tests.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(super) fn find_portably(folder: BorrowedFd<'_>, name: &str) -> Result<Self, Errno> {
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self { stat, fd: None })
    }

    /// The place that a descriptor was opened for.
    #[cfg(target_os = "linux")]
    pub(super) fn hold(fd: OwnedFd) -> Result<Self, Errno> {
        Ok(Self { stat: fstat(&fd)?, fd: Some(fd) })
    }

    /// The mount that it lies on.
    pub(super) fn mount(&self) -> Result<Mount, Errno> {
        match &self.fd {
            Some(fd) => Mount::of(fd.as_fd()),
            None => Ok(Mount::of_device(&self.stat)),
        }
    }

    pub(super) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// The target of the link that was found at `name` in `folder`.
    pub(super) fn read_link(&self, folder: BorrowedFd<'_>, name: &str) -> Result<CString, Errno> {
        match &self.fd {
            Some(fd) => readlinkat(fd, "", Vec::new()),
            None => readlinkat(folder, name, Vec::new()),
        }
    }

    /// The descriptor of what was found at `name` in `folder`, if it is a folder. [`None`] if
    /// something else has taken its place.
    pub(super) fn enter(
        self,
        folder: BorrowedFd<'_>,
        name: &str,
    ) -> Result<Option<OwnedFd>, Errno> {
        if self.fd.is_some() {
            return Ok(self.fd);
        }
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(folder, name, flags, Mode::empty())?;
        Ok(self.is(fd.as_fd())?.then_some(fd))
    }

    /// Whether `fd` is open for what was found.
    pub(super) fn is(&self, fd: BorrowedFd<'_>) -> Result<bool, Errno> {
        let stat = fstat(fd)?;
        Ok((stat.st_dev, stat.st_ino) == (self.stat.st_dev, self.stat.st_ino))
    }
}
