//! Does what `openat2(RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS)` does, for kernels
//! without it: opens one component at a time, and resolves links itself.
//!
//! A magic link (`/proc/self/fd/3`) is resolved by its text, which does not name an existing file.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, RawMode, fstat, openat};
use rustix::io::Errno;
use rustix::process::geteuid;
use unlade_bundle::source::Error;
use unlade_bundle::source::walk::{Fault, LinkBudget, Lookup, Step, Walk};

use super::beneath::Dir;
use super::found::FoundFile;

/// Finds the file at `path` beneath `directory`.
pub(super) fn look_up(directory: &Dir, path: &str) -> Result<FoundFile, Error> {
    let (walk, end) = Walk::resolve(directory, path)?;
    match end {
        Some((_, found)) => Ok(found),
        None => directory
            .find_in(here(&walk, directory), b".")
            .map_err(|errno| walk.fail(b".", fault(&walk, directory, b".", errno))),
    }
}

/// Opens `path` beneath `directory`.
pub(super) fn open(directory: &Dir, path: &str, flags: OFlags) -> Result<OwnedFd, Error> {
    let (walk, end) = Walk::resolve(directory, path)?;
    let name = end.as_ref().map_or(&b"."[..], |(name, _)| name);
    let fd = openat(here(&walk, directory), name, flags | OFlags::NOFOLLOW, Mode::empty());
    fd.map_err(|errno| match (errno, &end) {
        (Errno::ACCESS, Some((name, found))) => unreadable(walk.path_of(name), found.stat.st_mode),
        _ => walk.fail(name, fault(&walk, directory, name, errno)),
    })
}

impl Lookup for Dir {
    type Dir = OwnedFd;
    type Entry = FoundFile;
    type Error = Error;

    fn root(&self) -> &str {
        self.name()
    }

    fn link_budget(&self) -> &LinkBudget {
        self.links()
    }

    fn look_up(&self, walk: &Walk<'_, Self>, name: &[u8]) -> Result<Step<Self>, Fault<Self>> {
        let here = here(walk, self);
        let failed = |errno| fault(walk, self, name, errno);
        let found = self.find_in(here, name).map_err(failed)?;
        if found.mount().map_err(failed)? != self.mount() {
            return Err(Fault::Mount);
        }
        match found.file_type() {
            FileType::Symlink => {
                Ok(Step::Link(found.read_link(here, name).map_err(failed)?.into_bytes()))
            }
            FileType::Directory => match found.enter(here, name).map_err(failed)? {
                Some(fd) => Ok(Step::Dir(fd)),
                None => Err(Fault::Other(Error::Changed { path: walk.path_of(name) })),
            },
            _ => Ok(Step::Entry(found)),
        }
    }
}

/// Returns the current directory of a walk that started in `directory`.
fn here<'a>(walk: &'a Walk<'_, Dir>, directory: &'a Dir) -> BorrowedFd<'a> {
    walk.dir().map_or(directory.as_fd(), AsFd::as_fd)
}

/// Returns what an error of the system at `name` means for the walk.
fn fault(walk: &Walk<'_, Dir>, directory: &Dir, name: &[u8], errno: Errno) -> Fault<Dir> {
    let system = |errno: Errno| Error::System { path: walk.path_of(name), source: errno.into() };
    match errno {
        // No file has a name that is too long for the system.
        Errno::NOENT | Errno::NAMETOOLONG => Fault::Missing,
        Errno::NOTDIR => Fault::NotADirectory,
        // The user may not enter the directory.
        Errno::ACCESS => Fault::Other(match fstat(here(walk, directory)) {
            Ok(stat) => unreadable(walk.path_of(b""), stat.st_mode),
            Err(errno) => system(errno),
        }),
        _ => Fault::Other(system(errno)),
    }
}

fn unreadable(path: String, mode: RawMode) -> Error {
    Error::Unreadable { path, uid: geteuid().as_raw(), mode: widened(mode) & 0o7777 }
}

/// Returns the mode with 32 bits. On macOS, it has 16.
fn widened(mode: impl Into<u32>) -> u32 {
    mode.into()
}
