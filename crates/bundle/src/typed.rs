//! Reads typed fields from values, as Go's `encoding/json` decodes them into structs.
//!
//! Upstream's directory reader decodes CSVs and metadata into Go types. The names of fields match
//! in any letter case, null leaves a field empty, and a value of the wrong type is an error that
//! stops the reader. Here, such a value becomes a finding, and the field stays empty.
//!
//! ```
//! use unlade_bundle::{Findings, typed::{Reader, field}};
//! use unlade_yaml::{Limits, Scalars};
//!
//! let document = unlade_yaml::read(b"Name: a\nversion: 1.0", Scalars::Resolved, &Limits::default())?;
//! let root = document.tree.root();
//! let mut findings = Findings::default();
//! let mut reader = Reader::new("csv.yaml", &mut findings);
//! assert_eq!(reader.string(field(root, "name"), "name"), "a");
//! assert_eq!(reader.string(field(root, "version"), "version"), "");
//! assert_eq!(findings.into_vec()[0].to_string(), "csv.yaml: version is a number, not text");
//! # Ok::<(), unlade_yaml::Error>(())
//! ```

use unlade_yaml::json::{self, Kind, Value, is_folded};

use crate::{Finding, Findings, Reason};

/// The maximum number of items of a list. A small item needs many times more memory than its text.
/// The longest list in a sample of 142 published bundles has 53 items.
pub const MAX_ITEMS: usize = 10_000;

/// A reader of the values of one file, which reports values of the wrong type.
#[derive(Debug)]
pub struct Reader<'r> {
    key: &'r str,
    findings: &'r mut Findings,
}

impl<'r> Reader<'r> {
    /// Creates a reader for the file under `key`.
    pub fn new(key: &'r str, findings: &'r mut Findings) -> Self {
        Self { key, findings }
    }

    /// Reports a value that does not fit its Go type.
    pub fn invalid(&mut self, message: impl Into<String>) {
        self.findings.push(Finding::new(Reason::InvalidValue, self.key, message));
    }

    /// Reads a string. `path` is for the finding if the value is not a string.
    pub fn string(&mut self, value: Option<Value<'_>>, path: &str) -> String {
        match value.map(|value| (value, value.kind())) {
            None | Some((_, Kind::Null)) => String::new(),
            Some((_, Kind::String(text))) => text.to_owned(),
            Some((value, _)) => {
                self.mismatch(path, value, "text");
                String::new()
            }
        }
    }

    /// Reads a list of strings.
    pub fn strings(&mut self, value: Option<Value<'_>>, path: &str) -> Vec<String> {
        let items = self.items(value, path);
        items.into_iter().map(|item| self.string(Some(item), path)).collect()
    }

    /// Reads the items of a list. All items of a list with more than [`MAX_ITEMS`] are dropped.
    pub fn items<'a>(&mut self, value: Option<Value<'a>>, path: &str) -> Vec<Value<'a>> {
        match value.map(|value| (value, value.kind())) {
            None | Some((_, Kind::Null)) => Vec::new(),
            Some((value, Kind::Array)) => {
                let items: Vec<_> = value.items().take(MAX_ITEMS + 1).collect();
                if items.len() > MAX_ITEMS {
                    self.invalid(format!(
                        "{path} has more than {MAX_ITEMS} items, so unlade drops them"
                    ));
                    return Vec::new();
                }
                items
            }
            Some((value, _)) => {
                self.mismatch(path, value, "a list");
                Vec::new()
            }
        }
    }

    /// Reads a mapping. Returns `None` if it is absent or null.
    pub fn object<'a>(&mut self, value: Option<Value<'a>>, path: &str) -> Option<Value<'a>> {
        let value = value?;
        match value.kind() {
            Kind::Object => Some(value),
            Kind::Null => None,
            _ => {
                self.mismatch(path, value, "a mapping");
                None
            }
        }
    }

    fn mismatch(&mut self, path: &str, value: Value<'_>, expected: &str) {
        let found = noun(value.kind());
        self.invalid(format!("{path} is {found}, not {expected}"));
    }
}

/// Returns the field that Go decodes into the field `name`. Of several fields that differ only in
/// letter case, it is the last one in byte order that is not null.
pub fn field<'a>(object: Value<'a>, name: &str) -> Option<Value<'a>> {
    let fields = object.entries().filter(|(key, _)| is_folded(key, name));
    fields.map(|(_, value)| value).filter(|value| value.kind() != Kind::Null).last()
}

/// Returns the last field in byte order that Go matches with `name`, even if it is null. Go decodes
/// it into a field that takes any JSON, in which null is a value.
pub fn last_field<'a>(object: Value<'a>, name: &str) -> Option<Value<'a>> {
    object.entries().filter(|(key, _)| is_folded(key, name)).map(|(_, value)| value).last()
}

/// Describes the type of a value, for messages.
pub fn noun(kind: Kind<'_>) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Bool(_) => "a boolean",
        Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) => "a number",
        Kind::String(_) => "text",
        Kind::Array => "a list",
        Kind::Object => "a mapping",
    }
}

/// Converts a scalar into text, as `sigs.k8s.io/yaml` does for a string field. Returns `None` for
/// null and for containers.
pub fn scalar_text(value: Value<'_>) -> Option<String> {
    match value.kind() {
        Kind::Bool(value) => Some(value.to_string()),
        Kind::Int(value) => Some(value.to_string()),
        Kind::Uint(value) => Some(value.to_string()),
        Kind::Float(value) => Some(json::string_text(value)),
        Kind::String(text) => Some(text.to_owned()),
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}
