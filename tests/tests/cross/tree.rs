use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

/// A temporary directory with files.
pub(crate) struct Tree(TempDir);

impl Tree {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Adds this file.
    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(crate) fn with_link(self, path: &str, target: &str) -> Self {
        symlink(target, self.path().join(path)).unwrap();
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}
