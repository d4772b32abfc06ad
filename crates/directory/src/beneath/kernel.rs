//! Resolves paths and identifies mounts by system calls that only Linux has.

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, StatxFlags, fstatfs, open, openat2,
    statx,
};
use rustix::io::Errno;

use crate::file::read_at_most;

/// The maximum size of the information in `/proc` about a descriptor, in bytes. It consists of four
/// short lines for a file or directory.
const MAX_FDINFO_SIZE: u64 = 4 << 10;

/// How often a path is resolved again while files are renamed elsewhere on the system.
const TRIES: usize = 100;

/// Opens `path` beneath `directory`, on the same mount. Fails with `ELOOP` if the path contains a
/// link, unless `follows_links` is true.
///
/// The kernel refuses a path with `..` if anything on the system was renamed or mounted meanwhile
/// (openat2(2), `EAGAIN`), so such a path is tried again.
pub(super) fn resolve(
    directory: BorrowedFd<'_>,
    path: &str,
    flags: OFlags,
    follows_links: bool,
) -> Result<OwnedFd, Errno> {
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_MAGICLINKS;
    if !follows_links {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    let mut resolved = openat2(directory, path, flags, Mode::empty(), resolve);
    for _ in 1..TRIES {
        if resolved.as_ref().err() != Some(&Errno::AGAIN) {
            break;
        }
        resolved = openat2(directory, path, flags, Mode::empty(), resolve);
    }
    resolved
}

/// Returns the ID of the mount that `fd` is on.
pub(super) fn mount_id(fd: BorrowedFd<'_>) -> Option<u64> {
    mount_id_from_statx(fd).or_else(|| mount_id_from_proc(fd))
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
    // The image of a bundle can contain a directory with this name, but not the file system itself.
    if fstatfs(&info).ok()?.f_type != PROC_SUPER_MAGIC {
        return None;
    }
    let text = read_at_most(File::from(info), MAX_FDINFO_SIZE).ok()??;
    let text = String::from_utf8(text).ok()?;
    text.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn statx_and_proc_return_the_same_mount_id() {
        for path in ["/", "/proc", "/dev"] {
            let fd = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).unwrap();
            let of_proc = mount_id_from_proc(fd.as_fd());
            assert!(of_proc.is_some(), "{path}");
            assert_eq!(mount_id_from_statx(fd.as_fd()), of_proc, "{path}");
        }
    }
}
