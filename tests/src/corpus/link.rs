//! The links of crafted bundles.
//!
//! Tools that carry a corpus around may turn a link into a file that holds its target. Such
//! bundles are copied, with their links.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// What is a link, by the name of the bundle.
const LINKS: [(&str, &str); 5] = [
    ("symlink-dangling", "manifests/link.yaml"),
    ("symlink-directory", "manifests/meta"),
    ("symlink-inside", "manifests/again.yaml"),
    ("symlink-manifests", "manifests"),
    ("symlink-outside", "manifests/link.yaml"),
];

/// A copy of the bundle with the link that it should have; none if it has it, or should have none.
pub(super) fn restored(bundle: &Path) -> Option<TempDir> {
    let name = bundle.file_name()?.to_str()?;
    let (_, link) = LINKS.iter().find(|(bundle, _)| *bundle == name)?;
    let target = fs::read_to_string(bundle.join(link)).ok()?;
    if bundle.join(link).is_symlink() {
        return None;
    }
    let copy = copy(bundle, link, &target);
    Some(copy.unwrap_or_else(|error| panic!("{}: {error}", bundle.display())))
}

/// Where the bundle lies in its copy.
pub(super) fn bundle_in(copy: &Path) -> PathBuf {
    copy.join("bundle")
}

fn copy(bundle: &Path, link: &str, target: &str) -> io::Result<TempDir> {
    let copy = tempfile::tempdir()?;
    let to = bundle_in(copy.path());
    for folder in ["manifests", "metadata", "real"] {
        let from = bundle.join(folder);
        if from.is_dir() {
            fs::create_dir_all(to.join(folder))?;
            for entry in fs::read_dir(from)? {
                let entry = entry?;
                fs::write(to.join(folder).join(entry.file_name()), fs::read(entry.path())?)?;
            }
        }
    }
    // It lies beside the bundles, and one of the links leads there.
    fs::write(copy.path().join("outside"), fs::read(bundle.with_file_name("outside"))?)?;
    let link = to.join(link);
    if link.exists() {
        fs::remove_file(&link)?;
    }
    symlink(target, link)?;
    Ok(copy)
}
