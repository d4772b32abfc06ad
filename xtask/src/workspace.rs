//! The directories of the workspace.

use std::path::{Path, PathBuf};

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Returns the directory that cargo builds into.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(path) => std::env::current_dir().unwrap_or_default().join(path),
        None => root().join("target"),
    }
}
