//! Finds files of any kind without opening them, which has no effect on devices and does not block
//! on a FIFO.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[cfg(any(test, not(target_os = "linux")))]
use rustix::fs::{AtFlags, statat};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;

use super::beneath::Mount;

/// The flags with which a directory is opened to resolve paths beneath it. On Linux this does not
/// need the right to list the directory.
#[cfg(target_os = "linux")]
pub(super) const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(super) const SEARCH: OFlags = OFlags::RDONLY;

/// A file of any kind that was found at a name in a directory.
#[derive(Debug)]
pub struct FoundFile {
    pub(super) stat: Stat,
    /// Prevents the inode number from being reused. Links are read and directories are entered
    /// through it, so that nothing can replace them in the meantime. Only Linux has such
    /// descriptors (`O_PATH`).
    fd: Option<OwnedFd>,
}

impl FoundFile {
    /// Finds `name` in `directory`. Does not follow a link.
    #[cfg(target_os = "linux")]
    pub(super) fn find(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Self::from_fd(openat(directory, name, flags, Mode::empty())?)
    }

    /// Finds `name` in `directory`. Does not follow a link.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn find(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Self, Errno> {
        Self::find_portably(directory, name)
    }

    /// Finds `name` in `directory` as [`FoundFile::find`] does, on systems without `O_PATH`. On
    /// Linux, only tests use it.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(super) fn find_portably(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Self, Errno> {
        let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self { stat, fd: None })
    }

    /// Returns a file that was opened with [`SEARCH`].
    pub(super) fn from_fd(fd: OwnedFd) -> Result<Self, Errno> {
        Ok(Self { stat: fstat(&fd)?, fd: Some(fd) })
    }

    /// Returns the mount that the file is on.
    pub(super) fn mount(&self) -> Result<Mount, Errno> {
        match &self.fd {
            Some(fd) => Mount::from_fd(fd.as_fd()),
            None => Ok(Mount::from_device(&self.stat)),
        }
    }

    pub(super) fn file_type(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    /// Reads the link that was found at `name` in `directory`.
    pub(super) fn read_link(
        &self,
        directory: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<CString, Errno> {
        match &self.fd {
            Some(fd) => readlinkat(fd, "", Vec::new()),
            None => readlinkat(directory, name, Vec::new()),
        }
    }

    /// Opens the directory that was found at `name` in `directory`. Returns `None` if it was
    /// replaced in the meantime.
    pub(super) fn enter(
        self,
        directory: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<Option<OwnedFd>, Errno> {
        if self.fd.is_some() {
            return Ok(self.fd);
        }
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(directory, name, flags, Mode::empty())?;
        Ok(self.is_open_as(fd.as_fd())?.then_some(fd))
    }

    /// Checks whether `fd` is a descriptor of this file.
    pub(super) fn is_open_as(&self, fd: BorrowedFd<'_>) -> Result<bool, Errno> {
        let stat = fstat(fd)?;
        Ok((stat.st_dev, stat.st_ino) == (self.stat.st_dev, self.stat.st_ino))
    }
}
