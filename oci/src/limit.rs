//! Limits on everything that is read out of an image.

/// Most bytes of an index, a manifest or a configuration: that of containers/image
/// (`internal/iolimits`) and of registries.
pub const JSON: u64 = 4 << 20;
/// Most indexes that are followed from `index.json` to a manifest.
pub const NESTING: usize = 4;
/// Most layers of an image. Docker ends at 127.
pub const LAYERS: usize = 1_000;
/// Most tar entries that are looked at, of all layers and the archive around them together. A
/// whole desktop system has half a million.
pub const ENTRIES: u64 = 5_000_000;
/// Most bytes that come out of decompression, of everything that is read together. The largest
/// images in use, those of machine learning, have some 40 GB.
pub const UNPACKED: u64 = 64 << 30;
/// Most decompressed bytes for each compressed byte, once [`RATIO_FROM`] is passed. Deflate itself
/// ends at 1,032; zstd does not end.
pub const RATIO: u64 = 1_100;
/// Decompressed bytes up to which any ratio is allowed: a layer of little but zeros is short.
pub const RATIO_FROM: u64 = 64 << 20;
/// Most bytes of the headers of one tar entry: its long names and PAX records. Go's limit for each
/// of these is 1 MiB (`archive/tar`, `maxSpecialFileSize`).
pub const HEADER: u64 = 1 << 20;
/// Most bytes of an archive's small files that are kept in memory, so that a compressed archive is
/// not decompressed once more for each.
pub const KEPT: u64 = 32 << 20;

/// Most files of an archive around an image, whose names are kept in memory.
pub const FILES: usize = 50_000;
/// Longest name, in bytes, of a file of an archive that is found again.
pub const NAME: usize = 1_024;

/// The limits that a reader keeps; each has a default and can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes of one JSON document ([`JSON`]).
    pub json: u64,
    /// Most indexes on the way to a manifest ([`NESTING`]).
    pub nesting: usize,
    /// Most layers ([`LAYERS`]).
    pub layers: usize,
    /// Most tar entries in all ([`ENTRIES`]).
    pub entries: u64,
    /// Most decompressed bytes in all ([`UNPACKED`]).
    pub unpacked: u64,
    /// Most decompressed bytes for each compressed byte ([`RATIO`]).
    pub ratio: u64,
    /// Decompressed bytes of a stream up to which any ratio is allowed ([`RATIO_FROM`]).
    pub ratio_from: u64,
    /// Most bytes of the headers of one tar entry ([`HEADER`]).
    pub header: u64,
    /// The limits of the bundle itself: number and sizes of its files.
    pub content: unlade_format::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json: JSON,
            nesting: NESTING,
            layers: LAYERS,
            entries: ENTRIES,
            unpacked: UNPACKED,
            ratio: RATIO,
            ratio_from: RATIO_FROM,
            header: HEADER,
            content: unlade_format::Limits::default(),
        }
    }
}
