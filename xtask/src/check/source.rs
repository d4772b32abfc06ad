//! Checks of the sources that the compiler does not make: their size, and forbidden words.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    command::{Error, capture},
    workspace,
};

/// The number of lines above which a file causes a warning.
const LONG: usize = 400;
/// The number of lines above which a file is refused.
const TOO_LONG: usize = 800;

/// Hosts and paths that no file may name, because nothing here may use a public registry, or work
/// on one machine only. `docker.io` is allowed, because it is the host of names without a host.
const WORDS: [&str; 7] = [
    "quay.io",
    "ghcr.io",
    "gcr.io",
    "registry.redhat.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
    "/work/",
];
/// The file that contains these words.
const HERE: &str = "xtask/src/check/source.rs";

/// Warns about long files, and returns files that are too long or contain a forbidden word.
pub(super) fn check() -> Result<Vec<String>, Error> {
    let mut wrong = Vec::new();
    for path in tracked(".")? {
        // Recorded data, such as bundles and answers, is not changed.
        if path.starts_with("tests/corpus") {
            continue;
        }
        // Files that are not text are ignored.
        let Ok(text) = fs::read_to_string(workspace::root().join(&path)) else { continue };
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        let name = path.display();
        let n_lines = if is_rust { text.lines().count() } else { 0 };
        if n_lines > TOO_LONG {
            wrong.push(format!("{name} has {n_lines} lines: split it"));
        } else if n_lines > LONG {
            eprintln!("warning: {name} has {n_lines} lines");
        }
        let words = WORDS.iter().filter(|word| path != Path::new(HERE) && text.contains(**word));
        wrong.extend(words.map(|word| format!("{name} contains {word}")));
    }
    Ok(wrong)
}

/// Returns the files below a directory that git tracks, relative to the root.
pub(super) fn tracked(directory: &str) -> Result<Vec<PathBuf>, Error> {
    let mut git = Command::new("git");
    git.current_dir(workspace::root()).args(["ls-files", "-z", "--", directory]);
    let output = capture(&mut git)?;
    let names = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned())).collect())
}

/// Reads a text file, whose path is relative to the root.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(workspace::root().join(path)).map_err(Error::file(path))
}
