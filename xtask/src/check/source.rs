//! What the compiler does not see in the sources: their size, and words that don't belong there.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    command::{Error, capture},
    workspace,
};

/// Lines from which a file is looked at again.
const LONG: usize = 400;
/// Lines from which it is split.
const TOO_LONG: usize = 800;

/// Hosts and paths that no file may name: nothing here reaches out to a registry of the world, or
/// works on one machine only. `docker.io` isn't among them: names without a host mean it.
const WORDS: [&str; 7] = [
    "quay.io",
    "ghcr.io",
    "gcr.io",
    "registry.redhat.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
    "/work/",
];
/// The file with the words.
const HERE: &str = "xtask/src/check/source.rs";

/// Warns of long files; returns too long ones, and words that don't belong in any.
pub(super) fn check() -> Result<Vec<String>, Error> {
    let mut wrong = Vec::new();
    for path in tracked(".")? {
        // Files that come from others, such as bundles and answers, are kept as they are.
        if path.starts_with("tests/corpus") {
            continue;
        }
        // Files that aren't text have neither lines nor words.
        let Ok(text) = fs::read_to_string(workspace::root().join(&path)) else { continue };
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        let name = path.display();
        let n_lines = if is_rust { text.lines().count() } else { 0 };
        if n_lines > TOO_LONG {
            wrong.push(format!("{name}: {n_lines} lines, split it"));
        } else if n_lines > LONG {
            eprintln!("warning: {name}: {n_lines} lines");
        }
        let words = WORDS.iter().filter(|word| path != Path::new(HERE) && text.contains(**word));
        wrong.extend(words.map(|word| format!("{name}: names {word}")));
    }
    Ok(wrong)
}

/// The files that git knows below a folder, relative to the root.
pub(super) fn tracked(folder: &str) -> Result<Vec<PathBuf>, Error> {
    let mut git = Command::new("git");
    git.current_dir(workspace::root()).args(["ls-files", "-z", "--", folder]);
    let output = capture(&mut git)?;
    let names = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned())).collect())
}

/// The text of a file, whose path is relative to the root.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(workspace::root().join(path))
        .map_err(|source| Error::File { path: path.display().to_string(), source })
}
