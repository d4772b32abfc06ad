//! `install DEST`: the binary copies itself, so that no image needs `cp` or a shell.

use std::ffi::OsString;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

/// The name of the binary in a directory.
pub const NAME: &str = "unlade-unpacker";

/// Why the binary was not installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The running binary cannot be read.
    #[error("the running binary, /proc/self/exe, cannot be read")]
    Source(#[source] io::Error),
    /// The destination cannot be written.
    #[error("{} cannot be written", path.display())]
    Destination {
        /// The file that was to be written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Copies the running binary to `destination`: a file's path, or a directory that then holds it
/// as [`NAME`]. The file appears whole or not at all, replaces an older one even while that runs,
/// and is executable for every user (mode 0755, whatever the umask). Returns its path.
///
/// # Errors
///
/// If the binary cannot be read or the destination cannot be written.
pub fn install(destination: &Path) -> Result<PathBuf, Error> {
    // The kernel's link, and not the name that it was started with: that is the caller's choice
    // and may be any file, or one that has been replaced since.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let source = openat(CWD, "/proc/self/exe", flags, Mode::empty())
        .map_err(|errno| Error::Source(errno.into()))?;
    let is_folder = destination.is_dir();
    let path = if is_folder { destination.join(NAME) } else { destination.to_owned() };
    copy(File::from(source), &path, 0o755)
        .map_err(|source| Error::Destination { path: path.clone(), source })?;
    Ok(path)
}

/// Writes `source` to `path`, whole or not at all, with this mode whatever the umask.
pub(crate) fn copy(mut source: File, path: &Path, mode: u32) -> io::Result<()> {
    let unfinished = Unfinished::beside(path)?;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&unfinished.0)?;
    io::copy(&mut source, &mut file)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    // It isn't waited for the disk: what a pod holds goes with the node anyway.
    drop(file);
    fs::rename(&unfinished.0, path)
}

/// A file that is removed unless it was renamed.
struct Unfinished(PathBuf);

impl Unfinished {
    fn beside(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| io::Error::other("it has no file name"))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        // Two containers that share the folder may both be process 1.
        hidden.push(format!(".{:016x}", RandomState::new().hash_one(std::process::id())));
        Ok(Self(path.with_file_name(hidden)))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
