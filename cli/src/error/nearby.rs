//! Finds a bundle directory near the path that was given.

use std::fs;
use std::path::{Path, PathBuf};

use unlade_text::excerpt;

/// The maximum number of entries of a directory that are looked at.
const ENTRIES: usize = 1_000;

/// Suggests what to give in place of `path`, which lacks one of the directories of a bundle.
pub(super) fn hint(path: &Path) -> String {
    if let Some(parent) = parent(path) {
        return format!("the bundle is the directory above: {}", parent.display());
    }
    let below = below(path);
    match &below[..] {
        [] => "a bundle directory contains manifests/ and metadata/".to_owned(),
        [one] => format!("{} is a bundle directory", path.join(one).display()),
        several => format!("bundle directories below it: {}", excerpt::list(several, ", ")),
    }
}

/// The bundle that `path` is a part of.
fn parent(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let name = path.file_name()?;
    let is_part = name == "manifests" || name == "metadata";
    path.parent().filter(|parent| is_part && is_bundle(parent)).map(Path::to_owned)
}

/// The names of the bundles in `path`.
fn below(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().take(ENTRIES).flatten();
    let bundles = entries.filter(|entry| is_bundle(&entry.path()));
    let mut names: Vec<_> =
        bundles.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn is_bundle(path: &Path) -> bool {
    path.join("manifests").is_dir() && path.join("metadata").is_dir()
}
