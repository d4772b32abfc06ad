//! The errors of reading a bundle from its files.

use std::fmt;
use std::io;
use std::path::PathBuf;

use unlade_text::excerpt::shorten;

use super::walk::MAX_COMPONENTS;
use crate::{content, layout};

/// Why the files of a bundle were not read. Paths are relative to the bundle root, which is the
/// root of an image. Messages shorten paths that are longer than a screen line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The root of a bundle directory cannot be opened.
    #[error("failed to open the bundle root {}", path.display())]
    Root {
        /// The root as the caller passed it.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A directory or file that the bundle needs does not exist.
    #[error("{} does not exist", shorten(.path))]
    Missing {
        /// The path that does not exist.
        path: String,
    },
    /// A path that must be a directory is something else.
    #[error("{} is not a directory", shorten(.path))]
    NotADirectory {
        /// Its path.
        path: String,
    },
    /// `manifests/` or `metadata/` contains a directory. A bundle is flat (design 003.7), and
    /// upstream fails too.
    #[error("{} is a nested directory", shorten(.path))]
    NestedDirectory {
        /// The nested directory, or the link to one.
        path: String,
    },
    /// A link was not followed.
    #[error("the link {} -> {} {fault}", shorten(.path), shorten(.target))]
    Link {
        /// The link.
        path: String,
        /// Its target, as written.
        target: String,
        /// Why it was not followed.
        fault: LinkFault,
    },
    /// A path leads out of the directory.
    #[error("the path {} leads out of the directory", shorten(.path))]
    Outside {
        /// The path as the bundle names it.
        path: String,
    },
    /// A path is on a mount inside the directory, so it does not belong to it.
    #[error("{} is on a different mount from the root of the directory", shorten(.path))]
    Mount {
        /// The first path on the other mount.
        path: String,
    },
    /// A file is not a regular file, such as a device or FIFO.
    #[error("{} is a {kind}, not a regular file", shorten(.path))]
    Special {
        /// Its path.
        path: String,
        /// Its kind, in words.
        kind: &'static str,
    },
    /// The user may not read a file or directory.
    #[error("{} (mode {mode:04o}) is not readable by uid {uid}", shorten(.path))]
    Unreadable {
        /// Its path.
        path: String,
        /// The effective user id of this process.
        uid: u32,
        /// Its permission bits.
        mode: u32,
    },
    /// A file name is not UTF-8.
    #[error("{}: the file name {} is not UTF-8", shorten(.directory), shorten(.name))]
    Name {
        /// The directory of the file.
        directory: String,
        /// The name, with bytes that are not printable ASCII escaped.
        name: String,
    },
    /// The bundle has too many files.
    #[error("{}: the bundle has more than {limit} files", shorten(.directory))]
    Files {
        /// The directory in which the limit was exceeded.
        directory: String,
        /// The limit, in files.
        limit: usize,
    },
    /// A file is too large.
    #[error("{} is larger than {limit} bytes", shorten(.path))]
    FileSize {
        /// Its path.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// All files together are too large.
    #[error("{}: the files of the bundle are larger than {limit} bytes in total", shorten(.path))]
    TotalSize {
        /// The file that exceeds the limit.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A file was replaced while it was opened.
    #[error("{} changed while it was read", shorten(.path))]
    Changed {
        /// Its path.
        path: String,
    },
    /// The system failed to read a path.
    #[error("failed to read {}", shorten(.path))]
    System {
        /// The path.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// annotations.yaml does not name usable directories.
    #[error(transparent)]
    Layout(#[from] layout::Error),
    /// The files were read, but they are not the content of a bundle.
    #[error(transparent)]
    Content(#[from] content::Error),
}

impl Error {
    /// Checks whether one of the [`Limits`](crate::Limits) was exceeded.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::Files { .. }
            | Self::FileSize { .. }
            | Self::TotalSize { .. }
            | Self::Link { fault: LinkFault::Budget, .. } => true,
            Self::Layout(error) => error.is_limit(),
            Self::Content(error) => error.is_limit(),
            _ => false,
        }
    }

    /// Returns what the user can do about the error, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { .. } => Some("run as the user that owns the file, or as root"),
            Self::NestedDirectory { .. } => Some(
                "move the files into its parent directory, or out of the bundle: a bundle has no \
                 nested directories",
            ),
            Self::Content(error) => error.hint(),
            Self::Mount { .. } => {
                Some("mount the whole directory at its root, and nothing inside it")
            }
            _ => None,
        }
    }
}

/// Why a link was not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkFault {
    /// Its target starts with `/`.
    Absolute,
    /// Its target is outside the directory that the link belongs to.
    Outside,
    /// Its target is on another mount.
    Mount,
    /// Its target does not exist.
    Dangling,
    /// A component of its target other than the last one is not a directory.
    NotADirectory,
    /// Its target needs more than 40 links to be followed, as in a loop.
    Loop,
    /// The targets of all links that were followed have too many components.
    Budget,
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Absolute => "is absolute; only relative links inside the directory are followed",
            Self::Outside => "leads out of the directory that it belongs to",
            Self::Mount => "leads to another mount",
            Self::Dangling => "leads to a file that does not exist",
            Self::NotADirectory => "leads through a file that is not a directory",
            Self::Loop => "is part of a loop, or of a chain of more than 40 links",
            Self::Budget => {
                return write!(
                    f,
                    "is not followed: the targets of all links have more than {MAX_COMPONENTS} components"
                );
            }
        };
        f.write_str(text)
    }
}
