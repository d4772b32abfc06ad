//! Reads typed fields from values, as Go's `encoding/json` decodes them into structs.
//!
//! Upstream's directory reader decodes CSVs and metadata into Go types. The names of fields match
//! in any letter case, null leaves a field empty, and a value of the wrong type is an error that
//! stops the reader. Here, such a value becomes a finding, and the field stays empty.

use unlade_bundle::{Finding, Findings, Reason};
use unlade_yaml::json::{Kind, Value};

pub(crate) use unlade_yaml::json::is_folded;

/// A reader of the values of one file, which reports values of the wrong type.
#[derive(Debug)]
pub(crate) struct Reader<'r> {
    key: &'r str,
    findings: &'r mut Findings,
}

impl<'r> Reader<'r> {
    /// Creates a reader for the file under `key`.
    pub(crate) fn new(key: &'r str, findings: &'r mut Findings) -> Self {
        Self { key, findings }
    }

    /// Reports a value that does not fit its Go type.
    pub(crate) fn invalid(&mut self, message: impl Into<String>) {
        self.findings.push(Finding::new(Reason::InvalidValue, self.key, message));
    }

    /// Reads a string. `path` is for the finding if the value is not a string.
    pub(crate) fn string(&mut self, value: Option<Value<'_>>, path: &str) -> String {
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
    pub(crate) fn strings(&mut self, value: Option<Value<'_>>, path: &str) -> Vec<String> {
        let items = self.items(value, path);
        items.into_iter().map(|item| self.string(Some(item), path)).collect()
    }

    /// Reads the items of a list.
    pub(crate) fn items<'a>(&mut self, value: Option<Value<'a>>, path: &str) -> Vec<Value<'a>> {
        match value.map(|value| (value, value.kind())) {
            None | Some((_, Kind::Null)) => Vec::new(),
            Some((value, Kind::Array)) => value.items().collect(),
            Some((value, _)) => {
                self.mismatch(path, value, "a list");
                Vec::new()
            }
        }
    }

    /// Reads a mapping. Returns `None` if it is absent or null.
    pub(crate) fn object<'a>(&mut self, value: Option<Value<'a>>, path: &str) -> Option<Value<'a>> {
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
pub(crate) fn field<'a>(object: Value<'a>, name: &str) -> Option<Value<'a>> {
    let fields = object.entries().filter(|(key, _)| is_folded(key, name));
    fields.map(|(_, value)| value).filter(|value| value.kind() != Kind::Null).last()
}

/// Describes the type of a value, for messages.
pub(crate) fn noun(kind: Kind<'_>) -> &'static str {
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
pub(crate) fn scalar_text(value: Value<'_>) -> Option<String> {
    match value.kind() {
        Kind::Bool(value) => Some(value.to_string()),
        Kind::Int(value) => Some(value.to_string()),
        Kind::Uint(value) => Some(value.to_string()),
        #[expect(clippy::cast_possible_truncation, reason = "Go formats it with 32 bits")]
        Kind::Float(value) => Some((value as f32).to_string()),
        Kind::String(text) => Some(text.to_owned()),
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}
