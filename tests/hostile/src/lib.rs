//! Hostile inputs by family and size, and the readers that they are for.
//!
//! The author of a bundle chooses every byte of it. A [`Family`] generates inputs with one
//! structure, in any size: nesting, aliases, long names, streams that expand. An [`Entry`] is a
//! reader of untrusted bytes, with the properties that every result must have. Both are used three
//! times: fuzz targets (`fuzz/`) start from the families and other [`seeds`], and run entries,
//! `tests/cost.rs` compares the cost of a family at several sizes, and `cargo xtask bench hostile`
//! runs the real programs on the families.
//!
//! Nothing here is taken from a published bundle.

pub mod cost;
pub mod entry;
pub mod family;
pub mod image;
pub mod program;
mod seed;
pub mod tape;

pub use cost::Cost;
pub use entry::Entry;
pub use family::Family;
pub use seed::{inputs, seeds};
