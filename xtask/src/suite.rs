//! Finds all tests, and the needs of the ignored ones.
//!
//! It reads lines rather than syntax. `cargo xtask check` requires formatted sources, so an
//! attribute and a function each start a line.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{command::Error, workspace};

/// The prefix of the names of child programs, which other tests run.
pub(crate) const CHILD: &str = "child_";
/// The prefix of the names of tests on a cluster.
pub(crate) const CLUSTER: &str = "cluster_";
/// The needs of the tests on a cluster.
const CLUSTERS: [&str; 2] = ["a cluster", "a testbed"];

/// Every test of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Suite {
    tests: Vec<Test>,
}

/// One test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Test {
    /// Relative to the root of the workspace.
    pub(crate) file: String,
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// The command that runs a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `cargo test`.
    Plain,
    /// `cargo xtask test`, if the machine has what is needed: `#[ignore = "needs NEED, NEED"]`,
    /// followed by `; slow: WHY`, or only `slow: WHY`, if only `--all` runs it.
    Needy { needs: Vec<String>, is_slow: bool },
    /// Another test, as a separate process: `#[ignore = "child: WHO RUNS IT"]`.
    Child,
    /// Nothing: the reason to ignore it has none of these forms.
    Unknown,
}

impl Kind {
    fn from_reason(reason: &str) -> Self {
        if reason.starts_with("child: ") {
            return Self::Child;
        }
        if reason.starts_with("slow: ") {
            return Self::Needy { needs: Vec::new(), is_slow: true };
        }
        let (needs, slow) = match reason.split_once("; ") {
            Some((needs, slow)) => (needs, Some(slow)),
            None => (reason, None),
        };
        match needs.strip_prefix("needs ") {
            Some(needs) if slow.is_none_or(|slow| slow.starts_with("slow: ")) => Self::Needy {
                needs: needs.split(", ").map(str::to_owned).collect(),
                is_slow: slow.is_some(),
            },
            _ => Self::Unknown,
        }
    }
}

impl Test {
    /// Returns the needs of the test beyond a toolchain.
    pub(crate) fn needs(&self) -> &[String] {
        match &self.kind {
            Kind::Needy { needs, .. } => needs,
            _ => &[],
        }
    }

    /// Checks whether `cargo xtask test` runs it without `--all`, on a machine that has what it
    /// needs.
    pub(crate) fn is_ordinary(&self) -> bool {
        matches!(self.kind, Kind::Plain | Kind::Needy { is_slow: false, .. })
    }

    /// Checks whether only `cargo xtask test --all` runs it.
    pub(crate) fn is_slow(&self) -> bool {
        matches!(self.kind, Kind::Needy { is_slow: true, .. })
    }

    /// Checks whether the harness would select the test by this part of its path. The path is
    /// derived from the file, with or without a module `tests`, in which unit tests are.
    pub(crate) fn matches(&self, filter: &str) -> bool {
        let file = self.file.trim_end_matches(".rs");
        // A file or directory directly below `tests/` is a target and not a module.
        let module = file.rsplit_once("src/").map(|(_, module)| module).or_else(|| {
            let (_, target) = file.rsplit_once("tests/")?;
            target.split_once('/').map(|(_, module)| module)
        });
        let module = module.unwrap_or_default().replace('/', "::");
        let name = &self.name;
        [format!("{module}::{name}"), format!("{module}::tests::{name}")]
            .iter()
            .any(|path| path.trim_start_matches(':').contains(filter))
    }
}

impl Suite {
    /// Reads the tests of all sources.
    pub(crate) fn read_tree() -> Result<Self, Error> {
        let mut suite = Self::default();
        let root = workspace::root();
        let mut files = Vec::new();
        let file = Error::file(root);
        sources(root, &mut files).map_err(file)?;
        for path in files {
            let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
            suite.add(path.strip_prefix(root).unwrap_or(&path), &text);
        }
        Ok(suite)
    }

    pub(crate) fn add(&mut self, path: &Path, text: &str) {
        let file = path.display().to_string();
        self.tests.extend(tests(text).into_iter().map(|(name, kind)| Test {
            file: file.clone(),
            name,
            kind,
        }));
    }

    /// Returns the tests that a filter of the harness selects; all tests without a filter.
    pub(crate) fn selected(&self, filter: Option<&str>) -> Vec<&Test> {
        self.tests.iter().filter(|test| filter.is_none_or(|filter| test.matches(filter))).collect()
    }

