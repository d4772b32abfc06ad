//! `install DEST`: the binary copies itself, so that no image needs `cp` or a shell.

use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use unlade_directory::{CopyError, copy_file};

/// The name of the binary in a directory.
pub(crate) const NAME: &str = "unlade-unpacker";

/// Why the binary was not installed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The running binary cannot be read.
    #[error("failed to read the running binary, /proc/self/exe")]
    Source(#[source] io::Error),
    /// The destination cannot be written.
    #[error("failed to write {}", path.display())]
    Destination {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Copies the running binary to `destination`, and returns the path of the copy. If `destination`
/// is a directory, the copy is called [`NAME`]. The copy appears completely or not at all, replaces
/// an existing file even while it is running, and is executable for every user (mode 0755,
/// independent of the umask).
///
/// # Errors
///
/// Returns an error if the binary cannot be read or the destination cannot be written.
pub(crate) fn install(destination: &Path) -> Result<PathBuf, Error> {
    // The kernel's link is used because the caller chooses the name that the program was started
    // with, and the file of that name may have been replaced since.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let source = openat(CWD, "/proc/self/exe", flags, Mode::empty())
        .map_err(|errno| Error::Source(errno.into()))?;
    let is_directory = destination.is_dir();
    let path = if is_directory { destination.join(NAME) } else { destination.to_owned() };
    copy(File::from(source), &path, 0o755).map_err(|error| match error {
        CopyError::Read(source) => Error::Source(source),
        CopyError::Write(source) => Error::Destination { path: path.clone(), source },
    })?;
    Ok(path)
}

/// Copies `source` to `path` completely or not at all, with this mode independent of the umask.
pub(crate) fn copy(mut source: File, path: &Path, mode: u32) -> Result<(), CopyError> {
    let unfinished = Unfinished::next_to(path).map_err(CopyError::Write)?;
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&unfinished.0)
        .map_err(CopyError::Write)?;
    copy_file(&mut source, &mut file)?;
    file.set_permissions(fs::Permissions::from_mode(mode)).map_err(CopyError::Write)?;
    // No fsync: the file does not need to survive a crash of the node, because the pod does not.
    drop(file);
    fs::rename(&unfinished.0, path).map_err(CopyError::Write)
}

/// A file that is removed unless it was renamed.
struct Unfinished(PathBuf);

impl Unfinished {
    fn next_to(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| io::Error::other("no file name"))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        // A process ID is not unique: two containers that share the directory may both be process
        // 1.
        hidden.push(format!(".{:016x}", RandomState::new().hash_one(std::process::id())));
        Ok(Self(path.with_file_name(hidden)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
