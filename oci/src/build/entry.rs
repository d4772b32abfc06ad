//! [`Entry`]: a file, directory, link or removal in a layer.

use std::path::{Path as FilePath, PathBuf};

use super::Error;
use crate::whiteout::{OPAQUE, PREFIX};

/// An entry of a layer. Its parent directories need no entries: those that are missing are written
/// with mode 0755.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path from the root of the image. Slashes at either end are ignored.
    pub path: String,
    /// The kind of entry.
    pub kind: Kind,
    /// The permission bits, including set-user-ID, set-group-ID and sticky.
    pub mode: u32,
    /// The IDs of the user and the group that own the entry.
    pub owner: (u32, u32),
}

/// The kind of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A regular file.
    File(Data),
    /// A directory.
    Directory,
    /// A symbolic link to this target, as written.
    Link(String),
    /// A hard link to the file at this path of the image.
    HardLink(String),
    /// A removal of what lower layers have at the path.
    Removed,
    /// A directory that hides the content of lower layers.
    Opaque,
}

/// The content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Data {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The content that the local file at this path has when the image is written.
    Path(PathBuf),
}

impl Entry {
    fn new(path: impl Into<String>, kind: Kind, mode: u32) -> Self {
        Self { path: path.into(), kind, mode, owner: (0, 0) }
    }

    /// Creates a file with this content and mode 0644.
    pub fn file(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(path, Kind::File(Data::Bytes(bytes.into())), 0o644)
    }

    /// Creates a copy of the local file `source`, with mode 0644.
    pub fn copy(path: impl Into<String>, source: impl AsRef<FilePath>) -> Self {
        Self::new(path, Kind::File(Data::Path(source.as_ref().to_owned())), 0o644)
    }

    /// Creates a directory with mode 0755.
    pub fn directory(path: impl Into<String>) -> Self {
        Self::new(path, Kind::Directory, 0o755)
    }

    /// Creates a symbolic link. The target is written unchanged.
    pub fn link(path: impl Into<String>, target: impl Into<String>) -> Self {
        Self::new(path, Kind::Link(target.into()), 0o777)
    }

    /// Creates a hard link to a file of the same or a lower layer.
    pub fn hard_link(path: impl Into<String>, target: impl Into<String>) -> Self {
        Self::new(path, Kind::HardLink(target.into()), 0o644)
    }

    /// Creates a whiteout, which removes what lower layers have at `path`.
    pub fn removed(path: impl Into<String>) -> Self {
        Self::new(path, Kind::Removed, 0o644)
    }

    /// Creates an opaque directory, which removes everything that lower layers have in `path`.
    pub fn opaque(path: impl Into<String>) -> Self {
        Self::new(path, Kind::Opaque, 0o755)
    }

    /// Sets the permission bits.
    #[must_use]
    pub fn with_mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }

    /// Sets the user and the group that own the entry.
    #[must_use]
    pub fn owned_by(self, user: u32, group: u32) -> Self {
        Self { owner: (user, group), ..self }
    }
}

/// The parts of the path of an entry. In this order, a directory comes before its content.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(Vec<String>);

impl Place {
    pub(super) fn parse(path: &str) -> Result<Self, Error> {
        let parts: Vec<_> = path.trim_matches('/').split('/').map(str::to_owned).collect();
        let refused = || Error::Path { path: path.to_owned() };
        if parts.iter().any(|part| matches!(part.as_str(), "" | "." | "..") || part.contains('\0'))
        {
            return Err(refused());
        }
        if parts.iter().any(|part| part.starts_with(PREFIX)) {
            return Err(Error::Whiteout { path: path.to_owned() });
        }
        Ok(Self(parts))
    }

    /// Returns the parent directories, outermost first.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = Self> {
        (1..self.0.len()).filter_map(|n| Some(Self(self.0.get(..n)?.to_vec())))
    }

    pub(super) fn path(&self) -> String {
        self.0.join("/")
    }

    /// Returns the path of the whiteout that removes this path.
    pub(super) fn whiteout(&self) -> String {
        match self.0.split_last() {
            Some((name, [])) => format!("{PREFIX}{name}"),
            Some((name, above)) => format!("{}/{PREFIX}{name}", above.join("/")),
            None => String::new(),
        }
    }

    /// Returns the path of the file that makes this directory opaque.
    pub(super) fn opaque(&self) -> String {
        format!("{}/{OPAQUE}", self.path())
    }
}
