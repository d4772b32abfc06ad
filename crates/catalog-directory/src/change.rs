//! [`Changes`]: changes of the files of a catalog, which are checked before they are written.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use unlade_bundle::source;
use unlade_catalog::{
    Meta, Place,
    edit::{self, Edit},
};
use unlade_directory::read_at_most;

use crate::{
    Error, Limits, Reading, Texts,
    opened::{file_name, open_file, open_root},
    staged::Staged,
    validate_changed,
};

/// The maximum size of a file that is changed, in bytes. The largest file of a published catalog
/// has some 60 MB.
const MAX_FILE: u64 = 256 << 20;

/// The changed texts of files of a catalog. Nothing is written before [`write`](Self::write).
///
/// ```
/// use unlade_catalog_directory::{Changes, Limits};
///
/// let root = tempfile::tempdir()?;
/// let mut changes = Changes::new(root.path(), &Limits::default());
/// changes.append("tea/catalog.yaml", r#"{"schema":"example.com","package":"tea"}"#)?;
/// assert!(changes.validate_and_visit(|_, _| {})?.problems.is_empty());
/// changes.write()?;
/// let text = std::fs::read_to_string(root.path().join("tea/catalog.yaml"))?;
/// assert_eq!(text, "---\npackage: tea\nschema: example.com\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Changes {
    root: PathBuf,
    limits: Limits,
    texts: Texts,
    /// The texts of the same files before the change. Those of new files are missing.
    before: Texts,
}

/// The reason why a file of a catalog is not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The path is not that of a file of the catalog.
    #[error("{path} is not a path inside the catalog")]
    Path {
        /// The path as the caller passed it.
        path: String,
    },
    /// The catalog cannot be opened.
    #[error(transparent)]
    Root(#[from] Error),
    /// The file cannot be read without leaving the catalog.
    #[error("failed to read {path}")]
    Open {
        /// The path in the catalog.
        path: String,
        /// The reason.
        #[source]
        source: source::Error,
    },
    /// The file cannot be read or written.
    #[error("failed to {action} {}", path.display())]
    File {
        /// What failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: io::Error,
    },
    /// The file has changed since it was read.
    #[error("{path} was changed by another program")]
    Changed {
        /// The path in the catalog.
        path: String,
    },
    /// The text of the file cannot be changed.
    #[error("failed to change {path}")]
    Text {
        /// The path in the catalog.
        path: String,
        /// The reason.
        #[source]
        source: edit::Error,
    },
}

impl Changes {
    /// Creates changes without effect, of the catalog in the directory or the single file `root`.
    pub fn new(root: &Path, limits: &Limits) -> Self {
        Self {
            root: root.to_owned(),
            limits: limits.clone(),
            texts: Texts::new(),
            before: Texts::new(),
        }
    }

