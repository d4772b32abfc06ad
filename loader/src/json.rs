//! Reads and writes JSON texts, such as the values of properties, as Go does.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::typed::is_folded;

/// Parses the fields of a JSON object. Null has no fields. Returns a message for all other values.
pub(crate) fn parse_fields(value: &str) -> Result<Map<String, Value>, String> {
    if value.is_empty() {
        return Err("the value is missing".to_owned());
    }
    match serde_json::from_str(value) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(other) => Err(format!("the value is {}, not a mapping", noun(&other))),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the text of the field `name`, in any letter case. Empty for null and if it is absent.
pub(crate) fn text_field(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    match field(fields, name) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other @ Value::Bool(_)) => Err(format!(
            "`{name}` is {}, not text: quote it, because y, yes, on, n, no and off are booleans in YAML",
            noun(other)
        )),
        Some(other @ Value::Number(_)) => {
            Err(format!("`{name}` is {}, not text: quote it", noun(other)))
        }
        Some(other) => Err(format!("`{name}` is {}, not text", noun(other))),
    }
}

/// Returns the value of the field `name`, in any letter case. `None` for null.
pub(crate) fn field<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let mut found = fields.iter().filter(|(key, value)| is_folded(key, name) && !value.is_null());
    found.next_back().map(|(_, value)| value)
}

/// Encodes `value` as Go's `json.Marshal`.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let json = to_plain_json(value);
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

/// Encodes `value` as Go with `SetEscapeHTML(false)`. Upstream writes the properties of a catalog
/// so.
pub(crate) fn to_plain_json(value: &impl Serialize) -> String {
    // The callers pass structs of strings, which always serialize.
    let json = serde_json::to_string(value).unwrap_or_default();
    json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Describes the type of a value, for messages.
pub(crate) fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}
