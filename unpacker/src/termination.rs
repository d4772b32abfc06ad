//! Writes the termination message of the container.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, ftruncate, openat, openat2};
use rustix::io::Errno;

/// The path at which the kubelet mounts the file for the message.
pub(crate) const PATH: &str = "/dev/termination-log";

/// Writes `message` to the file at `path`, which must exist.
///
/// The kubelet creates this file. If it does not exist, none is created, because the path then
/// belongs to the image of the bundle. Links are not followed for the same reason.
pub(crate) fn write(path: &Path, message: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = flags | OFlags::CLOEXEC;
    let fd = match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // The kernel lacks the call, or an old seccomp profile refuses it.
        Err(Errno::NOSYS | Errno::PERM) => openat(CWD, path, flags, Mode::empty()),
        result => result,
    }?;
    if FileType::from_raw_mode(fstat(&fd)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::other("not a regular file"));
    }
    ftruncate(&fd, 0)?;
    File::from(fd).write_all(message.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rustix::fs::mknodat;

    use super::*;

    #[test]
    fn only_an_existing_regular_file_is_written_and_no_link_followed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap().join("log");
        assert!(write(&path, "[]").is_err());
        assert!(!path.exists());

        fs::write(&path, "something longer from before").unwrap();
        write(&path, "[]").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[]");

        // Nobody reads it, so that a writer would wait.
        let fifo = path.with_file_name("fifo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(write(&fifo, "no").is_err());

        let link = path.with_file_name("link");
        symlink(&path, &link).unwrap();
        assert!(write(&link, "no").is_err());
        symlink(path.parent().unwrap(), path.with_file_name("linked")).unwrap();
        assert!(write(&path.with_file_name("linked").join("log"), "no").is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "[]");
    }
}
