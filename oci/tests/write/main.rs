//! Images are written so that our reader and other programs take them, the same each time.
#![expect(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "the fixture serves tests only, as what stands in a test module does"
)]

/// Images of bundles that unpacking must not be disturbed by.
mod awkward;
/// Images of bundle directories.
mod bundle;
/// Digests that stay, and output that appears whole.
mod output;
/// Other programs read what is written.
mod peer;
/// What a layer's tar looks like.
mod tape;

mod fixture;
