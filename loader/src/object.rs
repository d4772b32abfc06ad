//! [`Object`]: one manifest of a bundle.

use std::borrow::Cow;
use std::collections::{HashMap, hash_map::Entry};

use unlade_bundle::{Api, Directory, File, Finding, Findings, Reason, crd, csv, typed::Reader};
use unlade_text::excerpt;
use unlade_yaml::{
    self as yaml, Part,
    json::{self, Tree, Value},
};

use crate::{
    Error, PackageManifest,
    compose::Source,
    further_document,
    metadata::{Candidate, Metadata},
    package_manifest,
};

/// What is read of an object. Only the CSV and package manifests are used as a whole.
const OUTLINE: yaml::Outline = yaml::Outline::new(
    &[csv::KIND, package_manifest::KIND],
    &[
        Part::with(
            "metadata",
            &[Part::whole("name"), Part::whole("generateName"), Part::whole("namespace")],
        ),
        // The fields of a CRD.
        Part::with(
            "spec",
            &[
                Part::whole("group"),
                Part::whole("names"),
                Part::whole("version"),
                Part::with("versions", &[Part::whole("name")]),
            ],
        ),
    ],
);

/// One manifest of a bundle: the bytes of a file, and the identity of its first document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Object {
    /// The ConfigMap key of the file.
    pub key: String,
    /// The kind. Empty for an object without content, which upstream keeps (design 004.16).
    pub kind: String,
    /// The API version. Empty if the object has none.
    pub api_version: String,
    /// The name. Empty if the object has none.
    pub name: String,
    /// The bytes of the whole file.
    pub bytes: Vec<u8>,
}

impl Object {
    /// Returns the file as text. Each byte that is not UTF-8 is replaced by U+FFFD, as Go's JSON
    /// encoder does.
    pub fn text(&self) -> Cow<'_, str> {
        json::go_lossy(&self.bytes)
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// The files of a content, by their kind.
#[derive(Debug, Default)]
pub(crate) struct Objects<'a> {
    /// The objects, sorted by key. Their bytes are still in the content.
    pub(crate) found: Vec<Object>,
    /// The last CSV.
    pub(crate) csv: Option<ChosenCsv>,
    /// The APIs of the CRDs that upstream's directory reader reads: those in manifests/ whose file
    /// names do not start with a dot.
    pub(crate) provided: Vec<Api>,
    /// The objects in metadata/ that OLM does not read. Their bytes are still in the content.
    pub(crate) in_metadata: Vec<Object>,
    /// The files that are not objects.
    pub(crate) skipped: Vec<Skipped<'a>>,
    /// The first PackageManifest among the files, with its key. Such a file is either not an
    /// object, or an object of the kind PackageManifest.
    pub(crate) package: Option<(&'a str, PackageManifest)>,
    /// The keys of the other PackageManifests, whose values may need much memory together.
    pub(crate) other_packages: Vec<&'a str>,
    /// The group, kind, namespace and name of each object, and the first key with this object.
    seen: HashMap<[String; 4], String>,
}

/// The CSV of the bundle.
#[derive(Debug)]
pub(crate) struct ChosenCsv {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) tree: Tree,
}

/// A file that is not an object.
#[derive(Debug)]
pub(crate) struct Skipped<'a> {
    pub(crate) key: &'a str,
    pub(crate) directory: Directory,
    /// Whether the file is a valid document nevertheless.
    pub(crate) is_document: bool,
    pub(crate) error: yaml::Error,
    /// Whether the line of the error contains a tab.
    pub(crate) has_tab: bool,
}

impl<'a> Skipped<'a> {
    fn new(key: &'a str, file: &File, is_document: bool, error: yaml::Error) -> Self {
        let has_tab = match error {
            yaml::Error::Syntax { line, .. } => {
                let mut lines = file.bytes.split(|&byte| byte == b'\n');
                let line = usize::try_from(line).ok().and_then(|line| lines.nth(line.max(1) - 1));
                line.is_some_and(|line| line.contains(&b'\t'))
            }
            _ => false,
        };
        Self { key, directory: file.directory, is_document, error, has_tab }
    }
}

