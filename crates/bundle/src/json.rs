//! Reads and writes JSON texts, such as the values of properties, as Go does.

use serde::Serialize;
use serde_json::{Map, Value};
use unlade_text::excerpt;
use unlade_yaml::json::is_folded;

/// An error that prevents a JSON text from being parsed as a value: the text is not a JSON object,
/// is nested more than 128 levels deep, or has a field of the wrong type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", excerpt::shorten(.0))]
pub struct Malformed(String);

impl Malformed {
    /// Creates the error for the field `name`, whose value is `found` instead of `expected`.
    pub(crate) fn field(name: &str, found: &Value, expected: &str) -> Self {
        Self(format!("{name} is {}, not {expected}", noun(found)))
    }
}

/// Parses the fields of a JSON object. Null has no fields.
pub(crate) fn parse_fields(value: &str) -> Result<Map<String, Value>, Malformed> {
    if value.is_empty() {
        return Err(Malformed("the value is missing".to_owned()));
    }
    match serde_json::from_str(value) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(other) => Err(Malformed(format!("the value is {}, not a mapping", noun(&other)))),
        Err(error) => Err(Malformed(error.to_string())),
    }
}

/// Returns the text of the field `name`, in any letter case. Empty for null and if it is absent.
pub(crate) fn text_field(fields: &Map<String, Value>, name: &str) -> Result<String, Malformed> {
    let Some(value) = field(fields, name) else { return Ok(String::new()) };
    let expected = match value {
        Value::String(text) => return Ok(text.clone()),
        Value::Bool(_) => "text: quote it, because y, yes, on, n, no and off are booleans in YAML",
        Value::Number(_) => "text: quote it",
        _ => "text",
    };
    Err(Malformed::field(name, value, expected))
}

/// Returns the value of the field `name`, in any letter case. `None` for null.
pub(crate) fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let mut found = fields.iter().filter(|(key, value)| is_folded(key, name) && !value.is_null());
    found.next_back().map(|(_, value)| value)
}

/// Encodes `value` as Go with `SetEscapeHTML(false)`. Upstream writes the properties of a catalog
/// in this way.
pub(crate) fn encode(value: &impl Serialize) -> String {
    // The callers pass structs of strings, which always serialize.
    let json = serde_json::to_string(value).unwrap_or_default();
    json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Describes the type of a value, for messages.
fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
