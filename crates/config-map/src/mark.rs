//! The marks of unlade on a ConfigMap: annotations that say that it is complete, and what the
//! keys alone do not tell. docs/decisions/0003 has the reasons.

use std::collections::{BTreeMap, BTreeSet};

use unlade_bundle::{Content, Directory};
use unlade_text::excerpt;

pub(crate) mod findings;

/// The version of the format, [`VERSION`]; with it come [`FILES`], [`DIGEST`] and [`ANNOTATIONS`].
pub const FORMAT: &str = "unlade.dev/format";
/// The number of files, that is of keys in `data` and `binaryData`.
pub const FILES: &str = "unlade.dev/files";
/// The [digest](unlade_bundle::digest) of the content.
pub const DIGEST: &str = "unlade.dev/digest";
/// JSON list of the annotation keys that were copied out of `annotations.yaml`.
pub const ANNOTATIONS: &str = "unlade.dev/annotations";
/// JSON map of ConfigMap key to original file name, for names that were changed; absent if none.
pub const NAMES: &str = "unlade.dev/names";
/// JSON list of the ConfigMap keys whose files lie in metadata/; absent if none.
pub const METADATA: &str = "unlade.dev/metadata";
/// The id of the attempt that filled the ConfigMap; absent if none was given.
pub const ATTEMPT: &str = "unlade.dev/attempt";
/// A JSON list of what the reader of the bundle noticed: at most 100 findings in 16 KiB, with the
/// number of the others; absent if the reader had no findings. [`DIGEST`] does not cover it.
pub const FINDINGS: &str = "unlade.dev/findings";

/// All marks.
pub const ALL: [&str; 8] = [FORMAT, FILES, DIGEST, ANNOTATIONS, NAMES, METADATA, ATTEMPT, FINDINGS];

/// The version of the format that is written, and the only one that is read.
pub const VERSION: &str = "1";

/// Why marks are not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There are marks, but not this one: the ConfigMap is not what was written.
    #[error("the annotation {mark} is missing although others of unlade are there")]
    Missing {
        /// The mark.
        mark: &'static str,
    },
    /// A version that is not known.
    #[error(
        "the annotation {FORMAT} says {:?}, only \"{VERSION}\" is known", excerpt::cut(.version)
    )]
    Version {
        /// What the mark says.
        version: String,
    },
    /// A mark that is not of its form.
    #[error("the annotation {mark} is no {form}")]
    Form {
        /// The mark.
        mark: &'static str,
        /// What it should be.
        form: &'static str,
    },
}

/// What the marks say of a content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) files: usize,
    pub(crate) digest: String,
    pub(crate) annotations: Vec<String>,
    pub(crate) names: BTreeMap<String, String>,
    pub(crate) metadata: BTreeSet<String>,
}

impl Marks {
    pub(crate) fn of(content: &Content) -> Self {
        let mut marks = Self {
            files: content.files().len(),
            digest: content.digest(),
            annotations: content.annotations().keys().cloned().collect(),
            names: BTreeMap::new(),
            metadata: BTreeSet::new(),
        };
        for (key, file) in content.entries() {
            if key.as_str() != file.name {
                marks.names.insert(key.to_string(), file.name.clone());
            }
            if file.directory == Directory::Metadata {
                marks.metadata.insert(key.to_string());
            }
        }
        marks
    }

    pub(crate) fn write(self, annotations: &mut BTreeMap<String, String>) {
        let mut mark = |key: &str, value| annotations.insert(key.to_owned(), value);
        mark(FORMAT, VERSION.to_owned());
        mark(FILES, self.files.to_string());
        mark(DIGEST, self.digest);
        mark(ANNOTATIONS, serde_json::Value::from(self.annotations).to_string());
        if !self.names.is_empty() {
            let names: serde_json::Map<_, _> =
                self.names.into_iter().map(|(key, name)| (key, name.into())).collect();
            mark(NAMES, serde_json::Value::from(names).to_string());
        }
        if !self.metadata.is_empty() {
            let keys: Vec<_> = self.metadata.into_iter().collect();
            mark(METADATA, serde_json::Value::from(keys).to_string());
        }
    }

    /// The marks in `annotations`; none if there is not one.
    pub(crate) fn read(annotations: &BTreeMap<String, String>) -> Result<Option<Self>, Error> {
        if !ALL.iter().any(|&mark| annotations.contains_key(mark)) {
            return Ok(None);
        }
        let needed = |mark| annotations.get(mark).ok_or(Error::Missing { mark });
        let version = needed(FORMAT)?;
        if version != VERSION {
            return Err(Error::Version { version: version.clone() });
        }
        let files = needed(FILES)?;
        Ok(Some(Self {
            files: files.parse().map_err(|_| Error::Form { mark: FILES, form: "number" })?,
            digest: needed(DIGEST)?.clone(),
            annotations: recorded(needed(ANNOTATIONS)?)
                .ok_or(Error::Form { mark: ANNOTATIONS, form: "JSON list of strings" })?,
            names: annotations
                .get(NAMES)
                .map_or(Ok(BTreeMap::new()), |text| serde_json::from_str(text))
                .map_err(|_| Error::Form { mark: NAMES, form: "JSON map of strings" })?,
            metadata: annotations
                .get(METADATA)
                .map_or(Ok(BTreeSet::new()), |text| serde_json::from_str(text))
                .map_err(|_| Error::Form { mark: METADATA, form: "JSON list of strings" })?,
        }))
    }
}

/// The annotation keys that a filling recorded under [`ANNOTATIONS`]; none if it is no such list.
pub(crate) fn recorded(text: &str) -> Option<Vec<String>> {
    serde_json::from_str(text).ok()
}