/// Reads each file of `source` once, as upstream's loader does, in the bytewise order of the
/// ConfigMap keys. Files that may contain metadata are also passed to `metadata`.
///
/// # Errors
///
/// Returns an error if the budget of `reader` is exhausted.
pub(crate) fn read<'a>(
    source: &'a Source<'_>,
    reader: &yaml::Reader,
    metadata: &mut Metadata<'a>,
    findings: &mut Findings,
) -> Result<Objects<'a>, Error> {
    let mut objects = Objects::default();
    let lost = further_document::Reader::new();
    for (key, file) in source.content.entries() {
        let key = key.as_str();
        let is_unread = source.unread.contains(key);
        if is_unread && file.directory == Directory::Manifests {
            // The reader of the ConfigMap has reported it.
            continue;
        }
        let exhausted = |source| Error::Exhausted { key: key.to_owned(), source };
        let read = match file.directory {
            Directory::Manifests => reader.read_outlined_file(&file.bytes, &OUTLINE),
            Directory::Metadata => reader.read_file(&file.bytes),
        };
        let read = match read {
            Err(error @ yaml::Error::Exhausted { .. }) => return Err(exhausted(error)),
            Ok(yaml::File { error: Some(error @ yaml::Error::Exhausted { .. }), .. }) => {
                return Err(exhausted(error));
            }
            Err(error) => {
                objects.skipped.push(Skipped::new(key, file, false, error));
                continue;
            }
            Ok(read) => read,
        };
        if let Some(tree) = &read.document {
            let candidate = Candidate { key, root: tree.root(), bytes: &file.bytes };
            // If the directories are unknown, any file that is not an object may contain metadata.
            if file.directory == Directory::Metadata
                || read.error.is_some() && !source.has_directories
            {
                metadata.add(candidate, read.unread, reader).map_err(exhausted)?;
            }
            if read.error.is_some() || kind_of(tree.root()) == package_manifest::KIND {
                let found = package_manifest::read(candidate, reader).map_err(exhausted)?;
                match found {
                    Some(_) if objects.package.is_some() => objects.other_packages.push(key),
                    Some(manifest) => objects.package = Some((key, manifest)),
                    None => {}
                }
            }
        }
        let unread = read.unread;
        match read.into_object() {
            Ok(tree) if is_unread => objects.in_metadata.push(describe(key, tree.as_ref())),
            Ok(tree) => {
                if let Some(unread) = unread {
                    let message = lost.describe(unread, &file.bytes);
                    findings.push(Finding::new(Reason::FurtherDocuments, key, message));
                }
                objects.add(key, file, tree, findings);
            }
            Err(error) => {
                objects.skipped.push(Skipped::new(key, file, true, error));
            }
        }
    }
    if objects.csv.is_none() {
        let message = "the bundle has no ClusterServiceVersion, so OLM cannot install it: add one \
                       to manifests/";
        findings.push(Finding::new(Reason::NoCsv, "", message));
    }
    Ok(objects)
}

impl Objects<'_> {
    fn add(&mut self, key: &str, file: &File, tree: Option<Tree>, findings: &mut Findings) {
        let object = describe(key, tree.as_ref());
        if let Some(tree) = &tree {
            self.check_identity(&object, tree.root(), findings);
        }
        match (object.kind.as_str(), tree) {
            (_, None) => {
                let message = "the file is not a Kubernetes object: its first document is empty, \
                               and OLM keeps it as an object without a kind";
                findings.push(Finding::new(Reason::NilObject, key, message));
            }
            (csv::KIND, Some(tree)) => {
                let chosen = ChosenCsv { key: key.to_owned(), name: object.name.clone(), tree };
                if let Some(former) = self.csv.replace(chosen) {
                    let message = format!(
                        "the ClusterServiceVersion is dropped: the bundle has several, and OLM \
                         uses the last one by key, {key}"
                    );
                    findings.push(Finding::new(Reason::SeveralCsvs, former.key, message));
                }
            }
            (crd::KIND, Some(tree))
                if file.directory == Directory::Manifests && !file.name.starts_with('.') =>
            {
                let room = crd::MAX_APIS.saturating_sub(self.provided.len());
                let mut reader = Reader::new(key, findings);
                let apis = crd::read_apis(tree.root(), room, &mut reader);
                self.provided.extend(apis);
            }
            _ => {}
        }
        self.found.push(object);
    }

    /// Adds a finding for an object that has no name, or that another file contains as well. A
    /// package manifest is not an object of a cluster.
    fn check_identity(&mut self, object: &Object, root: Value<'_>, findings: &mut Findings) {
        let Object { key, kind, api_version, name, .. } = object;
        if kind == package_manifest::KIND {
            return;
        }
        let metadata = root.get("metadata");
        let text = |field| metadata.and_then(|metadata| metadata.get(field)?.as_str());
        if name.is_empty() {
            if text("generateName").is_none_or(str::is_empty) {
                let kind = excerpt::shorten(kind);
                let message = format!(
                    "the object of kind {kind} has no name, so no cluster accepts it: set \
                     metadata.name"
                );
                findings.push(Finding::new(Reason::NamelessObject, key, message));
            }
            return;
        }
        // A cluster stores an object once for all versions of its API, so only the group counts.
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let namespace = text("namespace").unwrap_or_default();
        let identity = [group, kind, namespace, name].map(str::to_owned);
        match self.seen.entry(identity) {
            Entry::Vacant(entry) => {
                entry.insert(key.clone());
            }
            Entry::Occupied(first) => {
                let object = format!("{}/{}", excerpt::shorten(kind), excerpt::shorten(name));
                let message = format!(
                    "{object} is also in {}, but a cluster can have only one: keep one of them",
                    first.get()
                );
                findings.push(Finding::new(Reason::DuplicateObject, key, message));
            }
        }
    }
}

/// Returns the kind of an object. Empty if it has none.
pub(crate) fn kind_of(root: Value<'_>) -> &str {
    root.get("kind").and_then(|kind| kind.as_str()).unwrap_or_default()
}

/// Returns the name of an object. Empty if it has none.
pub(crate) fn name_of(root: Value<'_>) -> &str {
    root.get("metadata").and_then(|metadata| metadata.get("name")?.as_str()).unwrap_or_default()
}

/// Returns an object without its bytes. A nil object has only a key.
fn describe(key: &str, tree: Option<&Tree>) -> Object {
    let Some(root) = tree.map(Tree::root) else {
        return Object { key: key.to_owned(), ..Object::default() };
    };
    let api_version = root.get("apiVersion").and_then(|version| version.as_str());
    Object {
        key: key.to_owned(),
        kind: kind_of(root).to_owned(),
        api_version: api_version.unwrap_or_default().to_owned(),
        name: name_of(root).to_owned(),
        bytes: Vec::new(),
    }
}
