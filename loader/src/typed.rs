//! Values as Go's `encoding/json` reads them into structs.
//!
//! Upstream's directory reader decodes CSVs and metadata into Go types: names of fields match in
//! any letter case, null leaves a field empty, and a value of another type is an error that ends
//! the reading. Here it becomes a finding, and the field stays empty.

use unlade_bundle::{Finding, Findings, Reason};
use unlade_yaml::json::{Kind, Value};

pub(crate) use unlade_yaml::json::is_folded;

/// Reads values of one file, and notes those of the wrong type.
#[derive(Debug)]
pub(crate) struct Reader<'r> {
    key: &'r str,
    findings: &'r mut Findings,
}

impl<'r> Reader<'r> {
    /// A reader of the file under `key`.
    pub(crate) fn new(key: &'r str, findings: &'r mut Findings) -> Self {
        Self { key, findings }
    }

    /// Notes something that a Go type cannot hold.
    pub(crate) fn invalid(&mut self, message: impl Into<String>) {
        self.findings.push(Finding::new(Reason::InvalidValue, self.key, message));
    }

    /// A string; `path` is for the finding if it is none.
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

    /// A list of strings.
    pub(crate) fn strings(&mut self, value: Option<Value<'_>>, path: &str) -> Vec<String> {
        let items = self.items(value, path);
        items.into_iter().map(|item| self.string(Some(item), path)).collect()
    }

    /// The items of a list.
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

    /// A mapping; none if it is absent or null.
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

/// The field that Go decodes into one called `name`: of several that differ in letter case the
/// last in byte order that is not null.
pub(crate) fn field<'a>(object: Value<'a>, name: &str) -> Option<Value<'a>> {
    let fields = object.entries().filter(|(key, _)| is_folded(key, name));
    fields.map(|(_, value)| value).filter(|value| value.kind() != Kind::Null).last()
}

/// What a value is, for people.
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

/// A scalar as text, as `sigs.k8s.io/yaml` gives it to a field that is a string; none for null and
/// for containers.
pub(crate) fn scalar_text(value: Value<'_>) -> Option<String> {
    match value.kind() {
        Kind::Bool(value) => Some(value.to_string()),
        Kind::Int(value) => Some(value.to_string()),
        Kind::Uint(value) => Some(value.to_string()),
        #[expect(clippy::cast_possible_truncation, reason = "Go writes 32 bits of it")]
        Kind::Float(value) => Some((value as f32).to_string()),
        Kind::String(text) => Some(text.to_owned()),
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}
