//! The errors of reading a bundle directory.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a bundle directory was not read. Paths are relative to the bundle root.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bundle root cannot be opened.
    #[error("failed to open the bundle root {}", path.display())]
    Root {
        /// The root as the caller passed it.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A directory or file that the bundle needs does not exist.
    #[error("{path} does not exist")]
    Missing {
        /// The path that does not exist.
        path: String,
    },
    /// A path that must be a directory is something else.
    #[error("{path} is not a directory")]
    NotADirectory {
        /// Its path.
        path: String,
    },
    /// `manifests/` or `metadata/` contains a directory. A bundle is flat (003.7), and upstream
    /// fails too.
    #[error("{path} is a nested directory")]
    NestedDirectory {
        /// The nested directory, or the link to one.
        path: String,
    },
    /// A link was not followed.
    #[error("link {path} -> {target} {fault}")]
    Link {
        /// The link.
        path: String,
        /// Its target, as written.
        target: String,
        /// Why it was not followed.
        fault: LinkFault,
    },
    /// A path leads out of the bundle.
    #[error("path {path} leads out of the bundle")]
    Outside {
        /// The path as the bundle names it.
        path: String,
    },
    /// A path is on a mount inside the bundle, so it does not belong to the image.
    #[error("{path} is on another mount than the bundle root")]
    Mount {
        /// The first path on the other mount.
        path: String,
    },
    /// A file is a device, FIFO or socket.
    #[error("{path} is a {kind}, not a regular file")]
    Special {
        /// Its path.
        path: String,
        /// Its kind.
        kind: Kind,
    },
    /// The user may not read a file or directory.
    #[error("{path} (mode {mode:04o}) is not readable for uid {uid}")]
    Unreadable {
        /// Its path.
        path: String,
        /// The effective user id of this process.
        uid: u32,
        /// Its permission bits.
        mode: u32,
    },
    /// A file name is not UTF-8.
    #[error("{directory}: file name {name} is not UTF-8")]
    Name {
        /// The directory of the file.
        directory: String,
        /// The name, with bytes that are not printable ASCII escaped.
        name: String,
    },
    /// The bundle has too many files.
    #[error("{directory}: the bundle has more than {limit} files")]
    Files {
        /// The directory in which the limit was exceeded.
        directory: String,
        /// The limit, in files.
        limit: usize,
    },
    /// A file is too large.
    #[error("{path} is larger than {limit} bytes")]
    FileSize {
        /// Its path.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// All files together are too large.
    #[error("{path}: the files of the bundle are larger than {limit} bytes")]
    TotalSize {
        /// The file that exceeds the limit.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A file was replaced while it was opened.
    #[error("{path} changed while it was read")]
    Changed {
        /// Its path.
        path: String,
    },
    /// The system failed to read a path.
    #[error("failed to read {path}")]
    System {
        /// The path.
        path: String,
        /// The error of the system.
        source: io::Error,
    },
    /// annotations.yaml does not name usable directories.
    #[error(transparent)]
    Layout(#[from] unlade_bundle::layout::Error),
    /// The files were read, but they are not the content of a bundle.
    #[error(transparent)]
    Content(#[from] unlade_bundle::content::Error),
}

impl Error {
    /// Returns what the user can do about the error, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { .. } => Some("run as the user that owns the file, or as root"),
            Self::NestedDirectory { .. } => Some(
                "a bundle is flat: move the files into its parent directory, or out of the \
                     bundle",
            ),
            Self::Content(error) => error.hint(),
            Self::Mount { .. } => {
                Some("mount the whole bundle at its root instead of its directories")
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
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absolute => "is absolute; only relative links inside the directory are followed",
            Self::Outside => "leads out of the directory that it belongs to",
            Self::Mount => "leads to another mount",
            Self::Dangling => "leads to a file that does not exist",
            Self::NotADirectory => "leads through a file that is not a directory",
            Self::Loop => "is part of a loop, or of a chain of more than 40 links",
        })
    }
}

/// The kind of a file that is not a regular file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A block or character device.
    Device,
    /// A FIFO (named pipe).
    Fifo,
    /// A socket.
    Socket,
    /// A kind that this version does not know.
    Unknown,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Fifo => "FIFO",
            Self::Socket => "socket",
            Self::Unknown => "special file",
        })
    }
}
