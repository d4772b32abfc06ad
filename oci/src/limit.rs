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
/// Most bytes that are read and that come out of decompression, of everything that is read
/// together and each time that it is read. The largest images in use, those of machine learning,
/// have some 40 GB.
pub const UNPACKED: u64 = 64 << 30;
/// Most bytes that are read and decompressed for each byte of the image as it is stored, once
/// [`RATIO_FROM`] is passed: for all layers together, and all times that they are read. Layers of
/// text reach some 10, and links can make it necessary to read them a few times.
pub const RATIO: u64 = 50;
/// Bytes that are read and decompressed up to which any ratio is allowed, for little but zeros is
/// short. More than most images of bundles have: some kilobytes of text.
///
/// With [`RATIO`] this makes 756 MiB for an image of 10 MiB, which takes less than 5 seconds of
/// one CPU.
pub const RATIO_FROM: u64 = 256 << 20;
/// Most bytes of the headers of one tar entry: its long names and PAX records. Go's limit for each
/// of these is 1 MiB (`archive/tar`, `maxSpecialFileSize`).
pub const HEADER: u64 = 1 << 20;
/// Most bytes of an archive's small files that are kept in memory, so that a compressed archive is
/// not decompressed once more for each.
pub const KEPT: u64 = 16 << 20;
/// Longest path of a layer's entry, and longest target of a link, in bytes: Linux takes no longer
/// ones (`PATH_MAX`, with its NUL).
pub const PATH: usize = 4_095;
/// Most slashes in a path of a layer's entry, or in the target of a link. The deepest trees in
/// use, those of JavaScript's packages, have some 30.
pub const DEPTH: usize = 128;
/// Most bytes of names and link targets that are kept in memory, each with 128 bytes for what is
/// around it. Of a layer those of the bundle's directories are kept, of an archive all.
pub const NAMES: u64 = 32 << 20;
/// Largest window of a zstd frame, in bytes. Builders end at 32 MiB
/// (`klauspost/compress`, `SpeedBestCompression`); RFC 8878 recommends to support 8 MiB.
pub const WINDOW: u64 = 32 << 20;

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
    /// Most bytes that are read and decompressed in all ([`UNPACKED`]).
    pub unpacked: u64,
    /// Most bytes that are read and decompressed for each byte of the image ([`RATIO`]).
    pub ratio: u64,
    /// Bytes that are read and decompressed up to which any ratio is allowed ([`RATIO_FROM`]).
    pub ratio_from: u64,
    /// Most bytes of the headers of one tar entry ([`HEADER`]).
    pub header: u64,
    /// Most bytes of names and link targets that are kept ([`NAMES`]).
    pub names: u64,
    /// The limits of the bundle itself: number and sizes of its files.
    pub content: unlade_bundle::Limits,
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
            names: NAMES,
            content: unlade_bundle::Limits::default(),
        }
    }
}
