//! Checks of the sources that the compiler does not make: their size, and forbidden words.

use std::{
    collections::BTreeMap,
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

/// The maximum width of a comment, in characters. `max_width` of rustfmt applies to code only.
const WIDTH: usize = 100;

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

/// The directories of crates with modules that have the same name, and these names. Those of `cli`
/// are parallel (`args`, `command` and `summary`). Add no others.
const REPEATED: [(&str, &str); 9] = [
    (
        "cli",
        "build cache catalog change check connection copy describe document exit inventory launch \
         list load many render template unpack",
    ),
    ("crates/bundle", "error property"),
    ("crates/catalog", "bundle package write"),
    ("crates/yaml", "scalar write"),
    ("oci", "bundle document layer tree"),
    ("registry", "file"),
    ("tests/hostile", "bundle catalog cluster image name registry"),
    ("tests/testbed", "fault"),
    ("xtask", "cluster document package table"),
];

/// Warns about long files, and returns files that are too long or contain a forbidden word, and
/// modules of one crate with the same name.
pub(super) fn check() -> Result<Vec<String>, Error> {
    let paths = tracked(".")?;
    let mut wrong = find_repeated(&paths);
    for path in paths {
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
        if is_rust {
            let lines = find_wide_comments(&text).into_iter();
            wrong.extend(lines.map(|line| format!("{name}:{line}: the comment is too wide")));
        }
    }
    Ok(wrong)
}

/// Returns the numbers of the lines with a comment that is too wide. Code and tables in comments
/// cannot be wrapped.
fn find_wide_comments(text: &str) -> Vec<usize> {
    let mut wide = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_code = false;
            continue;
        };
        let comment = comment.trim_start_matches(['/', '!']).trim_start();
        if comment.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !comment.starts_with('|') && line.chars().count() > WIDTH {
            wide.push(index + 1);
        }
    }
    wide
}

/// Returns the modules that have the name of another one of their crate. The tests of a module may
/// have its name.
fn find_repeated(paths: &[PathBuf]) -> Vec<String> {
    let mut modules: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for path in paths.iter().filter_map(|path| path.to_str()?.strip_suffix(".rs")) {
        let Some((directory, module)) = path.split_once("/src/") else { continue };
        let is_test = module.split('/').any(|part| part == "tests");
        let name = module.rsplit('/').next().unwrap_or(module);
        if !is_test && name != "main" {
            modules.entry((directory, name)).or_default().push(module);
        }
    }
    let is_known = |(directory, name): &(&str, &str)| {
        let mut known = REPEATED.iter().filter(|(known, _)| known == directory);
        known.any(|(_, names)| names.split(' ').any(|known| known == *name))
    };
    modules.retain(|module, places| places.len() > 1 && !is_known(module));
    let describe = |((directory, _), places): (_, Vec<_>)| {
        format!("{directory} has modules with the same name: {}", places.join(", "))
    };
    modules.into_iter().map(describe).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_that_are_too_wide_are_found() {
        let wide = "a".repeat(WIDTH);
        let text = format!("// {wide}\n/// ```\n/// {wide}\n/// ```\n/// | {wide} |\n//! {wide}");
        assert_eq!(find_wide_comments(&text), [1, 6]);
    }

    #[test]
    fn modules_of_a_crate_with_the_same_name_are_refused() {
        let paths = [
            "oci/src/a.rs",
            "oci/src/b/a.rs",
            "oci/src/b/tests/a.rs",
            "oci/tests/a.rs",
            "registry/src/a.rs",
            "oci/src/tree.rs",
            "oci/src/extract/tree.rs",
        ];
        let found = find_repeated(&paths.map(PathBuf::from));
        assert_eq!(found, ["oci has modules with the same name: a, b/a"]);
    }
}
