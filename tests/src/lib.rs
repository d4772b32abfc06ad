//! Integration tests of the whole, and the harness that they share.

use std::path::{Path, PathBuf};

pub mod cluster;
pub mod corpus;
pub mod manifest;
pub mod olm;
pub mod peer;
pub mod shipped;
pub mod trap;

/// The example bundle of the repository.
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hello-operator")
}

/// The Rust code of the README, which a documentation test compiles.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
