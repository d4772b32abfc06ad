//! [`Error`]: why files and annotations are not a [`Content`](super::Content).

use std::fmt;

use unlade_text::excerpt;

use crate::{
    annotation,
    key::{self, ConfigMapKey},
};

/// An error that prevents files and annotations from being a [`Content`](super::Content).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Files that cannot be in one ConfigMap.
    #[error("{}", excerpt::list(.problems, "; "))]
    Files {
        /// All problems: one for each such file or group of files.
        problems: Vec<FileProblem>,
    },
    /// The bundle has more files than the limit.
    #[error("the bundle has {files} files, but the limit is {limit}")]
    TooManyFiles {
        /// The number of files.
        files: usize,
        /// The limit.
        limit: usize,
    },
    /// A file is larger than the limit.
    #[error("{} is {size} bytes, but the limit for a file is {limit}", excerpt::shorten(.path))]
    FileTooLarge {
        /// The file.
        path: String,
        /// Its size in bytes.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// All files together are larger than the limit.
    #[error("the files of the bundle are {size} bytes in total, but the limit is {limit}")]
    TooLarge {
        /// The total size of all files in bytes.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// An annotation is [reserved](annotation::is_reserved).
    #[error(
        "the annotation {:?} is reserved for Kubernetes, OLM or unlade", excerpt::shorten(.key)
    )]
    ReservedAnnotation {
        /// The key of the annotation.
        key: String,
    },
    /// The annotations are not valid.
    #[error(transparent)]
    Annotations(#[from] annotation::Error),
}

/// A reason why files cannot be in one ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileProblem {
    /// The name of a file has no legal key.
    Key {
        /// The file.
        path: String,
        /// The reason.
        error: key::Error,
    },
    /// Several files have the same key. Upstream keeps the last one and silently drops the others.
    Collision {
        /// The key.
        key: ConfigMapKey,
        /// The files, sorted by path.
        paths: Vec<String>,
    },
}

impl Error {
    /// Checks whether a limit was exceeded: one of [`Limits`](crate::Limits), or the limit of
    /// Kubernetes for annotations.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::TooManyFiles { .. } | Self::FileTooLarge { .. } | Self::TooLarge { .. } => true,
            Self::Annotations(error) => error.is_limit(),
            Self::Files { .. } | Self::ReservedAnnotation { .. } => false,
        }
    }

    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Files { problems } => Some(match problems.first()? {
                FileProblem::Key { .. } => "rename the file in the bundle",
                FileProblem::Collision { .. } => {
                    "rename one of the files: in a key, every character except letters, digits, '-', \
                     '_' and '.' becomes '-', and the files of manifests/ and metadata/ must have \
                     different keys"
                }
            }),
            _ => None,
        }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key { path, error } => write!(f, "{}: {error}", excerpt::shorten(path)),
            Self::Collision { key, paths } => {
                let paths = excerpt::list(paths, " and ");
                write!(f, "{paths} have the same ConfigMap key {key}")
            }
        }
    }
}
