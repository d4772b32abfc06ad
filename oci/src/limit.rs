//! Limits for everything that is read from an image.

use derive_setters::Setters;

/// The maximum size of an index, a manifest or a configuration, in bytes. containers/image
/// (`internal/iolimits`) and registries have the same limit.
pub const JSON: u64 = 4 << 20;
/// The maximum size of the parsed values of a document that is changed, in bytes. A hostile
/// document of [`JSON`] bytes can need 700 MB, but an index of this size with annotations needs 30
/// MB.
pub(crate) const VALUES: usize = 64 << 20;
/// The maximum size of the manifests and configurations of an image that is extended, in bytes,
/// with [`DOCUMENT`] for each. Changing a MiB takes about 6 ms.
pub(crate) const DOCUMENTS: u64 = 256 << 20;
/// What each of these documents counts besides its size, for the files that are created. An index
/// may have some 250 images; public ones have about 20.
pub(crate) const DOCUMENT: u64 = 512 << 10;
/// The maximum size of the small files of a compressed archive that are kept in memory, in bytes.
/// This avoids decompressing the archive again for each of them.
pub const KEPT: u64 = 16 << 20;
/// The maximum length of the path of an entry, and of the target of a link, in bytes. Linux does
/// not support longer ones (`PATH_MAX`, which includes a NUL).
pub const PATH: usize = 4_095;
/// The maximum number of slashes in the path of an entry, or in the target of a link. The deepest
/// trees in use, of JavaScript packages, have about 30.
pub const DEPTH: usize = 128;
/// The maximum length of each name in the platform of an image, such as its operating system, in
/// bytes. The names in use have at most 20.
pub const PLATFORM: usize = 128;
/// The maximum window size of a zstd frame, in bytes. Builders use at most 32 MiB
/// (`klauspost/compress`, `SpeedBestCompression`). RFC 8878 recommends supporting 8 MiB.
pub const WINDOW: u64 = 32 << 20;
/// What a block of gzip or zstd counts besides its content, in bytes that are read. A block of 17
/// bytes of zstd can define tables that take 15 µs to build, and one of 22 bytes of gzip some that
/// take 4 µs. Builders write blocks of at least 10 KiB.
pub const BLOCK: u64 = 4 << 10;

/// What each part of a path counts besides its bytes if the image has links, in bytes that are
/// read. A lookup takes about 50 ns for each part. Paths in images have about 8 parts.
pub const PART: u64 = 16;
/// What each place to which the links in a path could lead counts besides its parts, in bytes that
/// are read. Finding it takes about 500 ns. Few paths of an image lead through a link.
pub const PLACE: u64 = 128;

/// The maximum size of the files of a directory that is written to disk, in bytes, in all layers
/// together. The disk holds them twice while they are written. The largest catalogs have about 100
/// MB.
pub const EXTRACTED: u64 = 4 << 30;
/// The maximum number of files, directories and links that are created for a directory that is
/// written to disk. The system takes about 30 µs for each, and ext4 takes up to a millisecond after
/// many other files were deleted. The largest catalogs have some thousands: at most one file for
/// each bundle.
pub const CREATED: usize = 20_000;
/// The maximum number of files of an archive around an image. Their names are kept in memory.
pub const FILES: usize = 50_000;
/// The maximum length of the name of a file in an archive, in bytes. Files with longer names are
/// ignored.
pub const NAME: usize = 1_024;

/// The maximum number of blobs that are transferred at the same time, as in skopeo.
pub const TRANSFERS: usize = 6;

/// The limits of a reader. Each has a default and can be changed.
#[derive(Debug, Clone, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of one JSON document, in bytes ([`JSON`]).
    pub json: u64,
    /// The maximum number of indexes between `index.json` and a manifest.
    pub nesting: usize,
    /// The maximum number of layers of an image. The limit of Docker is 127.
    pub layers: usize,
    /// The maximum number of tar entries in all layers and the archive around them. A complete
    /// desktop system has half a million.
    pub entries: u64,
    /// The maximum number of bytes that are read or decompressed in total, including repeated
    /// reads. The largest images in use, for machine learning, have about 40 GB.
    pub unpacked: u64,
    /// The maximum number of bytes that are read or decompressed for each stored byte of the image,
    /// once [`ratio_from`](Self::ratio_from) is exceeded. This includes all layers and repeated
    /// reads. Layers of text have a ratio of about 10, and links can make a few repeated reads
    /// necessary.
    pub ratio: u64,
    /// The number of bytes that may be read or decompressed at any ratio, because small images can
    /// consist mostly of zeros. Most images of bundles are smaller: they have a few kilobytes of
    /// text.
    ///
    /// With the default [`ratio`](Self::ratio), at most 500 MiB are read and decompressed for an
    /// image of 10 MiB, which takes less than 5 seconds of one CPU.
    pub ratio_from: u64,
    /// The maximum size of the headers of one tar entry, in bytes: its long names and PAX records.
    /// Go's limit for each of these is 1 MiB (`archive/tar`, `maxSpecialFileSize`).
    pub header: u64,
    /// The maximum size of the names and link targets that are kept in memory, in bytes, and of the
    /// digests of the parts of a copy. Each counts 128 bytes more for the structures around it.
    /// Those of an archive are all kept. Those of a layer are kept only for the directories of the
    /// bundle.
    pub names: u64,
    /// The limits of the bundle: the number and sizes of its files.
    pub content: unlade_bundle::Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            json: JSON,
            nesting: 4,
            layers: 1_000,
            entries: 5_000_000,
            unpacked: 64 << 30,
            ratio: 50,
            ratio_from: 256 << 20,
            header: 1 << 20,
            names: 32 << 20,
            content: unlade_bundle::Limits::default(),
        }
    }
}
