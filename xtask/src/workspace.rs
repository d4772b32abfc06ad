//! Where things are.

use std::path::{Path, PathBuf};

/// Names the corpus of bundles, if it isn't beside the workspace.
pub(crate) const CORPUS: &str = "UNLADE_CORPUS";

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The directory that cargo builds into.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(path) => std::env::current_dir().unwrap_or_default().join(path),
        None => root().join("target"),
    }
}

/// The corpus of bundles, whether or not it is there; the tests look at the same place.
pub(crate) fn corpus() -> PathBuf {
    std::env::var_os(CORPUS).map_or_else(|| root().join("../shared/corpus"), PathBuf::from)
}