    /// Checks whether `name` is a test, in any file, that an ordinary run executes.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tests.iter().any(|test| test.name == name && test.is_ordinary())
    }

    /// Checks whether `reference`, which is `path/of/file.rs::name`, is such a test in that file.
    pub(crate) fn has_at(&self, reference: &str) -> bool {
        let Some((file, name)) = reference.split_once("::") else { return false };
        let is_it = |test: &Test| test.file == file && test.name == name && test.is_ordinary();
        self.tests.iter().any(is_it)
    }

    /// Finds tests that would never run, or that would be left out by mistake. These have an
    /// unknown form of reason, a need that is not `known`, or a name that does not fit their kind,
    /// or they are ignored and their name is a part of another test's name, so the harness would
    /// skip both.
    pub(crate) fn mistakes(&self, known: &[&str]) -> Vec<String> {
        let mut wrong = Vec::new();
        for test in &self.tests {
            let mut report =
                |what: &str| wrong.push(format!("{}: {} {what}", test.file, test.name));
            if test.kind == Kind::Unknown {
                report(
                    "is ignored for a reason other than `needs ...`, `slow: ...` or `child: ...`",
                );
            }
            for need in test.needs().iter().filter(|need| !known.contains(&need.as_str())) {
                report(&format!("needs {need}, which xtask/src/need.rs does not know"));
            }
            let is_on_cluster = test.needs().iter().any(|need| CLUSTERS.contains(&need.as_str()));
            if is_on_cluster != test.name.starts_with(CLUSTER) {
                report("must be named cluster_* if and only if it needs a cluster");
            }
            if (test.kind == Kind::Child) != test.name.starts_with(CHILD) {
                report("must be named child_* if and only if it is a child program");
            }
            for prefix in [CLUSTER, CHILD] {
                if test.name.contains(prefix) && !test.name.starts_with(prefix) {
                    report(&format!("contains {prefix}, so the harness would skip it"));
                }
            }
            let is_part =
                |other: &&Test| other.name != test.name && other.name.contains(&test.name);
            if test.kind != Kind::Plain
                && let Some(other) = self.tests.iter().find(is_part)
            {
                report(&format!(
                    "is a part of the name {}, which would be skipped too",
                    other.name
                ));
            }
        }
        wrong
    }
}

