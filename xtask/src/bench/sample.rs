//! The bundles that are measured: the largest, the median and the smallest one of the corpus.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{command::Error, corpus::Part};

/// A bundle of the measurement.
pub(super) struct Bundle {
    /// Its name and size, as the table shows them.
    pub(super) label: String,
    /// Its directory.
    pub(super) path: PathBuf,
    size: u64,
}

impl Bundle {
    /// Returns its manifests with their sizes in bytes, in the order of their names.
    pub(super) fn manifests(&self) -> Result<Vec<(PathBuf, u64)>, Error> {
        let mut paths = entries(&self.path.join("manifests"))?;
        paths.sort();
        paths.into_iter().map(|path| size(&path).map(|size| (path, size))).collect()
    }

    /// Returns the size of its files in MiB.
    pub(super) fn mebibytes(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "fewer bytes than 2^52")]
        let size = self.size as f64;
        size / f64::from(1 << 20)
    }
}

/// Returns the bundles to measure, largest first.
pub(super) fn bundles() -> Result<Vec<Bundle>, Error> {
    let all = all()?;
    let measured = measured(&all);
    let picked = all.into_iter().enumerate().filter(|(at, _)| measured.contains(at));
    Ok(picked.map(|(_, bundle)| bundle).collect())
}

/// Returns the positions of the largest bundle, the median one and the smallest one.
pub(super) fn measured(all: &[Bundle]) -> [usize; 3] {
    [0, all.len() / 2, all.len().saturating_sub(1)]
}

/// Returns all bundles of the corpus, largest first.
pub(super) fn all() -> Result<Vec<Bundle>, Error> {
    let directory = Part::Bundles.corpus().join("bundles");
    let mut all = Vec::new();
    for package in entries(&directory)? {
        for version in entries(&package)? {
            all.push(bundle(version)?);
        }
    }
    all.sort_by(|one, other| (other.size, &other.label).cmp(&(one.size, &one.label)));
    Ok(all)
}

fn bundle(path: PathBuf) -> Result<Bundle, Error> {
    let size = size(&path)?;
    let name = path.iter().rev().take(2).map(|part| part.to_string_lossy()).collect::<Vec<_>>();
    let name = name.into_iter().rev().collect::<Vec<_>>().join(" ");
    Ok(Bundle { label: format!("{name} ({})", in_units(size)), path, size })
}

fn in_units(size: u64) -> String {
    if size >= 1_000_000 {
        format!("{}.{} MB", size / 1_000_000, size / 100_000 % 10)
    } else {
        format!("{} kB", size / 1_000)
    }
}

/// Returns the size of a file, or of all files below a directory, in bytes.
fn size(path: &Path) -> Result<u64, Error> {
    let metadata = fs::symlink_metadata(path).map_err(Error::file(path))?;
    if metadata.is_dir() {
        entries(path)?.iter().map(|entry| size(entry)).sum()
    } else {
        Ok(metadata.len())
    }
}

fn entries(path: &Path) -> Result<Vec<PathBuf>, Error> {
    let file = Error::file(path);
    let entries = fs::read_dir(path).map_err(file)?;
    entries.map(|entry| Ok(entry.map_err(file)?.path())).collect()
}
