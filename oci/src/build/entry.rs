//! One thing in a layer.

use std::path::{Path as FilePath, PathBuf};

use super::Error;

/// Prefix of a file that removes another of a lower layer (image-spec, layer.md).
const WHITEOUT: &str = ".wh.";
/// A file that removes all that lower layers have in its directory.
const OPAQUE: &str = ".wh..wh..opq";

/// Something at a path of a layer. Directories above it need no entries of their own: they are
/// written with mode 0755 where there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// From the root of the image; slashes at either end do not count.
    pub path: String,
    /// What is there.
    pub kind: Kind,
    /// The permission bits, set-user-ID and the like included.
    pub mode: u32,
    /// Numbers of the user and the group that it belongs to.
    pub owner: (u32, u32),
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A regular file.
    File(Data),
    /// A directory.
    Directory,
    /// A symbolic link to this, as written.
    Link(String),
    /// Another name of the file at this path of the image.
    HardLink(String),
    /// Nothing, even if a lower layer has something there.
    Removed,
    /// A directory with nothing in it of lower layers.
    Opaque,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Data {
    /// These bytes.
    Bytes(Vec<u8>),
    /// What a file of this machine holds when the image is written.
    Path(PathBuf),
}

impl Entry {
    fn new(path: impl Into<String>, kind: Kind, mode: u32) -> Self {
        Self { path: path.into(), kind, mode, owner: (0, 0) }
    }

    /// A file of these bytes, with mode 0644.
    pub fn file(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(path, Kind::File(Data::Bytes(bytes.into())), 0o644)
    }

    /// The file `source` of this machine, with mode 0644 whatever it has here.
    pub fn copy(path: impl Into<String>, source: impl AsRef<FilePath>) -> Self {
        Self::new(path, Kind::File(Data::Path(source.as_ref().to_owned())), 0o644)
    }

    /// A directory with mode 0755.
    pub fn directory(path: impl Into<String>) -> Self {
        Self::new(path, Kind::Directory, 0o755)
    }

    /// A symbolic link; the target is written as it is.
    pub fn link(path: impl Into<String>, target: impl Into<String>) -> Self {
        Self::new(path, Kind::Link(target.into()), 0o777)
    }

    /// Another name of a file of the same or a lower layer.
    pub fn hard_link(path: impl Into<String>, target: impl Into<String>) -> Self {
        Self::new(path, Kind::HardLink(target.into()), 0o644)
    }

    /// A whiteout: removes what lower layers have at `path`.
    pub fn removed(path: impl Into<String>) -> Self {
        Self::new(path, Kind::Removed, 0o644)
    }

    /// An opaque directory: removes all that lower layers have in `path`.
    pub fn opaque(path: impl Into<String>) -> Self {
        Self::new(path, Kind::Opaque, 0o755)
    }

    /// The same with other permission bits.
    #[must_use]
    pub fn with_mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    /// The same for another user and group.
    #[must_use]
    pub fn owned_by(self, user: u32, group: u32) -> Self {
        Self { owner: (user, group), ..self }
    }
}

/// Where an entry lies: the parts of its path. Directories come before what is in them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(Vec<String>);

impl Place {
    pub(super) fn of(path: &str) -> Result<Self, Error> {
        let parts: Vec<_> = path.trim_matches('/').split('/').map(str::to_owned).collect();
        let refused = || Error::Path { path: path.to_owned() };
        if parts.iter().any(|part| matches!(part.as_str(), "" | "." | "..") || part.contains('\0'))
        {
            return Err(refused());
        }
        if parts.iter().any(|part| part.starts_with(WHITEOUT)) {
            return Err(Error::Whiteout { path: path.to_owned() });
        }
        Ok(Self(parts))
    }

    /// The directories above it, outermost first.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = Self> {
        (1..self.0.len()).filter_map(|n| Some(Self(self.0.get(..n)?.to_vec())))
    }

    pub(super) fn path(&self) -> String {
        self.0.join("/")
    }

    /// The file that stands for the removal of what is here.
    pub(super) fn whiteout(&self) -> String {
        match self.0.split_last() {
            Some((name, [])) => format!("{WHITEOUT}{name}"),
            Some((name, above)) => format!("{}/{WHITEOUT}{name}", above.join("/")),
            None => String::new(),
        }
    }

    /// The file that makes the directory here opaque.
    pub(super) fn opaque(&self) -> String {
        format!("{}/{OPAQUE}", self.path())
    }
}
