//! Integration tests of the whole project, and the harness that they share.

use std::path::{Path, PathBuf};

pub mod cluster;
pub mod corpus;
pub mod manifest;
pub mod olm;
pub mod peer;
pub mod shipped;
pub mod trap;

/// Returns the directory of the example bundle in the repository.
pub fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hello-operator")
}
