//! The corpus of bundles, and what upstream's Go code answered for each of them.
//!
//! It lies in the directory that `UNLADE_CORPUS` names, else in `../shared/corpus` beside the
//! workspace. Where it is missing, tests over it are left out loudly; with `UNLADE_REQUIRE_ALL=1`,
//! which CI sets, they fail.

#![expect(clippy::panic, reason = "a harness: a corpus that does not read must fail the test")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::de::DeserializeOwned;
use tempfile::TempDir;
use unlade_format::{Directory, File};

use crate::left_out;

pub mod golden;
mod link;

pub use golden::Golden;

/// One bundle of the corpus.
#[derive(Debug, Clone)]
pub struct Sample {
    /// `<package>/<version>`, or `crafted/<name>`.
    pub name: String,
    /// The directory of the bundle.
    pub path: PathBuf,
    /// What upstream answered.
    pub golden: Golden,
    /// A copy of the bundle that was made for its links.
    #[expect(dead_code, reason = "it is deleted when the last sample that needs it is dropped")]
    copy: Option<Arc<TempDir>>,
}

impl Sample {
    /// Whether the bundle is made by hand.
    pub fn is_crafted(&self) -> bool {
        self.name.starts_with("crafted/")
    }

    /// The files of the bundle as `std::fs` finds them, links followed and directories left out.
    /// In a copy that holds links as files with the path in them, these are followed as well.
    pub fn files(&self) -> Vec<File> {
        let mut files = Vec::new();
        for (directory, folder) in
            [(Directory::Manifests, "manifests"), (Directory::Metadata, "metadata")]
        {
            let path = self.followed(self.path.join(folder));
            if path.is_dir() {
                for entry in sorted(&path) {
                    let target = self.followed(entry.clone());
                    if target.is_file() {
                        let bytes = read(&target);
                        files.push(File { directory, name: file_name(&entry), bytes });
                    }
                }
            }
        }
        files
    }

    /// What a link names that became a file in a copy of the corpus; else the path itself.
    fn followed(&self, path: PathBuf) -> PathBuf {
        if !self.name.starts_with("crafted/symlink-") || !path.is_file() || path.is_symlink() {
            return path;
        }
        let text = String::from_utf8(read(&path)).unwrap_or_default();
        let is_target = !text.is_empty() && !text.contains('\n');
        match path.parent() {
            Some(parent) if is_target => parent.join(text),
            _ => path,
        }
    }
}

/// The corpus; none, and a loud word about it, if it is not there.
///
/// # Panics
///
/// If it is not there and `UNLADE_REQUIRE_ALL=1`.
pub fn directory() -> Option<PathBuf> {
    let path = std::env::var_os("UNLADE_CORPUS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus"),
        PathBuf::from,
    );
    if path.join("golden").is_dir() {
        return Some(path);
    }
    left_out::say(
        "tests over the corpus",
        &format!("no corpus at {}: set UNLADE_CORPUS", path.display()),
    );
    None
}

/// Every bundle that `golden/` answers for, real and crafted; none if there is no corpus.
pub fn samples() -> Vec<Sample> {
    directory().map(|corpus| samples_in(&corpus, "golden")).unwrap_or_default()
}

/// The bundles that `golden-full/` answers for with whole strings.
pub fn full_samples() -> Vec<Sample> {
    directory().map(|corpus| samples_in(&corpus, "golden-full")).unwrap_or_default()
}

/// The lines of a file of the corpus, such as `yaml/cases.jsonl`, each read as JSON.
pub fn lines<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let Some(corpus) = directory() else { return Vec::new() };
    let path = corpus.join(file);
    let bytes = read(&path);
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| parse(&path, line)).collect()
}

fn samples_in(corpus: &Path, golden: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    for package in sorted(&corpus.join(golden)) {
        for answer in sorted(&package) {
            let golden: Golden = parse(&answer, &read(&answer));
            let name = format!("{}/{}", file_name(&package), stem(&answer));
            let path = if name.starts_with("crafted/") {
                corpus.join(&name)
            } else {
                corpus.join("bundles").join(&name)
            };
            let copy = link::restored(&path).map(Arc::new);
            let path = copy.as_ref().map_or(path, |copy| link::bundle_in(copy.path()));
            samples.push(Sample { name, path, golden, copy });
        }
    }
    assert!(!samples.is_empty(), "no answers in {}", corpus.join(golden).display());
    samples
}

fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> T {
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn sorted(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned()
}

fn stem(path: &Path) -> String {
    file_name(path).trim_end_matches(".json").to_owned()
}
