//! Why a bundle directory is not read.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a bundle directory is not read. Paths are relative to the bundle root.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bundle root cannot be opened.
    #[error("bundle root {} cannot be opened", path.display())]
    Root {
        /// The root as it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A directory or file that the bundle needs is not there.
    #[error("{path} is missing")]
    Missing {
        /// What is missing.
        path: String,
    },
    /// Something else lies where a directory is needed.
    #[error("{path} is not a directory")]
    NotADirectory {
        /// What lies there.
        path: String,
    },
    /// A directory inside `manifests/` or `metadata/`: a bundle is flat (003.7), and upstream
    /// fails on it too.
    #[error("{path} is a directory inside a bundle's directory")]
    NestedDirectory {
        /// The inner directory, or the link to one.
        path: String,
    },
    /// A link that is not followed.
    #[error("link {path} -> {target} {fault}")]
    Link {
        /// The link.
        path: String,
        /// Where it points to, as written.
        target: String,
        /// What is wrong with it.
        fault: LinkFault,
    },
    /// A path that climbs out of the folder that it belongs to.
    #[error("path {path} leads out of the bundle")]
    Outside {
        /// The path as it was given.
        path: String,
    },
    /// A mount inside the bundle: what lies there does not belong to the image.
    #[error("{path} is on another mount than the bundle root")]
    Mount {
        /// The first path on the other mount.
        path: String,
    },
    /// A device, FIFO or socket.
    #[error("{path} is a {kind}, not a regular file")]
    Special {
        /// Its path.
        path: String,
        /// What it is.
        kind: Kind,
    },
    /// The user may not read a file or directory that is there.
    #[error("{path} (mode {mode:04o}) is not readable for uid {uid}")]
    Unreadable {
        /// Its path.
        path: String,
        /// The effective user id of this process.
        uid: u32,
        /// Its permission bits.
        mode: u32,
    },
    /// A file name that is not UTF-8.
    #[error("{directory}: file name {name} is not UTF-8")]
    Name {
        /// The directory that it lies in.
        directory: String,
        /// The name with its odd bytes escaped.
        name: String,
    },
    /// More files than the limit.
    #[error("{directory}: the bundle has more than {limit} files")]
    Files {
        /// The directory in which the limit was passed.
        directory: String,
        /// The limit, in files.
        limit: usize,
    },
    /// A file larger than the limit for one.
    #[error("{path} is larger than {limit} bytes")]
    FileSize {
        /// Its path.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// All files together are larger than the limit.
    #[error("{path}: the files of the bundle are larger than {limit} bytes")]
    TotalSize {
        /// The file with which the limit was passed.
        path: String,
        /// The limit, in bytes.
        limit: usize,
    },
    /// A file was exchanged while it was opened.
    #[error("{path} changed while it was read")]
    Changed {
        /// Its path.
        path: String,
    },
    /// The system failed otherwise.
    #[error("{path} cannot be read")]
    System {
        /// The path that was read.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// annotations.yaml does not say where the bundle's directories are.
    #[error(transparent)]
    Layout(#[from] unlade_bundle::layout::Error),
    /// The files were read, but are no bundle's content.
    #[error(transparent)]
    Content(#[from] unlade_bundle::content::Error),
}

impl Error {
    /// What may help, where that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unreadable { .. } => Some("run as the user that owns the file, or as root"),
            Self::NestedDirectory { .. } => {
                Some("a bundle is flat: move the files up, or out of the directory")
            }
            Self::Content(error) => error.hint(),
            Self::Mount { .. } => Some("mount the whole bundle at its root, not its directories"),
            _ => None,
        }
    }
}

/// What is wrong with a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LinkFault {
    /// Its target starts with `/`.
    Absolute,
    /// Its target climbs out of the directory that the link belongs to.
    Outside,
    /// Its target is on another mount.
    Mount,
    /// Its target is not there.
    Dangling,
    /// Its target lies behind a file that is not a directory.
    NotADirectory,
    /// More than 40 links follow one another, as in a loop.
    Loop,
}

impl fmt::Display for LinkFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Absolute => {
                "is absolute; only relative links inside of the directory are followed"
            }
            Self::Outside => "leads out of the directory that it belongs to",
            Self::Mount => "leads to another mount",
            Self::Dangling => "leads nowhere",
            Self::NotADirectory => "leads through something that is not a directory",
            Self::Loop => "is part of a loop, or of more than 40 links in a row",
        })
    }
}

/// What lies where a regular file is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A block or character device.
    Device,
    /// A FIFO (named pipe).
    Fifo,
    /// A socket.
    Socket,
    /// Something that this version does not know.
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
