//! Metas with other schemas.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use tonic::Status;

/// Checks the schema and the package of a request.
pub(crate) fn check(schema: &str, package: &str) -> Result<(), Status> {
    if schema.is_empty() {
        return Err(Status::invalid_argument("schema is required"));
    }
    for (what, name) in [("schema", schema), ("packageName", package)] {
        let is_valid = name.starts_with(|first: char| first.is_ascii_alphanumeric())
            && name.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-'));
        if !name.is_empty() && !is_valid {
            return Err(Status::invalid_argument(format!(
                "invalid custom schema query: invalid {what} {name:?}: must match \
                 ^[a-zA-Z0-9][a-zA-Z0-9._-]*$"
            )));
        }
    }
    Ok(())
}

/// Converts the JSON of a meta.
pub(super) fn to_struct(json: &[u8]) -> Result<Struct, Status> {
    // serde_json refuses more than 127 levels, and clients do not read as many.
    let failed = |error| Status::internal(format!("failed to send the meta: {error}"));
    let fields: serde_json::Map<_, _> = serde_json::from_slice(json).map_err(failed)?;
    Ok(object(fields))
}

fn object(fields: serde_json::Map<String, serde_json::Value>) -> Struct {
    Struct { fields: fields.into_iter().map(|(name, field)| (name, value(field))).collect() }
}

fn value(json: serde_json::Value) -> Value {
    let kind = match json {
        serde_json::Value::Null => Kind::NullValue(0),
        serde_json::Value::Bool(value) => Kind::BoolValue(value),
        serde_json::Value::Number(value) => Kind::NumberValue(value.as_f64().unwrap_or_default()),
        serde_json::Value::String(value) => Kind::StringValue(value),
        serde_json::Value::Array(values) => {
            Kind::ListValue(ListValue { values: values.into_iter().map(value).collect() })
        }
        serde_json::Value::Object(fields) => Kind::StructValue(object(fields)),
    };
    Value { kind: Some(kind) }
}
