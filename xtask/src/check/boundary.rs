//! Which crate may know what: enforces the table in `docs/architecture.md`, and keeps it up to
//! date.

mod table;

use std::{fmt::Write as _, fs, path::Path};

use super::{package::Package, source};
use crate::{command::Error, workspace};

use table::{BOUNDARIES, Boundary};

/// The page with the table of crates.
const PAGE: &str = "docs/architecture.md";

/// Returns the table of crates for the page.
fn render_table() -> String {
    let mut table = "| directory | what it is | accesses outside the process | may depend on |\n\
                     |---|---|---|---|\n"
        .to_owned();
    for Boundary { directory, purpose, reach, may_name, .. } in &BOUNDARIES {
        let names: Vec<_> = may_name
            .iter()
            .map(|name| format!("`{}`", name.trim_start_matches("unlade-")))
            .collect();
        let names = if names.is_empty() { "nothing of ours".to_owned() } else { names.join(", ") };
        _ = writeln!(table, "| `{directory}` | {purpose} | {reach} | {names} |");
    }
    table
}

/// Returns the names of the crates that are part of the product: not those of tests, and not this
/// program.
pub(super) fn shipped() -> impl Iterator<Item = &'static str> {
    let is_ours_alone = |directory: &str| {
        directory.starts_with("tests") || ["images", "xtask"].contains(&directory)
    };
    let shipped = BOUNDARIES.iter().filter(move |boundary| !is_ours_alone(boundary.directory));
    shipped.map(|boundary| boundary.crate_name)
}

/// Returns the dependencies that a boundary forbids, and a table in the page that is out of date.
pub(super) fn check(packages: &[Package]) -> Result<Vec<String>, Error> {
    let mut wrong = Vec::new();
    let (page, table) = (source::read(Path::new(PAGE))?, render_table());
    if !page.contains(&table) {
        wrong.push(format!(
            "{PAGE}: the table of crates is out of date; replace it with this one:\n{table}"
        ));
    }
    for package in packages.iter().filter(|package| package.is_member) {
        match BOUNDARIES.iter().find(|boundary| boundary.crate_name == package.name) {
            Some(boundary) => wrong.extend(crossings(boundary, package)?),
            None => wrong.push(format!("{} is not in the table of boundaries", package.name)),
        }
    }
    Ok(wrong)
}

fn crossings(boundary: &Boundary, package: &Package) -> Result<Vec<String>, Error> {
    let name = &package.name;
    let strangers =
        package.members.iter().filter(|member| !boundary.may_name.contains(&member.as_str()));
    let mut wrong: Vec<_> =
        strangers.map(|member| format!("{name} may not depend on {member}")).collect();
    for forbidden in boundary.without.iter().copied().flatten() {
        if package.closure.contains(*forbidden) {
            wrong.push(format!("{name} may not be built from {forbidden}"));
        }
    }
    for path in source::tracked(&format!("{}/src", boundary.directory))? {
        // Tests may use the file system; the library may not.
        if path.extension().is_some_and(|extension| extension == "rs") && !is_test(&path) {
            wrong.extend(find_words(boundary.forbidden_words, &path)?);
        }
    }
    Ok(wrong)
}

fn find_words(forbidden: &[&str], path: &Path) -> Result<Vec<String>, Error> {
    let text = fs::read_to_string(workspace::root().join(path)).map_err(Error::file(path))?;
    let words = forbidden.iter().filter(|word| contains(&text, word));
    Ok(words.map(|word| format!("{} may not contain {word}", path.display())).collect())
}

/// Checks whether the code contains this word, apart from its tests and comments.
fn contains(text: &str, word: &str) -> bool {
    // The module of the tests is the last item of a file.
    let library = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    library.lines().any(|line| !line.trim_start().starts_with("//") && line.contains(word))
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
        || path.file_name().is_some_and(|name| name == "tests.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_words_are_found_outside_of_tests_and_comments() {
        let text = "#[cfg(test)]\nmod tests;\n// env\nfn f() {\n    fs\n}\n#[cfg(test)]\nmod tests {\n    net\n}\n";
        let found = ["env", "fs", "net"].map(|word| contains(text, word));
        assert_eq!(found, [false, true, false]);
    }

    #[test]
    fn direct_and_indirect_forbidden_dependencies_are_found() {
        let format = Package {
            name: "unlade-yaml".into(),
            is_member: true,
            members: ["unlade-loader".to_owned()].into(),
            closure: ["unlade-loader", "some-client", "tokio"].map(ToOwned::to_owned).into(),
        };
        let wrong = check(&[format]).unwrap().join("\n");
        assert!(wrong.contains("unlade-yaml may not depend on unlade-loader"), "{wrong}");
        assert!(wrong.contains("unlade-yaml may not be built from tokio"), "{wrong}");
    }

    #[test]
    fn a_crate_that_is_not_in_the_table_is_found() {
        let stranger = Package {
            name: "stranger".into(),
            is_member: true,
            members: [].into(),
            closure: [].into(),
        };
        assert!(check(&[stranger]).unwrap().join("\n").contains("stranger is not in the table"));
    }
}
