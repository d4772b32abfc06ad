//! YAML and JSON.

use serde_json::Value;
use unlade_bundle::{Limits, constraint};
use unlade_config_map::protocol::outcome;
use unlade_yaml::{self as yaml, Scalars};

use super::{CHECKED_AGAIN, explain};

pub(super) fn yaml(input: &[u8]) {
    let limits = Limits::default().yaml;
    if input.len() > CHECKED_AGAIN {
        // A program reads a text once, in one of these ways.
        let _ = yaml::read(input, Scalars::Resolved, &limits);
        return;
    }
    for scalars in [Scalars::Resolved, Scalars::Source] {
        match yaml::read(input, scalars, &limits) {
            Ok(document) => {
                let json = document.tree.root().to_json();
                written_and_read_again(&json, &limits);
            }
            Err(error) => {
                explain(&error);
            }
        }
        let _ = yaml::decode_document(input, scalars, &limits);
        block_style_is_as_in_the_library(input, scalars, &limits);
    }
    decoded_is_json(input, &limits);
}

/// Checks that the composer of the block style and the library read the same value with the same
/// work, or return the same error.
fn block_style_is_as_in_the_library(input: &[u8], scalars: Scalars, limits: &yaml::Limits) {
    let read = |reader: yaml::Reader| {
        let read = reader.read(input, scalars).map(|document| {
            (document.tree.root().to_json(), document.unread.map(|unread| unread.line))
        });
        (read.map_err(|error| error.to_string()), reader.work())
    };
    let expected = read(yaml::Reader::with_library_only(limits));
    assert_eq!(read(yaml::Reader::new(limits)), expected, "read differently in block style");
}

/// Checks that our reader reads the value that our writer wrote.
fn written_and_read_again(json: &str, limits: &yaml::Limits) {
    // Nothing writes such deep values, and the reader does not read them.
    let Ok(value) = serde_json::from_str::<Value>(json) else { return };
    let written = yaml::write(&value);
    match yaml::to_json(written.as_bytes(), limits) {
        Ok(again) => {
            let again = serde_json::from_str::<Value>(&again).unwrap_or_default();
            assert_eq!(again.to_string(), value.to_string(), "read back another value");
        }
        Err(error) => assert!(error.is_limit(), "what was written is not read: {error}"),
    }
}

/// Checks that other parsers accept the object of a manifest as JSON, too.
fn decoded_is_json(input: &[u8], limits: &yaml::Limits) {
    if let Ok(decoded) = yaml::decode_unstructured(input, limits)
        && let Some(object) = decoded.object
    {
        let json = object.root().to_json();
        if input.len() > CHECKED_AGAIN {
            return;
        }
        match serde_json::from_str::<Value>(&json) {
            Ok(_) => {}
            // serde_json refuses more than 128 levels, and numbers that do not fit in a float.
            Err(error) => {
                let text = error.to_string();
                let is_known = text.contains("recursion limit") || text.contains("out of range");
                assert!(is_known, "the object is not JSON: {error}");
            }
        }
    }
}

pub(super) fn json(input: &[u8]) {
    let limits = Limits::default().yaml;
    decoded_is_json(input, &limits);
    let text = String::from_utf8_lossy(input);
    let is_checked = input.len() <= CHECKED_AGAIN;
    let value = is_checked.then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
    // These characters end a line in YAML, even in quoted scalars.
    let has_breaks = text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
    match (constraint::parse(&text), &value) {
        (Ok(found), Some(value)) => {
            let again = constraint::parse(&value.to_string());
            assert_eq!(again.as_ref(), Ok(&found), "read back another constraint");
        }
        (Ok(_), None) => {}
        (Err(error), _) => _ = explain(&error),
    }
    if let Some(value) = &value
        && !has_breaks
        && let Ok(yaml) = yaml::to_json(input, &limits)
    {
        let yaml: Value = serde_json::from_str(&yaml).unwrap_or_default();
        assert_eq!(in_floats(&yaml), in_floats(value), "another value as YAML");
    }
    let outcomes = outcome::parse(&text);
    if !outcomes.is_empty() {
        let _ = outcome::decisive(&outcomes);
        let message = outcome::message(&outcomes);
        assert!(message.len() <= outcome::MESSAGE_SIZE, "{} bytes of message", message.len());
        let json = serde_json::to_string(&outcomes).unwrap_or_default();
        if json.len() <= outcome::MESSAGE_SIZE {
            assert_eq!(outcome::parse(&message), outcomes, "read back other outcomes");
        }
    }
}

/// Returns the value with all numbers as floats, because YAML has other integers than JSON.
fn in_floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.iter().map(in_floats).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), in_floats(value))).collect()
        }
        other => other.clone(),
    }
}
