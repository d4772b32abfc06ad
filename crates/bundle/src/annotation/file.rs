//! Reads `annotations.yaml`: upstream's six annotations as upstream does, and all others as
//! written.

use std::collections::BTreeMap;
use std::fmt;

use super::{SIZE, UPSTREAM, check_size, is_reserved};
use unlade_text::excerpt;
use unlade_yaml::{
    self as yaml, Scalars,
    json::{Kind, Value, fold, is_folded},
};

use crate::{Finding, Findings, Limits, Reason};

#[cfg(test)]
mod tests;

/// The result of reading `annotations.yaml`.
#[derive(Debug, Default)]
pub(crate) struct AnnotationsFile {
    /// The annotations. Upstream's six are always among them.
    pub(crate) annotations: BTreeMap<String, String>,
    /// Findings about entries that were dropped.
    pub(crate) findings: Findings,
}

/// An error in the annotations of a bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not YAML.
    #[error("failed to read {path}")]
    Yaml {
        /// The file.
        path: String,
        /// The error of the YAML reader.
        #[source]
        source: yaml::Error,
    },
    /// The file, or `annotations` in it, is not a mapping.
    #[error("{path}: {what} is not a mapping")]
    NotMapping {
        /// The file.
        path: String,
        /// `the document` or the key.
        what: String,
    },
    /// Some entries cannot be annotations.
    #[error("{path}: {}", excerpt::list(.problems, "; "))]
    Entries {
        /// The file.
        path: String,
        /// All problems, one for each such entry.
        problems: Vec<EntryProblem>,
    },
    /// All annotations together are larger than Kubernetes allows.
    #[error("the annotations are {size} bytes in total, but Kubernetes allows {SIZE}")]
    TooLarge {
        /// The size of their keys and values in bytes.
        size: usize,
    },
}

/// What to do with entries that cannot be annotations. This does not apply to upstream's six, which
/// must always be legal, because upstream rejects the bundle otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Illegal {
    /// Return an error.
    Refused,
    /// Leave them out, with a finding, because upstream ignores them anyway. The total size is not
    /// checked here. The writer of the ConfigMap checks it.
    LeftOut,
}

impl Error {
    /// Checks whether the file or the annotations are too large, as opposed to invalid.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::Yaml { source, .. } => source.is_limit(),
            Self::TooLarge { .. } => true,
            Self::NotMapping { .. } | Self::Entries { .. } => false,
        }
    }
}

/// An entry that cannot be an annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EntryProblem {
    /// Its key.
    pub key: String,
    /// What is wrong with it.
    pub fault: EntryFault,
}

/// Why an entry cannot be an annotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntryFault {
    /// The value is a list.
    #[error("the value is a list")]
    List,
    /// The value is a mapping.
    #[error("the value is a mapping")]
    Mapping,
    /// Kubernetes rejects the key.
    #[error(transparent)]
    Key(#[from] unlade_name::Error),
}

impl fmt::Display for EntryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", excerpt::shorten(&self.key), self.fault)
    }
}

/// Reads the `annotations.yaml` at `path`.
///
/// The top-level key and upstream's six annotations are matched as Go's `encoding/json` does: in
/// any letter case. Of several spellings, the last one in bytewise order takes precedence, and
/// `null` keeps the earlier value. Other keys are kept as written. Values are kept as source text.
pub(crate) fn read(
    path: &str,
    text: &[u8],
    limits: &Limits,
    illegal: Illegal,
) -> Result<AnnotationsFile, Error> {
    let mut yaml_limits = limits.yaml.clone();
    yaml_limits.input = yaml_limits.input.min(limits.annotations_file_size);
    // The file is read twice, for the layout of the bundle and for its content. Its budget is
    // separate from the budget for all other files.
    let work = limits.annotations_file_size as u64 * WORK_PER_BYTE;
    yaml_limits.work = yaml_limits.work.min(work);
    let document = yaml::read(text, Scalars::Source, &yaml_limits)
        .map_err(|source| Error::Yaml { path: path.to_owned(), source })?;
    let mut reader =
        Reader { path, illegal, file: AnnotationsFile::default(), problems: Vec::new() };
    reader.file.annotations = UPSTREAM.map(|key| (key.to_owned(), String::new())).into();
    reader.read_document(document.tree.root())?;
    if let Some(unread) = document.unread {
        reader.report(format!("{unread} is dropped"));
    }
    if !reader.problems.is_empty() {
        return Err(Error::Entries { path: path.to_owned(), problems: reader.problems });
    }
    if illegal == Illegal::Refused {
        check_size(&reader.file.annotations)?;
    }
    Ok(reader.file)
}

