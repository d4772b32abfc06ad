//! What only Linux can do.

use std::fs::File;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Mode, OFlags, PROC_SUPER_MAGIC, ResolveFlags, StatxFlags, fstatfs, open, openat2,
    statx,
};
use rustix::io::Errno;

use crate::directory::file::read_at_most;

/// Most bytes of what `/proc` says of a descriptor: four short lines for a file or folder.
const FDINFO: usize = 4 << 10;

/// Opens `path` beneath `folder`, on the same mount.
pub(super) fn resolve(folder: BorrowedFd<'_>, path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV | ResolveFlags::NO_MAGICLINKS;
    openat2(folder, path, flags, Mode::empty(), resolve)
}

/// The id of the mount that something lies on.
pub(super) fn id_of_mount(fd: BorrowedFd<'_>) -> Option<u64> {
    id_of_statx(fd).or_else(|| id_of_proc(fd))
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

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

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
