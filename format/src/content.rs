//! [`Content`]: the value between every reader and every writer.

use std::collections::BTreeMap;

use crate::{Finding, Limits};

/// The two directories of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Directory {
    /// `manifests/`: the CSV, the CRDs and the other objects.
    Manifests,
    /// `metadata/`: `annotations.yaml`, `dependencies.yaml`, `properties.yaml`.
    Metadata,
}

/// One file of a bundle, `metadata/annotations.yaml` excepted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// The directory that it lies in.
    pub directory: Directory,
    /// Its name there, as in the bundle.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The annotations and the files of one bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    annotations: BTreeMap<String, String>,
    files: Vec<File>,
}

/// A content, and what its reader noticed on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// What was read.
    pub content: Content,
    /// What was noticed.
    pub findings: Vec<Finding>,
}

/// Why files and annotations are no [`Content`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {}

impl Content {
    /// The content of a bundle with these files, as found in its two directories.
    ///
    /// `annotations.yaml` is taken out of `files`: the one in metadata/, else the one in manifests/
    /// as upstream's writer does.
    ///
    /// # Errors
    ///
    /// If two files map to one key, a name has no legal key, `annotations.yaml` is not readable,
    /// an annotation is not legal, or a limit is passed.
    pub fn assemble(_files: Vec<File>, _limits: &Limits) -> Result<Reading, Error> {
        Ok(Reading {
            content: Self { annotations: BTreeMap::new(), files: Vec::new() },
            findings: Vec::new(),
        })
    }

    /// The annotations of the bundle: all that were taken from `annotations.yaml`, and upstream's
    /// six, `""` where the file has none.
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.annotations
    }

    /// The files, sorted by directory and name.
    pub fn files(&self) -> &[File] {
        &self.files
    }
}
