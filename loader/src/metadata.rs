//! Reads the files of metadata/: dependencies, properties and, if annotations.yaml does not exist,
//! annotations.
//!
//! Upstream's directory reader (operator-registry `pkg/registry/parse.go`, `addMetadata`)
//! identifies these by content, not by file name. It takes the dependencies from the first file of
//! metadata/ that has any, and so on for properties and annotations. Published bundles rely on
//! this: some have `dependencies` in properties.yaml, and some have a dependency.yaml.

use std::collections::{BTreeMap, BTreeSet};

use unlade_bundle::{
    Dependency, Finding, Findings, Property, Reason, channel,
    typed::{Reader, field, scalar_text},
};
use unlade_yaml::{
    self as yaml, Scalars,
    json::{Kind, Tree, Value, is_folded},
};

use crate::further_document;

/// A file that parses as a document, and so may contain metadata.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate<'a, 't> {
    pub(crate) key: &'a str,
    /// The document, with resolved scalars.
    pub(crate) root: Value<'t>,
    pub(crate) bytes: &'t [u8],
}

/// The metadata of a bundle.
#[derive(Debug, Default)]
pub(crate) struct Metadata<'a> {
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) properties: Vec<Property>,
    /// Annotations from a file with a name other than annotations.yaml.
    pub(crate) annotations: BTreeMap<String, String>,
    /// The keys of the files that contributed something.
    pub(crate) used: BTreeSet<&'a str>,
    /// Findings about the metadata.
    pub(crate) findings: Findings,
    /// The files that dependencies and properties are taken from.
    pub(crate) sources: Sources<'a>,
    wants_annotations: bool,
}

/// The keys of the files that dependencies and properties are taken from; `None` if a bundle has
/// none.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sources<'a> {
    pub(crate) dependencies: Option<&'a str>,
    pub(crate) properties: Option<&'a str>,
}

impl<'a> Metadata<'a> {
    pub(crate) fn new(wants_annotations: bool) -> Self {
        Self { wants_annotations, ..Self::default() }
    }

    /// Adds the metadata in `candidate`. Callers must pass the candidates in the order of their
    /// keys.
    ///
    /// `unread` is the content after the document that is not read. Files that do not decode are
    /// skipped, because the caller reports them.
    ///
    /// # Errors
    ///
    /// Returns an error if the budget of `reader` is exhausted.
    pub(crate) fn add(
        &mut self,
        candidate: Candidate<'a, '_>,
        unread: Option<yaml::Unread>,
        reader: &yaml::Reader,
    ) -> Result<(), yaml::Error> {
        let Candidate { key, root, .. } = candidate;
        let Sources { dependencies, properties } = &mut self.sources;
        for (name, source) in [("dependencies", dependencies), ("properties", properties)] {
            let Some(entries) = entries(root, name, key, &mut self.findings) else { continue };
            self.used.insert(key);
            if let Some(source) = source {
                let message = format!(
                    "OLM ignores the {name} of this file, because it uses those of {source}"
                );
                self.findings.push(Finding::new(Reason::Shadowed, key, message));
                continue;
            }
            *source = Some(key);
            let entries = entries.into_iter();
            if name == "dependencies" {
                self.dependencies =
                    entries.map(|(kind, value)| Dependency { kind, value }).collect();
            } else {
                self.properties = entries.map(|(kind, value)| Property { kind, value }).collect();
            }
        }
        if self.wants_annotations
            && self.annotations.is_empty()
            && let Some(annotations) = annotations(candidate, reader)?
        {
            self.annotations = annotations;
            self.used.insert(key);
            let message = "the package and the channels are read from this file, because \
                           annotations.yaml does not exist or does not name them: name them in \
                           metadata/annotations.yaml";
            self.findings.push(Finding::new(Reason::AnnotationsFile, key, message));
        }
        if let Some(unread) = unread.filter(|_| self.used.contains(key)) {
            let message = further_document::describe_lost(unread);
            self.findings.push(Finding::new(Reason::FurtherDocuments, key, message));
        }
        Ok(())
    }
}

/// Reads the types and values in the list `name`. Returns `None` if the list is missing, is empty,
/// or does not fit Go's types, because upstream then ignores it.
fn entries(
    root: Value<'_>,
    name: &str,
    key: &str,
    findings: &mut Findings,
) -> Option<Vec<(String, String)>> {
    if root.kind() != Kind::Object {
        return None;
    }
    let n_findings = findings.count();
    let mut reader = Reader::new(key, findings);
    let items = reader.items(field(root, name), name);
    let entries: Vec<_> = items.into_iter().map(|item| entry(item, name, &mut reader)).collect();
    let fits = findings.count() == n_findings;
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
    // Unlike in other fields, null is a value here.
    let values = item.entries().filter(|(key, _)| is_folded(key, "value"));
    let value = values.last().map(|(_, value)| value.to_json()).unwrap_or_default();
    (kind, value)
}

/// Reads the annotations about the package and the channels. Returns `None` if the file has none.
///
/// The scalars must be kept as written, so a file with annotations is parsed a second time.
fn annotations(
    Candidate { root, bytes, .. }: Candidate<'_, '_>,
    reader: &yaml::Reader,
) -> Result<Option<BTreeMap<String, String>>, yaml::Error> {
    if field(root, "annotations").is_none() {
        return Ok(None);
    }
    let Some(tree) = read_as_written(bytes, reader)? else { return Ok(None) };
    let Some(annotations) = field(tree.root(), "annotations") else { return Ok(None) };
    let texts = annotations.entries().filter_map(|(key, value)| Some((key, scalar_text(value)?)));
    let texts = texts.filter(|(key, text)| channel::ANNOTATIONS.contains(key) && !text.is_empty());
    let texts: BTreeMap<_, _> = texts.map(|(key, text)| (key.to_owned(), text)).collect();
    Ok((!texts.is_empty()).then_some(texts))
}

/// Reads the document with its scalars as written. Returns `None` if it does not decode.
///
/// # Errors
///
/// Returns an error if the budget of `reader` is exhausted.
pub(crate) fn read_as_written(
    bytes: &[u8],
    reader: &yaml::Reader,
) -> Result<Option<Tree>, yaml::Error> {
    match reader.decode_document(bytes, Scalars::Source) {
        Ok(document) => Ok(document.object),
        Err(error @ yaml::Error::Exhausted { .. }) => Err(error),
        Err(_) => Ok(None),
    }
}