    /// Returns the paths of the changed files, relative to the catalog.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.texts.keys().map(String::as_str)
    }

    /// Changes a file, as [`edit::apply`] does. The file need not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read or changed.
    pub fn apply(&mut self, path: &str, edits: &[Edit<'_>]) -> Result<(), ChangeError> {
        let is_first = !self.texts.contains_key(path);
        let read = if is_first { self.read(path)? } else { None };
        let text = self.texts.get(path).or(read.as_ref()).map_or(&[][..], Vec::as_slice);
        let text = edit::apply(text, edits, &self.limits.catalog.document)
            .map_err(|source| ChangeError::Text { path: path.to_owned(), source })?;
        self.texts.insert(path.to_owned(), text);
        if let Some(before) = read {
            self.before.insert(path.to_owned(), before);
        }
        Ok(())
    }

    /// Adds a document to the end of a file, as [`Edit::Append`] does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`apply`](Self::apply).
    pub fn append(&mut self, path: &str, json: &str) -> Result<(), ChangeError> {
        self.apply(path, &[Edit::Append { json: json.into() }])
    }

    /// Reads and validates the changed catalog as
    /// [`validate_and_visit`](crate::validate_and_visit()) does.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read`](crate::read()).
    pub fn validate_and_visit(
        &self,
        visit: impl Fn(Meta, &Place) + Sync,
    ) -> Result<Reading, Error> {
        validate_changed(&self.root, &self.limits, &self.texts, visit)
    }

    /// Writes the changed files. Each appears when it is complete, and keeps its mode. A file that
    /// is a link stays a link. If the program is killed, the catalog has no unfinished file, except
    /// on a file system without `O_TMPFILE`, such as NFS.
    ///
    /// # Errors
    ///
    /// Returns an error if a file cannot be written, or if another program has changed it since it
    /// was read. If only one file is changed, it then has its old content.
    pub fn write(&self) -> Result<(), ChangeError> {
        // Before it creates the directories of new files, and again when it has created them.
        self.check_unchanged()?;
        let mut staged = Vec::with_capacity(self.texts.len());
        for (path, text) in &self.texts {
            let path = if self.root.is_dir() { self.root.join(path) } else { self.root.clone() };
            let failed = |source| ChangeError::File { action: "write", path: path.clone(), source };
            staged.push((Staged::new(&path, text).map_err(failed)?, path));
        }
        self.check_unchanged()?;
        for (file, path) in staged {
            let failed = |source| ChangeError::File { action: "write", path, source };
            file.persist().map_err(failed)?;
        }
        Ok(())
    }

    /// Checks that the files have the texts that were read.
    fn check_unchanged(&self) -> Result<(), ChangeError> {
        for path in self.texts.keys() {
            if self.read(path)?.as_ref() != self.before.get(path) {
                return Err(ChangeError::Changed { path: path.clone() });
            }
        }
        Ok(())
    }

    /// Reads a file. Returns `None` if it does not exist.
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>, ChangeError> {
        let full = self.root.join(path);
        let failed = |source| ChangeError::File { action: "read", path: full.clone(), source };
        let is_inside = |path: &str| {
            !path.is_empty()
                && Path::new(path).components().all(|it| matches!(it, Component::Normal(_)))
        };
        let file: Box<dyn Read> = if !self.root.is_dir() {
            if path != file_name(&self.root) {
                return Err(ChangeError::Path { path: path.to_owned() });
            }
            Box::new(open_file(&self.root).map_err(failed)?)
        } else if !is_inside(path) {
            return Err(ChangeError::Path { path: path.to_owned() });
        } else if let Err(error) = full.symlink_metadata() {
            return if error.kind() == io::ErrorKind::NotFound {
                self.check_parents(path).map(|()| None)
            } else {
                Err(failed(error))
            };
        } else {
            let open = |source| ChangeError::Open { path: path.to_owned(), source };
            Box::new(open_root(&self.root)?.open_file(path).map_err(open)?)
        };
        let text = read_at_most(file, MAX_FILE).map_err(failed)?;
        let too_large = || failed(io::Error::other(format!("it has more than {MAX_FILE} bytes")));
        text.ok_or_else(too_large).map(Some)
    }

    /// Checks that no directory above a new file is a link, which could lead out of the catalog.
    fn check_parents(&self, path: &str) -> Result<(), ChangeError> {
        for parent in Path::new(path).ancestors().skip(1) {
            let full = self.root.join(parent);
            match full.symlink_metadata() {
                // The root itself may be a link, because the user named it.
                Ok(found) if found.is_dir() || parent.as_os_str().is_empty() => {}
                Ok(_) => return Err(ChangeError::Path { path: path.to_owned() }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(ChangeError::File { action: "read", path: full, source });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_change_keeps_the_mode_and_the_link_of_a_file() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::write(path("b.yaml"), "schema: b\n").unwrap();
        fs::set_permissions(path("b.yaml"), Permissions::from_mode(0o640)).unwrap();
        symlink("b.yaml", path("a.yaml")).unwrap();
        let mut changes = Changes::new(root.path(), &Limits::default());
        changes.append("a.yaml", r#"{"schema":"c"}"#).unwrap();
        changes.append("a.yaml", r#"{"schema":"d"}"#).unwrap();
        assert_eq!(fs::read(path("b.yaml")).unwrap(), b"schema: b\n");
        changes.write().unwrap();
        let text = fs::read_to_string(path("b.yaml")).unwrap();
        assert_eq!(text, "schema: b\n---\nschema: c\n---\nschema: d\n");
        assert_eq!(path("b.yaml").metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(path("a.yaml").symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_another_program_changes_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a.yaml");
        for (before, other) in [(Some("schema: a\n"), "schema: b\n"), (None, "schema: b\n")] {
            if let Some(before) = before {
                fs::write(&path, before).unwrap();
            }
            let mut changes = Changes::new(root.path(), &Limits::default());
            changes.append("a.yaml", r#"{"schema":"c"}"#).unwrap();
            fs::write(&path, other).unwrap();
            let error = changes.write().unwrap_err();
            assert_eq!(error.to_string(), "a.yaml was changed by another program");
            assert_eq!(fs::read_to_string(&path).unwrap(), other);
            assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
            fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn a_file_outside_of_the_catalog_is_not_changed() {
        let root = tempfile::tempdir().unwrap();
        let catalog = root.path().join("catalog");
        fs::create_dir(&catalog).unwrap();
        fs::write(root.path().join("outside"), "schema: a\n").unwrap();
        symlink("../outside", catalog.join("link")).unwrap();
        let mut changes = Changes::new(&catalog, &Limits::default());
        for path in ["../outside", "/outside", "", "a/../b"] {
            let error = changes.append(path, r#"{"schema":"c"}"#).unwrap_err();
            assert!(matches!(error, ChangeError::Path { .. }), "{path}: {error}");
        }
        let error = changes.append("link", r#"{"schema":"c"}"#).unwrap_err();
        assert!(matches!(error, ChangeError::Open { .. }), "{error}");
        fs::create_dir(root.path().join("home")).unwrap();
        symlink("../home", catalog.join("tea")).unwrap();
        let mut changes = Changes::new(&catalog, &Limits::default());
        for path in ["tea/catalog.yaml", "tea/new/catalog.yaml", "link/catalog.yaml"] {
            let error = changes.append(path, r#"{"schema":"c"}"#).unwrap_err();
            assert!(!matches!(error, ChangeError::Text { .. }), "{path}: {error}");
        }
        // A directory that becomes a link after it was read is not followed either.
        for path in ["pot/catalog.yaml", "pot/new/catalog.yaml"] {
            let mut changes = Changes::new(&catalog, &Limits::default());
            fs::create_dir(catalog.join("pot")).unwrap();
            changes.append(path, r#"{"schema":"c"}"#).unwrap();
            fs::remove_dir(catalog.join("pot")).unwrap();
            symlink("../home", catalog.join("pot")).unwrap();
            changes.write().unwrap_err();
            assert_eq!(fs::read_dir(root.path().join("home")).unwrap().count(), 0, "{path}");
            fs::remove_file(catalog.join("pot")).unwrap();
        }
        let single = Changes::new(&root.path().join("outside"), &Limits::default());
        assert!(single.clone().append("other", r#"{"schema":"c"}"#).is_err());
    }

    #[test]
    fn a_new_file_that_is_ignored_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(".indexignore"), "*.yaml\n").unwrap();
        let mut changes = Changes::new(root.path(), &Limits::default());
        changes.append("a.yaml", r#"{"schema":"c"}"#).unwrap();
        changes.append("a.json", r#"{"schema":"c"}"#).unwrap();
        assert_eq!(changes.validate_and_visit(|_, _| {}).unwrap().catalog.n_metas, 1);
    }
}
