//! The marks of unlade on a ConfigMap: annotations that show that the content is complete, and that
//! record what the keys alone do not. See docs/decisions/0003 for the reasons.

use std::collections::{BTreeMap, BTreeSet};

use unlade_bundle::{Content, Directory};
use unlade_text::excerpt;

pub(crate) mod findings;

/// The version of the format, [`VERSION`]. A ConfigMap with this mark also has [`FILES`],
/// [`DIGEST`] and [`ANNOTATIONS`].
pub const FORMAT: &str = "unlade.dev/format";
/// The number of files, which is the number of keys in `data` and `binaryData`.
pub const FILES: &str = "unlade.dev/files";
/// The [digest](unlade_bundle::digest) of the content.
pub const DIGEST: &str = "unlade.dev/digest";
/// A JSON list of the keys of the annotations that were copied from `annotations.yaml`.
pub const ANNOTATIONS: &str = "unlade.dev/annotations";
/// A JSON map from ConfigMap keys to original file names, for names that differ from their keys.
/// Absent if it would be empty.
pub const NAMES: &str = "unlade.dev/names";
/// A JSON list of the ConfigMap keys of the files in metadata/. Absent if it would be empty.
pub const METADATA: &str = "unlade.dev/metadata";
/// The ID of the attempt that filled the ConfigMap. Absent if the caller passed none.
pub const ATTEMPT: &str = "unlade.dev/attempt";
/// A JSON list of the findings of the reader of the bundle: at most 100 findings in 16 KiB, and the
/// number of the others. Absent if the reader had no findings. [`DIGEST`] does not cover it.
pub const FINDINGS: &str = "unlade.dev/findings";

/// All marks.
pub const ALL: [&str; 8] = [FORMAT, FILES, DIGEST, ANNOTATIONS, NAMES, METADATA, ATTEMPT, FINDINGS];

/// The version of the format. Other versions are not supported.
pub const VERSION: &str = "1";

/// An error in the marks of a ConfigMap.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A mark does not exist, although others do. The ConfigMap was changed after it was filled.
    #[error("the annotation {mark} is missing, although other annotations of unlade exist")]
    Missing {
        /// The mark.
        mark: &'static str,
    },
    /// The version is not supported.
    #[error(
        "the annotation {FORMAT} is {:?}, but only \"{VERSION}\" is supported", excerpt::shorten(.version)
    )]
    Version {
        /// The value of the mark.
        version: String,
    },
    /// The value of a mark does not have the required form.
    #[error("the annotation {mark} is not a {form}")]
    Form {
        /// The mark.
        mark: &'static str,
        /// The required form.
        form: &'static str,
    },
}

/// The values of the marks of a content.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) files: usize,
    pub(crate) digest: String,
    pub(crate) annotations: Vec<String>,
    pub(crate) names: BTreeMap<String, String>,
    pub(crate) metadata: BTreeSet<String>,
}

impl Marks {
    pub(crate) fn from_content(content: &Content) -> Self {
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

    /// Reads the marks from `annotations`. Returns `None` if they contain no mark.
    pub(crate) fn read(annotations: &BTreeMap<String, String>) -> Result<Option<Self>, Error> {
        if !ALL.iter().any(|&mark| annotations.contains_key(mark)) {
            return Ok(None);
        }
        let required = |mark| annotations.get(mark).ok_or(Error::Missing { mark });
        let version = required(FORMAT)?;
        if version != VERSION {
            return Err(Error::Version { version: version.clone() });
        }
        let files = required(FILES)?;
        Ok(Some(Self {
            files: files.parse().map_err(|_| Error::Form { mark: FILES, form: "number" })?,
            digest: required(DIGEST)?.clone(),
            annotations: parse_annotation_keys(required(ANNOTATIONS)?)
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

/// Parses the value of [`ANNOTATIONS`]. Returns `None` if it is not a list of keys.
pub(crate) fn parse_annotation_keys(text: &str) -> Option<Vec<String>> {
    serde_json::from_str(text).ok()
}
