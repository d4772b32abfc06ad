//! File-based catalogs: what is read from them, and what is made from them.

use std::cell::RefCell;
use std::num::NonZeroUsize;

use unlade_catalog::diff::{self, Snapshot, Subject};
use unlade_catalog::filter::{Choice, Needs, Plan};
use unlade_catalog::graph::{Selection, diagram::Diagram, dot, mermaid};
use unlade_catalog::render::{Migration, Rendered, Source, Summary, bundle, render};
use unlade_catalog::template::{self, Kind};
use unlade_catalog::{Catalog, File, Form, Limits, MAX_PROBLEMS, Meta, Place, Severity};
use unlade_catalog_directory as directory;
use unlade_yaml::decode_unstructured;

use super::{CHECKED_AGAIN, explain, image::scratch};
use crate::{image::parts, program};

/// Checks that a file of a catalog always has the same problems, and that each names the file.
pub(super) fn file(input: &[u8]) {
    let validate = || catalog(input).validate();
    let problems = validate();
    // For each severity, the problems that are kept, and one with the number of the others.
    assert!(problems.len() <= 2 * (MAX_PROBLEMS + 1), "{} problems", problems.len());
    for problem in &problems {
        assert!(problem.to_string().starts_with("catalog.yaml"), "{problem}");
    }
    assert_eq!(problems, validate(), "the problems differ from one time to the next");
}

/// Reads a catalog whose files are empty.
pub(super) fn index_ignore(input: &[u8]) {
    scratch(|directory| {
        let written = program::write_ignored(directory, input);
        assert!(written.is_ok(), "{written:?}");
        let mut limits = directory::Limits::default();
        limits.threads = NonZeroUsize::MIN;
        match directory::read(directory, &limits) {
            Ok(reading) => assert!(reading.problems.is_empty(), "{:?}", reading.problems),
            Err(error) => _ = explain(&error),
        }
    });
}

/// The size up to which a written meta is read again, in bytes. It is below the sizes of which the
/// costs are compared, so that no meta is read again at some of them only.
const REREAD: usize = 1 << 10;

/// The size up to which graphs are drawn from an entry on too, in bytes.
const CHECKED: usize = 64 << 10;

/// Checks that rendered metas are rendered to the same text again.
pub(super) fn rendered(input: &[u8]) {
    let limits = Limits::default();
    let write = |meta: &Meta, migration| {
        let json = render(meta, migration, &limits.document).ok()?;
        let texts = [Form::Json, Form::Yaml].map(|form| form.write(&json, &limits.document));
        texts.into_iter().collect::<Result<Vec<_>, _>>().ok()
    };
    each_meta(input, |meta, _| {
        write(&meta, Migration::CsvMetadata);
        let Some(texts) = write(&meta, Migration::None) else { return };
        if input.len() > CHECKED_AGAIN {
            return;
        }
        for text in texts.iter().filter(|text| text.len() <= REREAD) {
            each_meta(text.as_bytes(), |again, _| {
                assert_eq!(write(&again, Migration::None).as_ref(), Some(&texts), "{text}");
            });
        }
    });
}

/// Renders the object of a manifest as a bundle.
pub(super) fn manifest(input: &[u8]) {
    let Ok(decoded) = decode_unstructured(input, &Limits::default().document) else { return };
    let objects: Vec<_> = decoded.object.into_iter().collect();
    let source = Source {
        package: "tea",
        image: "registry.example/tea:1",
        properties: &[],
        objects: &objects,
    };
    for migration in [Migration::None, Migration::CsvMetadata] {
        match bundle(&source, migration) {
            Ok(rendered) => {
                let meta = Meta::from_json(&rendered.json, &Limits::default().document);
                assert!(meta.is_ok(), "{meta:?}");
            }
            Err(error) => {
                explain(&error);
            }
        }
    }
}

pub(super) fn graph(input: &[u8]) {
    let catalog = catalog(input);
    // One command draws one form of one selection, so large inputs are not drawn in all of them.
    let minimum = catalog.bundles.first().filter(|_| input.len() <= CHECKED);
    let minimum = minimum.map(|bundle| bundle.name.as_str());
    let style = mermaid::Style { v0_semantics: true, marks: true };
    for selection in [Selection::default(), Selection { package: None, minimum }] {
        let drawn = mermaid::write(&catalog, &selection, &style);
        if let Err(error) = &drawn {
            explain(error);
        }
        let diagram = Diagram::new(&catalog, &selection).ok();
        let texts = [drawn.ok(), diagram.map(|diagram| dot::write(&diagram))];
        for line in texts.iter().flatten().flat_map(|text| text.lines()) {
            assert!(!line.contains(char::is_control) && is_quoted(line), "not escaped: {line}");
        }
        if minimum.is_none() {
            break;
        }
    }
}

