//! `annotations.yaml`, as upstream's writer decodes it and further.

use std::collections::BTreeMap;
use std::fmt;

use super::{SIZE, UPSTREAM, check_size, is_reserved, name_problem};
use unlade_text::excerpt;
use unlade_yaml::{
    self as yaml, Scalars,
    json::{Kind, Value},
};

use crate::{Finding, Findings, Limits, Reason};

#[cfg(test)]
mod tests;

/// What `annotations.yaml` gives.
#[derive(Debug, Default)]
pub(crate) struct AnnotationsFile {
    /// The annotations that are taken, upstream's six among them in any case.
    pub(crate) annotations: BTreeMap<String, String>,
    /// What is not taken.
    pub(crate) findings: Findings,
}

/// Why annotations are not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is no YAML.
    #[error("read {path}")]
    Yaml {
        /// The file.
        path: String,
        /// What the reader says.
        #[source]
        source: yaml::Error,
    },
    /// The file, or `annotations` in it, is no mapping.
    #[error("{path}: {what} is no mapping")]
    NotMapping {
        /// The file.
        path: String,
        /// `the document` or the key.
        what: String,
    },
    /// Entries that cannot be annotations: all of them.
    #[error("{path}: {}", excerpt::list(.problems, "; "))]
    Entries {
        /// The file.
        path: String,
        /// One for each such entry.
        problems: Vec<EntryProblem>,
    },
    /// Together they are more than Kubernetes takes.
    #[error("the annotations have {size} bytes, Kubernetes takes {SIZE}")]
    TooLarge {
        /// Bytes in their keys and values.
        size: usize,
    },
}

/// What becomes of entries that cannot be annotations, upstream's six excepted: those must be
/// legal for upstream too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Illegal {
    /// They are an error.
    Refused,
    /// They are left out, with a finding: upstream keeps the six alone. That all together may be
    /// too large for Kubernetes is seen when they are written.
    LeftOut,
}

impl Error {
    /// Whether the file or the annotations are too large, rather than wrong.
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
    /// Why: a lowercase fragment.
    pub reason: &'static str,
}

impl fmt::Display for EntryProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", excerpt::cut(&self.key), self.reason)
    }
}

/// Reads the `annotations.yaml` at `path`.
///
/// As Go's `encoding/json` does it for upstream, the top key and the six are matched in any letter
/// case, in bytewise order of their spellings, the last one wins and `null` leaves what was there.
/// Other keys are taken as they are written, values as their source text.
pub(crate) fn read(
    path: &str,
    text: &[u8],
    limits: &Limits,
    illegal: Illegal,
) -> Result<AnnotationsFile, Error> {
    let mut yaml_limits = limits.yaml.clone();
    yaml_limits.input = yaml_limits.input.min(limits.annotations_file_size);
    // The file is read twice, for the layout of a bundle and for its content, beside all others.
    let work = limits.annotations_file_size as u64 * WORK_PER_BYTE;
    yaml_limits.work = yaml_limits.work.min(work);
    let document = yaml::read(text, Scalars::Source, &yaml_limits)
        .map_err(|source| Error::Yaml { path: path.to_owned(), source })?;
    let mut reader =
        Reader { path, illegal, file: AnnotationsFile::default(), problems: Vec::new() };
    reader.file.annotations = UPSTREAM.map(|key| (key.to_owned(), String::new())).into();
    reader.document(document.tree.root())?;
    if let Some(unread) = document.unread {
        reader.notice(format!("{unread} is not read"));
    }
    if !reader.problems.is_empty() {
        return Err(Error::Entries { path: path.to_owned(), problems: reader.problems });
    }
    if illegal == Illegal::Refused {
        check_size(&reader.file.annotations)?;
    }
    Ok(reader.file)
}

/// Most work for each byte that the file may have: one attempt in the worst case.
const WORK_PER_BYTE: u64 = 32;

struct Reader<'a> {
    path: &'a str,
    illegal: Illegal,
    file: AnnotationsFile,
    problems: Vec<EntryProblem>,
}

impl Reader<'_> {
    fn document(&mut self, document: Value<'_>) -> Result<(), Error> {
        match document.kind() {
            Kind::Null => self.notice("the file is empty".to_owned()),
            Kind::Object => {
                let mut found = false;
                for (key, value) in document.entries() {
                    if fold(key) == "annotations" {
                        found = true;
                        self.mapping(key, value)?;
                    } else {
                        self.notice(format!("nobody reads its key {:?}", excerpt::cut(key)));
                    }
                }
                if !found {
                    self.notice("the file has no key \"annotations\"".to_owned());
                }
            }
            _ => return Err(self.not_mapping("the document".to_owned())),
        }
        Ok(())
    }

    fn mapping(&mut self, name: &str, mapping: Value<'_>) -> Result<(), Error> {
        match mapping.kind() {
            Kind::Null => self.notice(format!("its key {:?} is empty", excerpt::cut(name))),
            Kind::Object => {
                let mut spellings = BTreeMap::new();
                for (key, value) in mapping.entries() {
                    self.entry(key, value, &mut spellings);
                }
            }
            _ => return Err(self.not_mapping(format!("{:?}", excerpt::cut(name)))),
        }
        Ok(())
    }

    /// Takes one annotation; `spellings` holds those of the six that were there before.
    fn entry(
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
                "this annotation is not taken from a bundle: its key is reserved",
            ));
            return;
        }
        let text = match value.kind() {
            Kind::Null => None,
            Kind::String(text) => Some(text.to_owned()),
            Kind::Array => return self.refuse(key, upstream, "the value is a list"),
            Kind::Object => return self.refuse(key, upstream, "the value is a mapping"),
            Kind::Bool(_) | Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) => Some(value.to_json()),
        };
        let Some(known) = upstream else {
            if let Some(reason) = name_problem(key) {
                return self.refuse(key, upstream, reason);
            }
            self.file.annotations.insert(key.to_owned(), text.unwrap_or_default());
            return;
        };
        if let Some(earlier) = spellings.insert(known, key.to_owned()) {
            self.notice(format!("{earlier:?} and {key:?} are one key: the latter wins"));
        }
        if let Some(text) = text {
            self.file.annotations.insert(known.to_owned(), text);
        }
    }

    fn refuse(&mut self, key: &str, upstream: Option<&str>, reason: &'static str) {
        if self.illegal == Illegal::LeftOut && upstream.is_none() {
            let message = format!("the annotation is left out: {reason}");
            self.file.findings.push(Finding::new(Reason::IllegalAnnotation, key, message));
            return;
        }
        self.problems.push(EntryProblem { key: key.to_owned(), reason });
    }

    fn notice(&mut self, message: String) {
        self.file.findings.push(Finding::new(Reason::AnnotationsFile, self.path, message));
    }

    fn not_mapping(&self, what: String) -> Error {
        Error::NotMapping { path: self.path.to_owned(), what }
    }
}

/// `name` as Go's `encoding/json` compares it with a field: letter case aside, where U+017F folds
/// to `s` and U+212A to `k`.
fn fold(name: &str) -> String {
    name.replace('\u{17f}', "s").replace('\u{212a}', "k").to_ascii_lowercase()
}
