//! [`Object`]: one manifest of a bundle.

use std::borrow::Cow;
use std::collections::{HashMap, hash_map::Entry};

use unlade_bundle::{Content, Directory, File, Finding, Findings, Reason};
use unlade_text::excerpt;
use unlade_yaml::{
    self as yaml,
    json::{Tree, Value},
};

use crate::{
    Api, Error, PackageManifest, crd, csv, further,
    metadata::{Candidate, Metadata},
    package_manifest,
    typed::Reader,
};

/// One manifest of a bundle: the bytes of a file, and what its first document says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Object {
    /// Its ConfigMap key.
    pub key: String,
    /// Its kind; empty for an object without content, which upstream keeps (004.16).
    pub kind: String,
    /// Its `apiVersion`; empty if it has none.
    pub api_version: String,
    /// Its `metadata.name`; empty if it has none.
    pub name: String,
    /// The whole file as it came.
    pub bytes: Vec<u8>,
}

impl Object {
    /// The file as text. Bytes that are not UTF-8 are replaced one by one by U+FFFD, as Go's JSON
    /// writer does.
    pub fn text(&self) -> Cow<'_, str> {
        if let Ok(text) = std::str::from_utf8(&self.bytes) {
            return Cow::Borrowed(text);
        }
        let mut text = String::with_capacity(self.bytes.len());
        for chunk in self.bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
        }
        Cow::Owned(text)
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The object itself, read again from the bytes; none if it has no content. Its JSON is
    /// `root().to_json()` of that.
    ///
    /// A bundle's manifests are large and seldom all wanted as values, so they are not kept.
    ///
    /// # Errors
    ///
    /// Only if `limits` are lower than those that the bundle was loaded with.
    pub fn read(&self, limits: &yaml::Limits) -> Result<Option<Tree>, yaml::Error> {
        Ok(yaml::decode_unstructured(&self.bytes, limits)?.object)
    }
}

/// Most APIs that the CRDs of a bundle provide. The most that a published bundle has is 53.
const MOST_APIS: usize = 10_000;

/// What the files of a content are.
#[derive(Debug, Default)]
pub(crate) struct Objects<'a> {
    /// The objects by key, their bytes still in the content.
    pub(crate) found: Vec<Object>,
    /// The last CSV.
    pub(crate) csv: Option<ChosenCsv>,
    /// What the CRDs provide that upstream's directory reader sees: those of manifests/ whose names
    /// do not begin with a dot.
    pub(crate) provided: Vec<Api>,
    /// The files that are no objects.
    pub(crate) skipped: Vec<Skipped<'a>>,
    /// The PackageManifests among the files, with their keys: of files that are no objects, and of
    /// those of that kind.
    pub(crate) packages: Vec<(&'a str, PackageManifest)>,
    /// Group, kind, namespace and name of each object, and the first key that has it.
    seen: HashMap<[String; 4], String>,
}

/// The CSV that is the bundle's.
#[derive(Debug)]
pub(crate) struct ChosenCsv {
    pub(crate) key: String,
    pub(crate) name: String,
    pub(crate) tree: Tree,
}

/// A file that is no object.
#[derive(Debug)]
pub(crate) struct Skipped<'a> {
    pub(crate) key: &'a str,
    pub(crate) directory: Directory,
    /// Whether it is a document all the same.
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

