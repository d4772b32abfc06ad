//! The names of files that remove what lower layers have (image-spec, layer.md).

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
    /// Nothing: engines skip the file.
    Internal,
    /// The name does not name a file.
    Invalid,
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
