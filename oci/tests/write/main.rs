//! Images are written reproducibly, so that this crate and other programs can read them.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the fixture serves tests only, as what stands in a test module does"
)]

/// Images with unusual content, which must not affect the bundle.
mod awkward;
/// Images of bundle directories.
mod bundle;
/// Copies of images.
mod copy;
/// Empty directories as destinations.
mod empty;
/// Layers on top of existing images.
mod extend;
/// Directories of images, written to disk.
mod extract;
/// Stable digests, and output that appears atomically.
mod output;
/// Other programs read the written images.
mod peer;
/// Copies that fail while another blob is copied.
mod stop;
/// The tar of a layer.
mod tape;

mod fixture;
