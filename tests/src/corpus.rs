//! The corpus of bundles, and the recorded results of upstream's Go code for each of them.
//!
//! The crafted bundles, the YAML cases and all results are in `tests/corpus`. The published bundles
//! and catalogs are not part of the repository: `cargo xtask corpus fetch` fetches them. They are
//! in the directory that `UNLADE_CORPUS` names. Without it, each of the two is in
//! `../shared/corpus` beside the workspace if that contains it, and in `target/corpus` otherwise.
//! `cargo xtask` looks in the same places.

#![expect(clippy::panic, reason = "a harness: a corpus that does not read must fail the test")]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
};

use ruzstd::decoding::StreamingDecoder;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use unlade_bundle::{Directory, File};

pub mod golden;

pub use golden::Golden;

/// One bundle of the corpus.
#[derive(Debug, Clone)]
pub struct Sample {
    /// `<package>/<version>`, or `crafted/<name>`.
    pub name: String,
    /// The directory of the bundle.
    pub path: PathBuf,
    /// The result of upstream.
    pub golden: Golden,
}

impl Sample {
    /// Whether the bundle was written for these tests.
    pub fn is_crafted(&self) -> bool {
        self.name.starts_with("crafted/")
    }

    /// Reads the files of the bundle with `std::fs`: links are followed, and directories are left
    /// out.
    pub fn files(&self) -> Vec<File> {
        let mut files = Vec::new();
        for (directory, dir) in
            [(Directory::Manifests, "manifests"), (Directory::Metadata, "metadata")]
        {
            let path = self.path.join(dir);
            if path.is_dir() {
                for entry in sorted(&path) {
                    if entry.is_file() {
                        files.push(File {
                            directory,
                            name: file_name(&entry),
                            bytes: read(&entry),
                        });
                    }
                }
            }
        }
        files
    }
}

/// The number of crafted bundles.
const N_CRAFTED: usize = 49;
/// The number of published bundles.
const N_PUBLISHED: usize = 181;
/// The directory of the crafted bundles, and of their results.
const CRAFTED: &str = "crafted";

/// Reads the crafted bundles.
///
/// # Panics
///
/// Panics if there are not exactly 49.
pub fn crafted() -> Vec<Sample> {
    let dir = repository();
    let samples = samples_in(&dir.join("golden").join(CRAFTED), &dir.join(CRAFTED));
    assert_eq!(samples.len(), N_CRAFTED, "crafted bundles");
    samples
}

/// Reads the crafted bundles whose results contain full texts and not only their digests.
///
/// # Panics
///
/// Panics if no such bundle exists.
pub fn crafted_with_texts() -> Vec<Sample> {
    let answers = repository().join("golden-full").join(CRAFTED);
    let samples = samples_in(&answers, &repository().join(CRAFTED));
    assert!(!samples.is_empty(), "no answers in {}", answers.display());
    samples
}

/// Reads the published bundles.
///
/// # Panics
///
/// Panics if there are not exactly 181. A test that calls this must be
/// `#[ignore = "needs the published bundles"]`.
pub fn published() -> Vec<Sample> {
    let bundles = published_directory("bundles");
    let packages = sorted(&repository().join("golden"));
    let packages = packages.iter().filter(|package| file_name(package) != CRAFTED);
    let samples: Vec<_> = packages
        .flat_map(|package| samples_in(package, &bundles.join(file_name(package))))
        .collect();
    assert_eq!(samples.len(), N_PUBLISHED, "published bundles");
    samples
}

/// Returns the directory of the published catalogs, `OPENSHIFT-VERSION/PACKAGE` each.
///
/// # Panics
///
/// Panics if it does not exist. A test that calls this must be
/// `#[ignore = "needs the published catalogs"]`.
pub fn published_catalogs() -> PathBuf {
    published_directory("catalogs/published")
}

/// Reads every bundle, crafted and published.
///
/// # Panics
///
/// Panics like [`published`].
pub fn all() -> Vec<Sample> {
    [crafted(), published()].concat()
}

/// Reads the lines of a file of the corpus, such as `yaml/cases.jsonl`, each as JSON.
pub fn lines<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = repository().join(file);
    let bytes = read(&path);
    let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| parse(&path, line)).collect()
}

/// Unpacks an archive of the corpus, such as `catalogs/crafted.tar.zst`, into the directory `into`.
///
/// # Panics
///
/// Panics if the archive cannot be read.
pub fn unpack(archive: &str, into: &Path) {
    let path = repository().join(archive);
    let unpack = || -> Result<(), Box<dyn Error>> {
        let tar = StreamingDecoder::new(fs::File::open(&path)?)?;
        Ok(tar::Archive::new(tar).unpack(into)?)
    };
    unpack().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Returns the SHA-256 of `bytes` in hexadecimal, as in the results.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
}

/// Returns the directory of the corpus in the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// Returns a directory of the published part of the corpus.
fn published_directory(name: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let dir = std::env::var_os("UNLADE_CORPUS").map_or_else(
        || {
            let beside = workspace.join("../shared/corpus").join(name);
            if beside.is_dir() { beside } else { workspace.join("target/corpus").join(name) }
        },
        |corpus| PathBuf::from(corpus).join(name),
    );
    assert!(
        dir.is_dir(),
        "{} does not exist: run `cargo xtask corpus fetch`, or name the corpus in UNLADE_CORPUS",
        dir.display()
    );
    dir
}

/// Reads the bundles below `bundles` that have a result in `answers`.
fn samples_in(answers: &Path, bundles: &Path) -> Vec<Sample> {
    let package = file_name(answers);
    let sample = |answer: &PathBuf| Sample {
        name: format!("{package}/{}", stem(answer)),
        path: bundles.join(stem(answer)),
        golden: parse(answer, &read(answer)),
    };
    sorted(answers).iter().map(sample).collect()
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
