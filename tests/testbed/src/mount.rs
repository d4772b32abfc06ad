//! What is mounted below a directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use rustix::mount::{UnmountFlags, unmount};

use crate::{Error, file};

/// Unmounts everything below a directory in the caller's mount namespace.
///
/// Call this before the directory is deleted: otherwise, the deletion would also delete the mounted
/// files.
pub(crate) fn unmount_below(directory: &Path) -> Result<(), Error> {
    let mounts = mounts_below(directory)?;
    // Start with the latest one, because a mount may be on top of another.
    for path in mounts.iter().rev() {
        unmount(path.as_path(), UnmountFlags::DETACH)
            .map_err(Error::kernel(format!("unmount {}", path.display())))?;
    }
    match mounts_below(directory)?.first() {
        None => Ok(()),
        Some(left) => Err(Error::Kernel {
            action: format!("unmount {}", left.display()),
            source: std::io::ErrorKind::ResourceBusy.into(),
        }),
    }
}

/// Returns the mount points of all mount namespaces.
///
/// A directory on which something is mounted in another namespace can be removed in this one, and
/// the mount there is removed with it (`detach_mounts` in the kernel's `fs/namespace.c`).
pub(crate) fn mounts_everywhere() -> Result<BTreeSet<PathBuf>, Error> {
    let proc = Path::new("/proc");
    let mut points = BTreeSet::new();
    for process in fs::read_dir(proc).map_err(Error::file("read", proc))?.flatten() {
        // Processes can end in the meantime, and other entries of /proc have no such file.
        if let Ok(Some(text)) = file::read(&process.path().join("mountinfo")) {
            points.extend(mount_points(&text));
        }
    }
    Ok(points)
}

fn mounts_below(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let text = file::read(Path::new("/proc/self/mountinfo"))?.unwrap_or_default();
    Ok(mount_points(&text).filter(|path| path.starts_with(directory)).collect())
}

/// Returns the mount points in the text of `/proc/self/mountinfo`, in the order in which they were
/// mounted.
fn mount_points(mountinfo: &str) -> impl Iterator<Item = PathBuf> {
    let field = |line: &str| line.split(' ').nth(4).map(unescape);
    mountinfo.lines().filter_map(field).map(PathBuf::from)
}

/// Decodes the octal escapes with which the kernel writes spaces and backslashes.
fn unescape(field: &str) -> String {
    let pairs = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    pairs.iter().fold(field.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::mount_points;

    #[test]
    fn mount_points_with_blanks_are_found() {
        let text = "22 27 0:20 / /proc rw - proc proc rw\n23 27 0:4 / /a\\040b rw - tmpfs t rw\n";
        let points: Vec<_> = mount_points(text).collect();
        assert_eq!(points, [Path::new("/proc"), Path::new("/a b")]);
    }
}
