//! Crafted catalogs, and the answers of opm for each.

#![expect(clippy::unwrap_used, reason = "a test: what fails here fails the test")]

use std::fs;

use serde::Deserialize;
use tempfile::TempDir;
use unlade_catalog::{
    Rule, Severity,
    graph::{Selection, mermaid},
};
use unlade_catalog_directory::{Limits, Reading, read};
use unlade_tests::corpus;

/// The number of crafted catalogs.
const N_CRAFTED: usize = 346;

/// The catalogs that opm accepts and we refuse, or the other way round, with the reason.
const DELIBERATE: &[(&str, &str)] = &[];

#[derive(Debug, Deserialize)]
struct Golden {
    validate: Validate,
    #[serde(rename = "renderGraph")]
    graph: Answer,
}

/// The output of a command of opm, or its error.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Text(String),
    Error(#[expect(dead_code, reason = "shown if a test fails")] String),
}

#[derive(Debug, Deserialize)]
struct Validate {
    passed: bool,
    #[serde(default)]
    error: String,
}

/// Calls `visit` with the name of each crafted catalog, the answer of opm, and ours.
fn each_crafted(mut visit: impl FnMut(&str, Golden, Reading)) {
    let directory = TempDir::new().unwrap();
    corpus::unpack("catalogs/crafted.tar.zst", directory.path());
    corpus::unpack("catalogs/crafted-golden.tar.zst", directory.path());
    let mut answers: Vec<_> = fs::read_dir(directory.path().join("crafted-golden"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    answers.sort();
    assert_eq!(answers.len(), N_CRAFTED);
    for answer in answers {
        let name = answer.file_stem().unwrap().to_str().unwrap();
        let golden = serde_json::from_slice(&fs::read(&answer).unwrap()).unwrap();
        let catalog = directory.path().join("crafted").join(name);
        visit(name, golden, read(&catalog, &Limits::default()).unwrap());
    }
}

#[test]
fn the_verdict_of_every_crafted_catalog_is_that_of_opm() {
    let mut different = Vec::new();
    each_crafted(|name, golden, reading| {
        let is_valid = reading.problems.iter().all(|it| it.severity == Severity::Warning);
        if is_valid != golden.validate.passed {
            let problems: Vec<_> = reading.problems.iter().map(ToString::to_string).collect();
            let opm = golden.validate;
            different.push((name.to_owned(), format!("opm: {opm:?}, unlade: {problems:#?}")));
        }
    });
    let names: Vec<_> = different.iter().map(|(name, _)| name.as_str()).collect();
    let expected: Vec<_> = DELIBERATE.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected, "{different:#?}");
}

/// The rule that fits a message of opm, by a part of the message.
const RULES: &[(&str, &[Rule])] = &[
    ("unknown package", &[Rule::UnknownPackage]),
    ("duplicate package", &[Rule::DuplicatePackage]),
    ("invalid package name", &[Rule::PackageName]),
    ("channel with no name", &[Rule::ChannelName]),
    ("has duplicate channel", &[Rule::DuplicateChannel]),
    ("duplicate entry", &[Rule::DuplicateEntry]),
    ("has duplicate bundle", &[Rule::DuplicateBundle]),
    ("parse properties for bundle", &[Rule::PropertyValue]),
    ("must have exactly 1 \"olm.package\"", &[Rule::PackageProperty]),
    ("does not match \"olm.package\"", &[Rule::PackageProperty]),
    ("invalid image pull spec", &[Rule::ImageReference]),
    ("error parsing bundle \"", &[Rule::Version, Rule::Release]),
    ("bundle \"foo.v2.0.0\" not found in any channel entries", &[Rule::BundleWithoutEntry]),
    ("bundle \"\" not found in any channel entries", &[Rule::BundleName]),
    ("no olm.bundle blobs found", &[Rule::EntryWithoutBundle, Rule::BundleName]),
    ("default channel must be set", &[Rule::DefaultChannel]),
    ("must contain at least one channel", &[Rule::NoChannel, Rule::DefaultChannel]),
    ("channel must contain at least one bundle", &[Rule::NoEntries, Rule::DefaultChannel]),
    ("no channel head", &[Rule::NoHead]),
    ("multiple channel heads", &[Rule::SeveralHeads]),
    ("detected cycle", &[Rule::Cycle]),
    ("stranded bundles", &[Rule::Stranded]),
    ("duplicate versions", &[Rule::DuplicateVersion]),
    ("invalid skipRange", &[Rule::SkipRange]),
    ("] is empty", &[Rule::EmptySkip]),
    ("message must be set", &[Rule::DeprecationMessage]),
    ("does not match normalized name", &[Rule::BundleName]),
    ("cannot use build metadata", &[Rule::Release]),
    ("cannot deprecate", &[Rule::DeprecationReference]),
    ("duplicate deprecation", &[Rule::DeprecationReference]),
    ("expected a maximum of one deprecation", &[Rule::DeprecationPackage]),
    ("missing root schema", &[Rule::NotAMeta]),
    ("duplicate keys for key", &[Rule::NotAMeta]),
    ("expected value for key", &[Rule::NotAMeta]),
    ("error converting YAML to JSON", &[Rule::Syntax, Rule::Limit]),
    ("invalid Yaml document separator", &[Rule::Syntax]),
    ("read bundle objects", &[Rule::BundleObject, Rule::PropertyValue]),
    ("parse package:", &[Rule::FieldType]),
    ("parse channel:", &[Rule::FieldType]),
    ("parse deprecation:", &[Rule::FieldType]),
    ("is a directory", &[Rule::Unreadable]),
    ("no such file", &[Rule::Unreadable]),
];

#[test]
fn every_refusal_has_the_rule_that_opm_names_and_a_place() {
    let mut wrong = Vec::new();
    let mut n_compared = 0;
    each_crafted(|name, golden, reading| {
        let found: Vec<_> = reading.problems.iter().map(|problem| problem.rule).collect();
        for (_, rules) in RULES.iter().filter(|(part, _)| golden.validate.error.contains(part)) {
            n_compared += 1;
            if !rules.iter().any(|rule| found.contains(rule)) {
                wrong.push(format!("{name}: {rules:?}, not {found:?}"));
            }
        }
        for problem in &reading.problems {
            let has_place = !problem.place.file.is_empty()
                && (problem.place.line > 0 || problem.rule == Rule::Unreadable);
            if !has_place {
                wrong.push(format!("{name}: {problem:?} has no place"));
            }
        }
    });
    assert_eq!(wrong, [""; 0]);
    assert!(n_compared > 180, "{n_compared}");
}

/// The catalogs whose Mermaid text differs from that of opm, with the reason.
const DIFFERENT_GRAPHS: &[(&str, &str)] =
    &[("serve-odd-names", "Mermaid does not read an identifier with a blank")];

#[test]
fn the_graph_of_every_crafted_catalog_is_that_of_opm() {
    let (mut different, mut n_compared) = (Vec::new(), 0);
    each_crafted(|name, golden, reading| {
        let Answer::Text(expected) = golden.graph else { return };
        n_compared += 1;
        let (all, style) = (Selection::default(), mermaid::Style::default());
        if mermaid::write(&reading.catalog, &all, &style).unwrap() != expected {
            different.push(name.to_owned());
        }
    });
    assert_eq!(different, DIFFERENT_GRAPHS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    assert_eq!(n_compared, 247);
}
