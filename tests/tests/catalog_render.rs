//! Compares what `unlade catalog render` and `unlade catalog graph` write with what opm writes.

#![expect(clippy::unwrap_used, reason = "a test: what fails here fails the test")]

use std::fs;
use std::path::Path;

use serde::Deserialize;
use tempfile::TempDir;
use unlade_catalog::graph::{Selection, mermaid};
use unlade_catalog::render::Migration;
use unlade_catalog::{Form, Severity};
use unlade_catalog_directory::{Limits, Renderer, read};
use unlade_tests::corpus::{self, sha256};

/// The number of crafted catalogs.
const N_CRAFTED: usize = 346;

/// The number of published catalogs.
const N_PUBLISHED: usize = 26;

/// The catalogs that opm renders differently, with the reason.
const DELIBERATE: &[(&str, &str)] =
    &[("bundle-related-many-equal", "related images with equal references keep their order")];

#[derive(Debug, Deserialize)]
struct Golden {
    #[serde(rename = "renderJson")]
    json: Answer,
    #[serde(rename = "renderYaml")]
    yaml: Answer,
    #[serde(rename = "renderMigrateJson")]
    migrated: Option<Answer>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    text: Option<String>,
}

/// The catalogs of `odd.jsonl` that opm renders differently, with the reason.
const DIFFERENT_ODD: [(&str, &str); 1] = [(
    "dup-object-json",
    "the keys of an object are sorted, so the last one in the text may not win",
)];

/// The answers of opm for a published catalog: its verdict, and the SHA-256 of what it writes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Published {
    catalog: String,
    passed: bool,
    render_json: String,
    render_yaml: String,
    render_migrate_json: String,
    render_graph: String,
}

/// A catalog with duplicate keys, odd numbers, objects or constraints, and the answers of opm: its
/// verdict, and the SHA-256 of what it renders. `None` if it refuses to render.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Odd {
    name: String,
    file: String,
    text: String,
    passed: bool,
    render_json: Option<String>,
    render_yaml: Option<String>,
    render_migrate_json: Option<String>,
}

/// Renders a catalog. Returns `None` if it cannot be rendered.
fn render_catalog(catalog: &Path, form: Form, migration: Migration) -> Option<String> {
    let mut renderer = Renderer::new(form, migration, &Limits::default());
    let problems = renderer.add(catalog).unwrap();
    let is_refused = problems.iter().any(|problem| problem.severity == Severity::Error);
    (!is_refused).then(|| renderer.finish().unwrap().map(|text| text.unwrap().1).collect())
}

#[test]
fn every_crafted_catalog_is_rendered_as_by_opm() {
    let directory = TempDir::new().unwrap();
    corpus::unpack("catalogs/crafted.tar.zst", directory.path());
    corpus::unpack("catalogs/crafted-golden.tar.zst", directory.path());
    let (mut different, mut n_catalogs) = (Vec::new(), 0);
    for entry in fs::read_dir(directory.path().join("crafted-golden")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let golden: Golden = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        let catalog = directory.path().join("crafted").join(&name);
        n_catalogs += 1;
        let answers = [
            (Form::Json, Migration::None, Some(golden.json)),
            (Form::Yaml, Migration::None, Some(golden.yaml)),
            (Form::Json, Migration::CsvMetadata, golden.migrated),
        ];
        for (form, migration, answer) in answers {
            let Some(answer) = answer else { continue };
            let ours = render_catalog(&catalog, form, migration);
            if ours != answer.text {
                different.push((name.clone(), form, migration, ours, answer.text));
            }
        }
    }
    assert_eq!(n_catalogs, N_CRAFTED);
    different.sort_by(|a, b| a.0.cmp(&b.0));
    let mut names: Vec<_> = different.iter().map(|different| different.0.clone()).collect();
    names.dedup();
    let expected: Vec<_> = DELIBERATE.iter().map(|(name, _)| *name).collect();
    different.retain(|different| !expected.contains(&&*different.0));
    assert_eq!(names, expected, "{:#?}", different.first());
}

#[test]
#[ignore = "needs the published catalogs"]
fn every_published_catalog_is_accepted_and_rendered_as_by_opm() {
    let directory = corpus::published_catalogs();
    let goldens: Vec<Published> = corpus::lines("catalogs/published-golden.jsonl");
    assert_eq!(goldens.len(), N_PUBLISHED);
    for golden in goldens {
        let Published { catalog, passed, .. } = &golden;
        let path = directory.join(catalog);
        let reading = read(&path, &Limits::default()).unwrap();
        let is_valid = reading.problems.iter().all(|it| it.severity == Severity::Warning);
        assert_eq!(is_valid, *passed, "{catalog}: {:#?}", reading.problems);
        let (all, style) = (Selection::default(), mermaid::Style::default());
        let graph = mermaid::write(&reading.catalog, &all, &style).unwrap();
        assert_eq!(sha256(graph), golden.render_graph, "the graph of {catalog}");
        for (form, migration, expected) in [
            (Form::Json, Migration::None, &golden.render_json),
            (Form::Yaml, Migration::None, &golden.render_yaml),
            (Form::Json, Migration::CsvMetadata, &golden.render_migrate_json),
        ] {
            let ours = render_catalog(&path, form, migration).map(sha256);
            assert_eq!(ours.as_ref(), Some(expected), "{catalog}: {form:?}, {migration:?}");
        }
    }
}

#[test]
fn duplicate_keys_odd_numbers_objects_and_constraints_are_read_as_by_opm() {
    let (mut different, mut n_refused) = (Vec::new(), 0);
    for odd in corpus::lines::<Odd>("catalogs/odd.jsonl") {
        let directory = TempDir::new().unwrap();
        fs::write(directory.path().join(&odd.file), &odd.text).unwrap();
        let reading = read(directory.path(), &Limits::default()).unwrap();
        let is_valid = reading.problems.iter().all(|it| it.severity == Severity::Warning);
        assert_eq!(is_valid, odd.passed, "{}: {:#?}", odd.name, reading.problems);
        n_refused += usize::from(!is_valid);
        for (form, migration, expected) in [
            (Form::Json, Migration::None, &odd.render_json),
            (Form::Yaml, Migration::None, &odd.render_yaml),
            (Form::Json, Migration::CsvMetadata, &odd.render_migrate_json),
        ] {
            let ours = render_catalog(directory.path(), form, migration);
            if ours.as_ref().map(sha256) != *expected {
                different.push((odd.name.clone(), form, migration, ours));
            }
        }
    }
    let names: Vec<_> = different.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, DIFFERENT_ODD.map(|(name, _)| name), "{different:#?}");
    assert!(n_refused > 20, "{n_refused}");
}
