//! Bundles are read out of images, and images that are not sound are refused.
#![expect(
    unreachable_pub,
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the fixture serves tests only, as what stands in a test module does"
)]

/// Documents beside what Go reads.
mod document;
/// Bombs, endless headers and other hostile input.
mod hostile;
/// Files that are something else.
mod input;
/// Which entries of which layer end in the bundle.
mod layers;
/// Links of all kinds, and `manifests.v1`.
mod links;
/// Memory of the reader.
mod memory;
/// Directories, archives, and which of their images is meant.
mod sources;
/// Dialects of tar.
mod tape;
/// Digests, sizes and media types.
mod verification;

mod fixture;
