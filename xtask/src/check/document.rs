//! The documents: what they refer to must exist.

use std::path::Path;

use super::{source, threat};
use crate::{command::Error, suite::Suite, workspace};

/// The table in which each row names its test.
const COMPATIBILITY: &str = "docs/compatibility.md";

/// Returns links to files that do not exist, and differences from upstream and attacks without a
/// test.
pub(super) fn check(suite: &Suite) -> Result<Vec<String>, Error> {
    let mut wrong = Vec::new();
    for path in source::tracked(".")? {
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = source::read(&path)?;
            wrong.extend(
                links(&text)
                    .filter(|link| !exists(&path, link))
                    .map(|link| format!("{}: {link} does not exist", path.display())),
            );
        }
    }
    wrong.extend(untested(suite)?);
    wrong.extend(threat::check(suite)?);
    Ok(wrong)
}

/// Returns the targets of all inline links.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// Checks whether the target of a link in `document` exists; targets on the web are not checked.
fn exists(document: &Path, link: &str) -> bool {
    let path = link.split('#').next().unwrap_or_default();
    let directory = document.parent().unwrap_or(Path::new(""));
    link.contains("://") || path.is_empty() || workspace::root().join(directory).join(path).exists()
}

/// Returns the rows of the table of differences whose last cell names no existing test.
fn untested(suite: &Suite) -> Result<Vec<String>, Error> {
    let table = source::read(Path::new(COMPATIBILITY))?;
    let differences = table.split_once("## What differs").map_or("", |(_, rest)| rest);
    let rows = differences.lines().filter(|line| {
        line.starts_with("| ") && !line.starts_with("| difference") && !line.starts_with("|--")
    });
    let untested = rows.filter(|row| {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let mut names = cell.split('`').skip(1).step_by(2).peekable();
        names.peek().is_none() || !names.all(|name| suite.has(name))
    });
    Ok(untested
        .map(|row| format!("{COMPATIBILITY}: the test of this row does not exist: {row}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_followed_from_their_document() {
        let text = "See [one](one.md#part), [two](https://two.example) and `[0](x)`.";
        assert_eq!(links(text).collect::<Vec<_>>(), ["one.md#part", "https://two.example", "x"]);
        let document = Path::new("docs/architecture.md");
        assert!(exists(document, "../README.md#compatibility"));
        assert!(exists(document, "https://two.example"));
        assert!(!exists(document, "README.md"));
    }
}
