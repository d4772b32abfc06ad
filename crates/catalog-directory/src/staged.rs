//! [`Staged`]: a complete file that waits to replace another one.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::{fd::AsRawFd as _, unix::fs::PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
use tempfile::{Builder, NamedTempFile};

/// A file with the new content of a file of a catalog.
///
/// Every file in the directory belongs to the catalog, also one that an interrupted program has
/// left. The staged file therefore has no name until it is complete.
#[derive(Debug)]
pub(crate) struct Staged {
    file: Content,
    target: PathBuf,
}

#[derive(Debug)]
enum Content {
    Unnamed(File),
    /// Some file systems, such as NFS, have no files without names.
    Named(NamedTempFile),
}

impl Staged {
    /// Writes `text` to the file system of `path`, which need not exist. If `path` is a link, the
    /// file that it leads to will be replaced.
    pub(crate) fn new(path: &Path, text: &[u8]) -> io::Result<Self> {
        Self::with(Content::unnamed, path, text)
    }

    fn with(
        create: impl FnOnce(&Path, Permissions) -> io::Result<Content>,
        path: &Path,
        text: &[u8],
    ) -> io::Result<Self> {
        let existing = path.canonicalize().ok();
        if existing.is_none() {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
        }
        let target = existing.clone().unwrap_or_else(|| path.to_owned());
        // The umask applies to a new file, and an existing file keeps its mode.
        let mode = existing.as_ref().map(|found| found.metadata()).transpose()?;
        let mode = mode.map(|found| found.permissions());
        let initial = mode.clone().unwrap_or_else(|| Permissions::from_mode(0o666));
        let mut file = create(directory_of(&target), initial)?;
        if let Some(mode) = mode {
            file.as_file().set_permissions(mode)?;
        }
        file.as_file_mut().write_all(text)?;
        file.as_file().sync_all()?;
        Ok(Self { file, target })
    }

    /// Replaces the target.
    pub(crate) fn persist(self) -> io::Result<()> {
        let named = match self.file {
            Content::Named(file) => file.into_temp_path(),
            // Only a rename can replace a file, and it needs a name.
            Content::Unnamed(file) => {
                let link = |name: &Path| link(&file, name);
                builder().make_in(directory_of(&self.target), link)?.into_temp_path()
            }
        };
        named.persist(self.target).map_err(|error| error.error)
    }
}

impl Content {
    /// Creates a file without a name, or one with a name if that is not possible.
    fn unnamed(directory: &Path, permissions: Permissions) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match open(directory, flags, Mode::from_raw_mode(permissions.mode())).map(File::from) {
            Ok(file) if path_of(&file).exists() => Ok(Self::Unnamed(file)),
            // If the directory cannot be written to, this has the same error.
            _ => Self::named(directory, permissions),
        }
    }

    fn named(directory: &Path, permissions: Permissions) -> io::Result<Self> {
        builder().permissions(permissions).tempfile_in(directory).map(Self::Named)
    }

    fn as_file(&self) -> &File {
        match self {
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file(),
        }
    }

    fn as_file_mut(&mut self) -> &mut File {
        match self {
            Self::Unnamed(file) => file,
            Self::Named(file) => file.as_file_mut(),
        }
    }
}

fn builder<'b>() -> Builder<'b, 'b> {
    let mut builder = Builder::new();
    builder.prefix(".unlade-");
    builder
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Gives a name to a file without one. Without privileges, the kernel allows this only through
/// `/proc` (open(2), `O_TMPFILE`).
fn link(file: &File, name: &Path) -> io::Result<()> {
    Ok(linkat(CWD, path_of(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

fn path_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_staged_file_is_not_in_the_directory() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.yaml");
        let staged = Staged::new(&path, b"new").unwrap();
        // As if the program were killed: nothing is cleaned up.
        std::mem::forget(staged);
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_staged_file_replaces_its_target_also_on_a_file_system_that_needs_a_name() {
        for create in [Content::unnamed, Content::named] {
            let root = tempfile::tempdir().unwrap();
            let path = root.path().join("tea/a.yaml");
            let write = |text: &str| {
                Staged::with(create, &path, text.as_bytes()).unwrap().persist().unwrap();
                assert_eq!(fs::read_to_string(&path).unwrap(), text);
                assert_eq!(fs::read_dir(root.path().join("tea")).unwrap().count(), 1);
                path.metadata().unwrap().permissions().mode() & 0o777
            };
            let plain = root.path().join("plain");
            fs::write(&plain, "").unwrap();
            // The umask applies to both.
            let created = plain.metadata().unwrap().permissions().mode() & 0o777;
            assert_eq!(write("new"), created);
            fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
            assert_eq!(write("newer"), 0o666);
        }
    }
}
