//! The names of files that remove what lower layers have (image-spec, layer.md).

use crate::path;
use crate::tar_reader::{Entry, Kind};

/// The prefix of a file that removes a file of a lower layer.
pub(crate) const PREFIX: &str = ".wh.";
/// The name of a file that removes everything of lower layers in its directory.
pub(crate) const OPAQUE: &str = ".wh..wh..opq";
/// The prefix of internal files of AUFS.
const AUFS: &[u8] = b".wh..wh.";

/// What the name of a file in a layer removes.
#[derive(Clone, Copy)]
pub(crate) enum Whiteout<'a> {
    /// Everything of lower layers in its directory.
    Opaque,
    /// The file with this name.
    Of(&'a [u8]),
    /// Nothing that is kept: vfs skips the file in the root, and other engines remove the file or
    /// directory whose name is that of another whiteout.
    Internal,
    /// The name does not name a file.
    Invalid,
}

/// Checks whether `entry` at `path` is inside a directory with the name of a whiteout, or is a hard
/// link to something inside it.
pub(crate) fn depends_on_whiteout<R>(path: &[u8], entry: &Entry<'_, R>) -> bool {
    let links_into_whiteout =
        || path::normalize(&entry.link).is_some_and(|target| is_inside_whiteout(&target));
    is_inside_whiteout(path) || entry.kind == Kind::HardLink && links_into_whiteout()
}

/// Checks whether `path` is inside a directory with the name of a whiteout. Engines create the
/// directory `.wh.NAME` for the files in it, and the whiteout `.wh..wh.NAME` removes it. Only AUFS
/// wrote such directories, in the root of an image. vfs, a driver of containers/storage, skips
/// everything in these, and finds the target of a hard link into them by its last part alone.
pub(crate) fn is_inside_whiteout(path: &[u8]) -> bool {
    path::ancestors(path).any(|above| path::name(above).starts_with(PREFIX.as_bytes()))
}

impl<'a> Whiteout<'a> {
    /// Returns `None` for the name of another file.
    pub(crate) fn parse(name: &'a [u8]) -> Option<Self> {
        let hidden = name.strip_prefix(PREFIX.as_bytes())?;
        Some(match hidden {
            _ if name == OPAQUE.as_bytes() => Self::Opaque,
            _ if name.starts_with(AUFS) => Self::Internal,
            b"" | b"." | b".." => Self::Invalid,
            hidden => Self::Of(hidden),
        })
    }
}
