//! The files of metadata/: dependencies, properties and, where annotations.yaml is not there,
//! annotations.
//!
//! Upstream's directory reader (operator-registry `pkg/registry/parse.go`, `addMetadata`) goes by
//! content, not by name: dependencies are those of the first file that has any, in whatever file
//! of metadata/, and so are properties and annotations. Published bundles rely on it: some have
//! `dependencies` in properties.yaml, some a dependency.yaml.

use std::collections::{BTreeMap, BTreeSet};

use unlade_format::{
    Finding, Reason,
    json::{Kind, Value},
    yaml::{self, Scalars},
};

use crate::{
    Dependency, Property, channel,
    typed::{Reader, field, is_folded, scalar_text},
};

/// A file that may hold metadata.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(crate) key: &'a str,
    pub(crate) bytes: &'a [u8],
}

/// What the files of metadata/ hold.
#[derive(Debug, Default)]
pub(crate) struct Metadata<'a> {
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) properties: Vec<Property>,
    /// Annotations that are not those of the content: of a file with another name.
    pub(crate) annotations: BTreeMap<String, String>,
    /// The keys of the files that gave something.
    pub(crate) used: BTreeSet<&'a str>,
}

/// Reads `candidates`, in the order of their names. Files that do not decode are passed over; the
/// caller knows why they do not.
pub(crate) fn read<'a>(
    candidates: &[Candidate<'a>],
    wants_annotations: bool,
    limits: &yaml::Limits,
    findings: &mut Vec<Finding>,
) -> Metadata<'a> {
    let mut metadata = Metadata::default();
    let mut sources = [None; 2];
    for &Candidate { key, bytes } in candidates {
        let decoded = yaml::decode_document(bytes, Scalars::Resolved, limits);
        let Ok(yaml::Unstructured { object: Some(tree), unread, .. }) = decoded else { continue };
        let root = tree.root();
        for (name, source) in ["dependencies", "properties"].into_iter().zip(&mut sources) {
            let Some(entries) = entries(root, name, key, findings) else { continue };
            metadata.used.insert(key);
            if let Some(source) = source {
                let message = format!("its {name} are not taken: `{source}` has some already");
                findings.push(Finding::new(Reason::Shadowed, key, message));
                continue;
            }
            *source = Some(key);
            if name == "dependencies" {
                let entries = entries.into_iter();
                metadata.dependencies =
                    entries.map(|(kind, value)| Dependency { kind, value }).collect();
            } else {
                let entries = entries.into_iter();
                metadata.properties =
                    entries.map(|(kind, value)| Property { kind, value }).collect();
            }
        }
        if wants_annotations
            && metadata.annotations.is_empty()
            && let Some(annotations) = annotations(bytes, limits)
        {
            metadata.annotations = annotations;
            metadata.used.insert(key);
            let message =
                "package and channels are taken from here: no annotations.yaml names them";
            findings.push(Finding::new(Reason::AnnotationsFile, key, message));
        }
        if let Some(unread) = unread.filter(|_| metadata.used.contains(key)) {
            let message = format!("{unread} is not read");
            findings.push(Finding::new(Reason::FurtherDocuments, key, message));
        }
    }
    metadata
}

/// The types and values listed under `name`; none if there are none. A list that Go's types cannot
/// hold is one that upstream does not see.
fn entries(
    root: Value<'_>,
    name: &str,
    key: &str,
    findings: &mut Vec<Finding>,
) -> Option<Vec<(String, String)>> {
    if root.kind() != Kind::Object {
        return None;
    }
    let n_findings = findings.len();
    let mut reader = Reader::new(key, findings);
    let items = reader.items(field(root, name), name);
    let entries: Vec<_> = items.into_iter().map(|item| entry(item, name, &mut reader)).collect();
    let fits = findings.len() == n_findings;
    (fits && !entries.is_empty()).then_some(entries)
}

fn entry(item: Value<'_>, name: &str, reader: &mut Reader<'_>) -> (String, String) {
    let Some(item) = reader.object(Some(item), name) else {
        return (String::new(), String::new());
    };
    let kind = field(item, "type");
    let kind = kind
        .and_then(scalar_text)
        .unwrap_or_else(|| reader.string(kind, &format!("{name}[].type")));
    // Null is a value here, in any letter case of the name.
    let values = item.entries().filter(|(key, _)| is_folded(key, "value"));
    let value = values.last().map(|(_, value)| value.to_json()).unwrap_or_default();
    (kind, value)
}

fn annotations(bytes: &[u8], limits: &yaml::Limits) -> Option<BTreeMap<String, String>> {
    let tree = yaml::decode_document(bytes, Scalars::Source, limits).ok()?.object?;
    let annotations = field(tree.root(), "annotations")?;
    let texts = annotations.entries().filter_map(|(key, value)| Some((key, scalar_text(value)?)));
    let texts = texts.filter(|(key, text)| channel::is_of_package(key) && !text.is_empty());
    let texts: BTreeMap<_, _> = texts.map(|(key, text)| (key.to_owned(), text)).collect();
    (!texts.is_empty()).then_some(texts)
}
