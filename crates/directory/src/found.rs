//! Finds files of any kind without opening them, which has no effect on devices and does not block
//! on a FIFO.

use std::ffi::CString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[cfg(any(test, not(target_os = "linux")))]
use rustix::fs::{AtFlags, statat};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;

use super::beneath::Mount;

/// The flags with which a folder is opened to resolve paths beneath it. On Linux this does not need
/// the right to list the folder.
#[cfg(target_os = "linux")]
pub(super) const SEARCH: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
pub(super) const SEARCH: OFlags = OFlags::RDONLY;

/// A file of any kind that was found at a name in a folder.
#[derive(Debug)]
pub struct FoundFile {
    pub(super) stat: Stat,
    /// Prevents the inode number from being reused. Links are read and folders are entered through
    /// it, so that nothing can replace them in the meantime. Only Linux has such descriptors
    /// (`O_PATH`).
    fd: Option<OwnedFd>,
}

impl FoundFile {
    /// Finds `name` in `folder`. Does not follow a link.
    #[cfg(target_os = "linux")]
    pub(super) fn find(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Self::from_fd(openat(folder, name, flags, Mode::empty())?)
    }

    /// Finds `name` in `folder`. Does not follow a link.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn find(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Self, Errno> {
        Self::find_portably(folder, name)
    }

    /// Finds `name` in `folder` as [`FoundFile::find`] does, on systems without `O_PATH`. On Linux,
    /// only tests use it.
    #[cfg(any(test, not(target_os = "linux")))]
    pub(super) fn find_portably(folder: BorrowedFd<'_>, name: &[u8]) -> Result<Self, Errno> {
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
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

    /// Reads the link that was found at `name` in `folder`.
    pub(super) fn read_link(&self, folder: BorrowedFd<'_>, name: &[u8]) -> Result<CString, Errno> {
        match &self.fd {
            Some(fd) => readlinkat(fd, "", Vec::new()),
            None => readlinkat(folder, name, Vec::new()),
        }
    }

    /// Opens the folder that was found at `name` in `folder`. Returns `None` if it was replaced in
    /// the meantime.
    pub(super) fn enter(
        self,
        folder: BorrowedFd<'_>,
        name: &[u8],
    ) -> Result<Option<OwnedFd>, Errno> {
        if self.fd.is_some() {
            return Ok(self.fd);
        }
        let flags = SEARCH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(folder, name, flags, Mode::empty())?;
        Ok(self.is_open_as(fd.as_fd())?.then_some(fd))
    }

    /// Checks whether `fd` is a descriptor of this file.
    pub(super) fn is_open_as(&self, fd: BorrowedFd<'_>) -> Result<bool, Errno> {
        let stat = fstat(fd)?;
        Ok((stat.st_dev, stat.st_ino) == (self.stat.st_dev, self.stat.st_ino))
    }
}