/// Finds the Rust files below a directory, except in build directories and hidden directories.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "target" {
            continue;
        }
        if path.is_dir() && !path.is_symlink() {
            sources(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(())
}

/// Finds the functions of `text` with the attribute `test` of the standard library or of a crate
/// such as tokio.
fn tests(text: &str) -> Vec<(String, Kind)> {
    let mut found = Vec::new();
    let (mut is_test, mut is_open, mut kind) = (false, false, Kind::Plain);
    for line in text.lines().map(str::trim) {
        if is_open {
            is_open = !line.ends_with(']');
        } else if let Some(attribute) = line.strip_prefix("#[") {
            is_open = !line.ends_with(']');
            let name = attribute.split([']', '(', ' ', '=']).next().unwrap_or_default();
            is_test |= name.rsplit("::").next() == Some("test");
            if name == "ignore" {
                kind = Kind::from_reason(attribute.split('"').nth(1).unwrap_or_default());
            }
        } else if !line.starts_with("//") {
            let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            if let Some((name, _)) = function.and_then(|rest| rest.split_once('('))
                && is_test
            {
                found.push((name.to_owned(), kind));
            }
            (is_test, kind) = (false, Kind::Plain);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    // `@` stands for `#`: these lines are not tests of this file.
    const TEXT: &str = r#"
        @[test]
        fn plain() {}
        @[tokio::test(flavor = "multi_thread")]
        async fn asynchronous() {}
        /// A comment in between.
        @[test]
        @[expect(
            clippy::too_many_lines,
            reason = "a table"
        )]
        // Another one.
        fn with_attributes() {}
        proptest! {
            @[test]
            fn property(name in "[a-z]+") {}
        }
        @[test]
        @[ignore = "needs strace, a testbed"]
        fn cluster_needy() {}
        @[test]
        @[ignore = "needs root; slow: a node is missed after 50 s"]
        fn slow() {}
        @[test]
        @[ignore = "child: the one above runs it"]
        fn child_program() {}
        @[test]
        @[ignore]
        fn without_reason() {}
        @[cfg(test)]
        fn helper() {}
        @[derive(Debug)]
        struct Other;
        fn another() {}
    "#;

    fn suite(file: &str, text: &str) -> Suite {
        let mut suite = Suite::default();
        suite.add(Path::new(file), text);
        suite
    }

    #[test]
    fn tests_are_the_functions_with_the_attribute_and_say_what_they_need() {
        let needy = |needs: &[&str], is_slow| Kind::Needy {
            needs: needs.iter().map(|&need| need.to_owned()).collect(),
            is_slow,
        };
        let expected = [
            ("plain", Kind::Plain),
            ("asynchronous", Kind::Plain),
            ("with_attributes", Kind::Plain),
            ("property", Kind::Plain),
            ("cluster_needy", needy(&["strace", "a testbed"], false)),
            ("slow", needy(&["root"], true)),
            ("child_program", Kind::Child),
            ("without_reason", Kind::Unknown),
        ];
        assert_eq!(
            tests(&TEXT.replace('@', "#")),
            expected.map(|(name, kind)| (name.to_owned(), kind))
        );
    }

    #[test]
    fn a_reference_needs_the_file_and_the_name_of_a_test_that_an_ordinary_run_executes() {
        let suite = suite("a/b.rs", &TEXT.replace('@', "#"));
        assert!(suite.has("plain") && suite.has_at("a/b.rs::plain"));
        assert!(suite.has_at("a/b.rs::cluster_needy"));
        for reference in
            ["plain", "a/c.rs::plain", "b.rs::plain", "a/b.rs::other", "a/b.rs", "a/b.rs::slow"]
        {
            assert!(!suite.has_at(reference), "{reference}");
        }
        for name in ["slow", "child_program", "without_reason", "helper"] {
            assert!(!suite.has(name), "{name}");
        }
    }

    #[test]
    fn a_filter_selects_by_name_and_by_module() {
        let number = |file: &str, filter| {
            let suite = suite(file, &TEXT.replace('@', "#"));
            suite.selected(filter).len()
        };
        assert_eq!(number("a/src/b/c.rs", None), 8);
        for (file, filter, expected) in [
            ("a/src/b/c.rs", "needy", 1),
            ("a/src/b/c.rs", "b::c::pro", 1),
            ("a/src/b/c.rs", "c::tests::", 8),
            ("a/src/b/c.rs", "src", 0),
            ("tests/tests/suite/b/c.rs", "b::c::pro", 1),
            ("tests/tests/suite/b/c.rs", "suite", 0),
            ("a/tests/suite.rs", "suite", 0),
            ("a/tests/suite.rs", "needy", 1),
        ] {
            assert_eq!(number(file, Some(filter)), expected, "{file} {filter}");
        }
    }

    #[test]
    fn a_test_that_would_never_run_is_a_mistake() {
        let known = ["strace", "a testbed"];
        let of = |reason: &str, name: &str| {
            let text = format!("#[test]\n#[ignore = \"{reason}\"]\nfn {name}() {{}}\n");
            suite("a.rs", &text).mistakes(&known)
        };
        assert_eq!(of("needs strace", "traced"), [""; 0]);
        assert_eq!(of("needs a testbed, strace; slow: 30 s", "cluster_a"), [""; 0]);
        assert_eq!(of("slow: 30 s", "a"), [""; 0]);
        assert_eq!(of("child: b", "child_a"), [""; 0]);
        for (reason, name, expected) in [
            ("later", "a", "is ignored for a reason other than"),
            ("needs strace; later", "a", "is ignored for a reason other than"),
            ("needs rockets", "a", "needs rockets, which"),
            ("needs a testbed", "a", "must be named cluster_*"),
            ("needs strace", "cluster_a", "must be named cluster_*"),
            ("child: b", "a", "must be named child_*"),
        ] {
            let wrong = of(reason, name);
            assert!(matches!(&wrong[..], [only] if only.contains(expected)), "{wrong:?}");
        }
        let text =
            "#[test]\n#[ignore = \"needs strace\"]\nfn one() {}\n#[test]\nfn one_more() {}\n";
        let wrong = suite("a.rs", text).mistakes(&known);
        assert!(
            matches!(&wrong[..], [only] if only.contains("part of the name one_more")),
            "{wrong:?}"
        );
    }
}
