//! Reads bundles from valid images, and rejects invalid ones.
#![expect(
    unreachable_pub,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the fixture serves tests only, as what stands in a test module does"
)]

/// Indexes from which container engines choose different images.
mod choice;
/// Docker archives.
mod docker;
/// Documents that Go reads differently.
mod document;
/// Decompression bombs, endless headers and other malicious input.
mod hostile;
/// Paths that are not regular files.
mod input;
/// The order of layers and the entries that become part of the bundle.
mod layers;
/// Links of all kinds, and `manifests.v1`.
mod links;
/// The memory of the reader.
mod memory;
/// Directories, archives, and the selection of an image.
mod sources;
/// The dialects of tar.
mod tar_reader;
/// The verification of digests, sizes and media types.
mod verification;

mod fixture;