/// The maximum work for each byte of the file. The worst case of one parse needs this much.
const WORK_PER_BYTE: u64 = 32;

struct Reader<'a> {
    path: &'a str,
    illegal: Illegal,
    file: AnnotationsFile,
    problems: Vec<EntryProblem>,
}

impl Reader<'_> {
    fn read_document(&mut self, document: Value<'_>) -> Result<(), Error> {
        match document.kind() {
            Kind::Null => self.report("the file is empty".to_owned()),
            Kind::Object => {
                let mut found = false;
                for (key, value) in document.entries() {
                    if is_folded(key, "annotations") {
                        found = true;
                        self.read_annotations(key, value)?;
                    } else {
                        self.report(format!("OLM ignores the key {:?}", excerpt::shorten(key)));
                    }
                }
                if !found {
                    self.report(
                        "the file has no key \"annotations\", so it sets no annotations".to_owned(),
                    );
                }
            }
            _ => return Err(self.not_a_mapping("the document".to_owned())),
        }
        Ok(())
    }

    fn read_annotations(&mut self, name: &str, mapping: Value<'_>) -> Result<(), Error> {
        match mapping.kind() {
            Kind::Null => self.report(format!("the key {:?} is empty", excerpt::shorten(name))),
            Kind::Object => {
                let mut spellings = BTreeMap::new();
                for (key, value) in mapping.entries() {
                    self.add_entry(key, value, &mut spellings);
                }
            }
            _ => return Err(self.not_a_mapping(format!("{:?}", excerpt::shorten(name)))),
        }
        Ok(())
    }

    /// Adds one annotation. `spellings` has the spellings of upstream's six that were already seen.
    fn add_entry(
        &mut self,
        key: &str,
        value: Value<'_>,
        spellings: &mut BTreeMap<&'static str, String>,
    ) {
        let folded = fold(key);
        let upstream = UPSTREAM.into_iter().find(|known| *known == folded);
        if upstream.is_none() && is_reserved(key) {
            self.file.findings.push(Finding::new(
                Reason::ReservedAnnotation,
                key,
                "the annotation is dropped: its key is reserved for Kubernetes, OLM or unlade",
            ));
            return;
        }
        let text = match value.kind() {
            Kind::Null => None,
            Kind::String(text) => Some(text.to_owned()),
            Kind::Array => return self.reject(key, upstream, EntryFault::List),
            Kind::Object => return self.reject(key, upstream, EntryFault::Mapping),
            Kind::Bool(_) | Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) => Some(value.to_json()),
        };
        let Some(known) = upstream else {
            if let Err(error) = unlade_name::check_annotation_key(key) {
                return self.reject(key, upstream, error.into());
            }
            self.file.annotations.insert(key.to_owned(), text.unwrap_or_default());
            return;
        };
        if let Some(earlier) = spellings.insert(known, key.to_owned()) {
            self.report(format!(
                "{earlier:?} and {key:?} are the same key to OLM, which uses the latter"
            ));
        }
        if let Some(text) = text {
            self.file.annotations.insert(known.to_owned(), text);
        }
    }

    fn reject(&mut self, key: &str, upstream: Option<&str>, fault: EntryFault) {
        if self.illegal == Illegal::LeftOut && upstream.is_none() {
            let message = format!("the annotation is dropped: {fault}");
            self.file.findings.push(Finding::new(Reason::IllegalAnnotation, key, message));
            return;
        }
        self.problems.push(EntryProblem { key: key.to_owned(), fault });
    }

    fn report(&mut self, message: String) {
        self.file.findings.push(Finding::new(Reason::AnnotationsFile, self.path, message));
    }

    fn not_a_mapping(&self, what: String) -> Error {
        Error::NotMapping { path: self.path.to_owned(), what }
    }
}
