//! Finds a bundle directory near the path that the user passed.

use std::fs;
use std::path::{Path, PathBuf};

use unlade_text::excerpt;

/// The maximum number of entries of a directory that are checked.
const MAX_ENTRIES: usize = 1_000;

/// Suggests a bundle directory in place of `path`, which lacks one of the directories of a bundle.
pub(super) fn hint(path: &Path) -> String {
    if let Some(parent) = parent(path) {
        return format!("use its parent {}, which is a bundle directory", parent.display());
    }
    let below = below(path);
    match &below[..] {
        [] => "pass a directory that contains manifests/ and metadata/".to_owned(),
        [one] => format!("use {}, which is a bundle directory", path.join(one).display()),
        several => {
            format!("use one of the bundle directories in it: {}", excerpt::list(several, ", "))
        }
    }
}

/// Returns the bundle directory whose `manifests` or `metadata` is `path`.
fn parent(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let name = path.file_name()?;
    let is_part = name == "manifests" || name == "metadata";
    path.parent().filter(|parent| is_part && is_bundle(parent)).map(Path::to_owned)
}

/// Returns the names of the bundle directories in `path`.
fn below(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().take(MAX_ENTRIES).flatten();
    let bundles = entries.filter(|entry| is_bundle(&entry.path()));
    let mut names: Vec<_> =
        bundles.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn is_bundle(path: &Path) -> bool {
    path.join("manifests").is_dir() && path.join("metadata").is_dir()
}
