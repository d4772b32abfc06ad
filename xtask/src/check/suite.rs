//! Which tests exist, so that a document can name them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use super::source;
use crate::command::Error;

/// The names of the tests that an ordinary run executes, by the path of their file.
#[derive(Debug, Default)]
pub(super) struct Suite {
    files: BTreeMap<String, BTreeSet<String>>,
}

impl Suite {
    /// The tests of all files that git tracks.
    pub(super) fn of_tree() -> Result<Self, Error> {
        let mut suite = Self::default();
        for path in source::tracked(".")? {
            if path.extension().is_some_and(|extension| extension == "rs") {
                suite.add(&path, &source::read(&path)?);
            }
        }
        Ok(suite)
    }

    pub(super) fn add(&mut self, path: &Path, text: &str) {
        self.files.insert(path.display().to_string(), names(text));
    }

    /// Whether `name` is a test of any file.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.values().any(|names| names.contains(name))
    }

    /// Whether `reference`, which is `path/of/file.rs::name`, is a test of that very file.
    pub(super) fn has_at(&self, reference: &str) -> bool {
        let Some((path, name)) = reference.split_once("::") else { return false };
        self.files.get(path).is_some_and(|names| names.contains(name))
    }
}

/// The functions of `text` that the test harness runs: those with an attribute `test`, of the
/// standard library or of a crate such as tokio, and without `ignore`.
///
/// Reads lines rather than syntax: `cargo xtask check` formats the sources, so that an attribute
/// and a function each begin a line.
fn names(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let (mut is_test, mut is_ignored, mut is_open) = (false, false, false);
    for line in text.lines().map(str::trim) {
        if is_open {
            is_open = !line.ends_with(']');
        } else if let Some(attribute) = line.strip_prefix("#[") {
            is_open = !line.ends_with(']');
            let name = attribute.split([']', '(', ' ', '=']).next().unwrap_or_default();
            is_test |= name.rsplit("::").next() == Some("test");
            is_ignored |= name == "ignore";
        } else if !line.starts_with("//") {
            let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ");
            if let Some((name, _)) = function.and_then(|rest| rest.split_once('('))
                && is_test
                && !is_ignored
            {
                found.insert(name.to_owned());
            }
            (is_test, is_ignored) = (false, false);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_functions_that_the_harness_runs_are_tests() {
        let text = r#"
            #[test]
            fn plain() {}
            #[tokio::test(flavor = "multi_thread")]
            async fn asynchronous() {}
            /// A comment in between.
            #[test]
            #[expect(
                clippy::too_many_lines,
                reason = "a table"
            )]
            // Another one.
            fn with_attributes() {}
            proptest! {
                #[test]
                fn property(name in "[a-z]+") {}
            }
            #[test]
            #[ignore = "slow: a node is missed after 50 s"]
            fn ignored() {}
            #[cfg(test)]
            fn helper() {}
            #[derive(Debug)]
            struct Other;
            fn another() {}
        "#;
        let expected = ["asynchronous", "plain", "property", "with_attributes"];
        assert!(names(text).iter().eq(&expected), "{:?}", names(text));
    }

    #[test]
    fn a_reference_needs_the_file_and_the_name() {
        let mut suite = Suite::default();
        suite.add(Path::new("a/b.rs"), "#[test]\nfn claim() {}\n");
        assert!(suite.has("claim") && suite.has_at("a/b.rs::claim"));
        for reference in ["claim", "a/c.rs::claim", "b.rs::claim", "a/b.rs::other", "a/b.rs"] {
            assert!(!suite.has_at(reference), "{reference}");
        }
    }
}