/// Reads every file of `content` as upstream's loader does, by ConfigMap key in byte order, each
/// once; those that may hold metadata are shown to `metadata` as well.
///
/// # Errors
///
/// If the budget of `reader` is used up.
pub(crate) fn read<'a>(
    content: &'a Content,
    is_placed: bool,
    reader: &yaml::Reader,
    metadata: &mut Metadata<'a>,
    findings: &mut Findings,
) -> Result<Objects<'a>, Error> {
    let mut objects = Objects::default();
    let lost = further::Reader::new();
    for (key, file) in content.entries() {
        let key = key.as_str();
        let exhausted = |source| Error::Exhausted { key: key.to_owned(), source };
        let read = match reader.file(&file.bytes) {
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
            // Where places are not known, any file that is no object may hold metadata.
            if file.directory == Directory::Metadata || read.error.is_some() && !is_placed {
                metadata.take(candidate, read.unread, reader).map_err(exhausted)?;
            }
            if read.error.is_some() || kind_of(tree.root()) == package_manifest::KIND {
                let found = package_manifest::read(candidate, reader).map_err(exhausted)?;
                objects.packages.extend(found.map(|manifest| (key, manifest)));
            }
        }
        let unread = read.unread;
        match read.into_object() {
            Ok(tree) => {
                if let Some(unread) = unread {
                    let message = lost.describe(unread, &file.bytes);
                    findings.push(Finding::new(Reason::FurtherDocuments, key, message));
                }
                objects.take(key, file, tree, findings);
            }
            Err(error) => {
                objects.skipped.push(Skipped::new(key, file, true, error));
            }
        }
    }
    if objects.csv.is_none() {
        findings.push(Finding::new(Reason::NoCsv, "", "there is no ClusterServiceVersion"));
    }
    Ok(objects)
}

impl Objects<'_> {
    fn take(&mut self, key: &str, file: &File, tree: Option<Tree>, findings: &mut Findings) {
        let object = match &tree {
            Some(tree) => describe(key, tree.root()),
            None => Object { key: key.to_owned(), ..Object::default() },
        };
        if let Some(tree) = &tree {
            self.identify(&object, tree.root(), findings);
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
                        "the ClusterServiceVersion is lost: the bundle has several, and OLM takes \
                         the last one by key, `{key}`"
                    );
                    findings.push(Finding::new(Reason::SeveralCsvs, former.key, message));
                }
            }
            (crd::KIND, Some(tree))
                if file.directory == Directory::Manifests && !file.name.starts_with('.') =>
            {
                let room = MOST_APIS.saturating_sub(self.provided.len());
                let mut reader = Reader::new(key, findings);
                let apis = crd::apis(tree.root(), &object.api_version, room, &mut reader);
                self.provided.extend(apis);
            }
            _ => {}
        }
        self.found.push(object);
    }
}

impl Objects<'_> {
    /// Adds a finding for an object that has no name, or that another file contains as well. A
    /// package manifest is not an object of a cluster.
    fn identify(&mut self, object: &Object, root: Value<'_>, findings: &mut Findings) {
        let Object { key, kind, api_version, name, .. } = object;
        if kind == package_manifest::KIND {
            return;
        }
        let metadata = root.get("metadata");
        let text = |field| metadata.and_then(|metadata| metadata.get(field)?.as_str());
        if name.is_empty() {
            if text("generateName").is_none_or(str::is_empty) {
                let kind = excerpt::cut(kind);
                let message =
                    format!("the object of kind {kind} has no name, so no cluster takes it");
                findings.push(Finding::new(Reason::NamelessObject, key, message));
            }
            return;
        }
        // A cluster stores one object, in whichever version of its API it is written, so only the
        // group counts.
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let namespace = text("namespace").unwrap_or_default();
        let identity = [group, kind, namespace, name].map(str::to_owned);
        match self.seen.entry(identity) {
            Entry::Vacant(entry) => {
                entry.insert(key.clone());
            }
            Entry::Occupied(first) => {
                let object = format!("{}/{}", excerpt::cut(kind), excerpt::cut(name));
                let message = format!(
                    "{object} is in `{}` as well, and a cluster has it once: keep one of them",
                    first.get()
                );
                findings.push(Finding::new(Reason::DuplicateObject, key, message));
            }
        }
    }
}

fn kind_of(root: Value<'_>) -> &str {
    root.get("kind").and_then(|kind| kind.as_str()).unwrap_or_default()
}

fn describe(key: &str, root: Value<'_>) -> Object {
    let text = |value: Option<Value<'_>>| {
        value.and_then(|value| value.as_str()).unwrap_or_default().to_owned()
    };
    Object {
        key: key.to_owned(),
        kind: kind_of(root).to_owned(),
        api_version: text(root.get("apiVersion")),
        name: text(root.get("metadata").and_then(|metadata| metadata.get("name"))),
        bytes: Vec::new(),
    }
}