/// Checks whether all names in a line of a drawing are within quotes or escaped: nothing but the
/// characters of the languages of graphs, and of identifiers, is outside.
fn is_quoted(line: &str) -> bool {
    let line = line.replace(r"\\", "").replace(r#"\""#, "");
    let parts: Vec<_> = line.split('"').collect();
    let is_syntax = |character: char| {
        character.is_alphanumeric() || " -._+/=,;:|&<>()[]{}%#".contains(character)
    };
    parts.len() % 2 == 1 && parts.iter().step_by(2).all(|part| part.chars().all(is_syntax))
}

/// Compares two catalogs. If the input is one catalog, compares it with a copy in which some
/// numbers differ.
pub(super) fn difference(input: &[u8]) {
    let parts = parts(input);
    let [old, new] = match parts.as_slice() {
        [old, new, ..] => [old, new].map(|part| part.to_vec()),
        _ => [input.to_vec(), program::change_numbers(input)],
    };
    let [old, new] = [old, new].map(|input| snapshot(&input));
    let nothing = Snapshot::default();
    let compare = |old, new| {
        let changes = diff::compare(old, new);
        assert!(changes.is_ok() || input.len() > 1 << 20, "a small catalog is not compared");
        changes.unwrap_or_default()
    };
    assert!(compare(&old, &old).is_empty(), "a catalog differs from itself");
    let changes = compare(&old, &new);
    // If some are not listed, their number depends on the sizes of the first ones.
    if changes.iter().all(|change| change.subject != Subject::Others) {
        assert_eq!(compare(&new, &old).len(), changes.len(), "the other way round");
    }
    for changes in [changes, compare(&nothing, &new), compare(&old, &nothing)] {
        assert!(changes.iter().all(|change| change.old != change.new), "{changes:?}");
    }
}

/// Filters a valid catalog: the whole first package with its dependencies, and a part of it.
pub(super) fn filtered(input: &[u8]) {
    let catalog = catalog(input);
    if catalog.validate().iter().any(|problem| problem.severity == Severity::Error) {
        return;
    }
    let Some(package) = catalog.packages.first() else { return };
    let mut needs = Needs::default();
    each_meta(input, |meta, _| needs.add(&meta));
    for text in ["", "@>=1.0.10 <1.0.100"] {
        let Ok(choice) = format!("{}{text}", package.name).parse::<Choice>() else { continue };
        let Ok(plan) = Plan::new(&catalog, &needs, &[choice]) else { continue };
        let limits = Limits::default();
        each_meta(input, |meta, _| {
            let json = plan.apply(&meta);
            assert!(json.is_none_or(|json| Meta::from_json(&json, &limits.document).is_ok()));
        });
    }
}

/// Renders a template whose images name the versions of their bundles, and converts a catalog to
/// templates.
pub(super) fn template(input: &[u8]) {
    let limits = Limits::default();
    let bundle = |image: &str| Ok::<_, std::io::Error>(rendered_bundle(image));
    let is_template = match template::render(input, None, &limits, bundle) {
        Ok(metas) => {
            if let Ok(catalog) = template::catalog(&metas, "template", &limits) {
                catalog.validate();
            }
            true
        }
        Err(error) => {
            explain(&error);
            let _ = error.is_limit();
            false
        }
    };
    // One command does one of these.
    let kinds = match input.len() {
        ..=CHECKED_AGAIN => &Kind::ALL[..],
        _ if is_template => &[],
        _ => &[Kind::Substitutes],
    };
    for &kind in kinds {
        if let Ok(json) = template::convert(input, kind, &limits) {
            assert!(Form::Yaml.write(&json, &limits.document).is_ok_and(|it| !it.is_empty()));
        }
    }
}

/// Returns the bundle of an image. Its version is the tag, and its name ends with the tag.
fn rendered_bundle(image: &str) -> Rendered {
    let version = image.rsplit(':').next().unwrap_or_default().replace(['"', '\\', '\n'], "");
    let json = format!(
        r#"{{"schema":"olm.bundle","name":"tea.v{version}","package":"tea","image":"{version}","properties":[{{"type":"olm.package","value":{{"packageName":"tea","version":"{version}"}}}}]}}"#
    );
    Rendered { json, summary: Summary::default() }
}

fn catalog(input: &[u8]) -> Catalog {
    let mut catalog = Catalog::default();
    catalog.add(File::read("catalog.yaml", input, &Limits::default()));
    catalog
}

fn snapshot(input: &[u8]) -> Snapshot {
    let snapshot = RefCell::new(Snapshot::default());
    each_meta(input, |meta, place| snapshot.borrow_mut().add(&meta, place));
    snapshot.into_inner()
}

fn each_meta(input: &[u8], visit: impl FnMut(Meta, &Place)) {
    File::read_each("catalog.yaml", input, &Limits::default(), visit);
}
