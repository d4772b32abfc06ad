//! JSON texts, as values of properties are, read and written as Go does.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::typed::is_folded;

/// The fields of a JSON object; none for null, and an error in words for all else.
pub(crate) fn fields_of(value: &str) -> Result<Map<String, Value>, String> {
    if value.is_empty() {
        return Err("there is no value".to_owned());
    }
    match serde_json::from_str(value) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(other) => Err(format!("the value is {}, not a mapping", noun(&other))),
        Err(error) => Err(error.to_string()),
    }
}

/// The text under `name`, in any letter case; empty for null and if it is absent.
pub(crate) fn text_of(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    match field_of(fields, name) {
        None => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other @ Value::Bool(_)) => Err(format!(
            "`{name}` is {}, not text: quote it, for y, yes, on, n, no and off are booleans in YAML",
            noun(other)
        )),
        Some(other @ Value::Number(_)) => {
            Err(format!("`{name}` is {}, not text: quote it", noun(other)))
        }
        Some(other) => Err(format!("`{name}` is {}, not text", noun(other))),
    }
}

/// The value under `name`, in any letter case; none for null.
pub(crate) fn field_of<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let mut found = fields.iter().filter(|(key, value)| is_folded(key, name) && !value.is_null());
    found.next_back().map(|(_, value)| value)
}

/// Go's `json.Marshal` of `value`.
pub(crate) fn to_json(value: &impl Serialize) -> String {
    let json = to_plain_json(value);
    json.replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

/// The same with `SetEscapeHTML(false)`, as upstream writes the properties of a catalog.
pub(crate) fn to_plain_json(value: &impl Serialize) -> String {
    // Values of this module are structs of strings, which always have a JSON form.
    let json = serde_json::to_string(value).unwrap_or_default();
    json.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// What a value is, for people.
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
