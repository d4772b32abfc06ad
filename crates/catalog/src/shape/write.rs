//! Writes values as upstream does after it has decoded them into a [`Shape`].

use unlade_bundle::typed;
use unlade_yaml::json::{Kind, Value};

use super::{Field, Shape};
use unlade_yaml::base64;

/// Appends the compact JSON of `value` as upstream writes it: the known fields in the order of the
/// struct. The value must fit the shape; `None` is an absent value.
pub(crate) fn write(value: Option<Value<'_>>, shape: &Shape, out: &mut String) {
    let value = value.filter(|value| value.kind() != Kind::Null);
    match (shape, value) {
        (Shape::Text, None) => out.push_str("\"\""),
        (Shape::Bool, None) => out.push_str("false"),
        (Shape::Int(..), None) => out.push('0'),
        (Shape::Any | Shape::Bytes | Shape::List(_) | Shape::Map(_), None) => out.push_str("null"),
        (Shape::Text | Shape::Bool | Shape::Int(..) | Shape::Any, Some(value)) => {
            value.write_float_json(out);
        }
        (Shape::Bytes, Some(value)) => {
            out.push('"');
            out.push_str(&base64::encode(bytes(value)));
            out.push('"');
        }
        (Shape::List(item), Some(list)) => {
            write_list(list.items(), item, out);
        }
        (Shape::Map(shape), Some(map)) => {
            out.push('{');
            for (index, (key, value)) in map.entries().enumerate() {
                out.push_str(if index == 0 { "" } else { "," });
                out.push_str(&unlade_yaml::json::quote(key));
                out.push(':');
                write(Some(value), shape, out);
            }
            out.push('}');
        }
        (Shape::Struct(fields), value) => {
            write_fields(fields, out, |field, out| write_field(value, field, out));
        }
    }
}

/// Appends a list of values of the shape `item`.
pub(crate) fn write_list<'v>(
    values: impl Iterator<Item = Value<'v>>,
    item: &Shape,
    out: &mut String,
) {
    out.push('[');
    for (index, value) in values.enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        write(Some(value), item, out);
    }
    out.push(']');
}

/// Appends an object with `fields`. `write` appends the value of a field, or returns false if the
/// field is left out.
pub(crate) fn write_fields(
    fields: &[Field],
    out: &mut String,
    mut write: impl FnMut(&Field, &mut String) -> bool,
) {
    let mut separator = "{";
    for field in fields {
        let before = out.len();
        out.push_str(separator);
        out.push('"');
        out.push_str(field.name);
        out.push_str("\":");
        if write(field, out) {
            separator = ",";
        } else {
            out.truncate(before);
        }
    }
    out.push_str(if separator == "{" { "{}" } else { "}" });
}

/// Appends the value of the field of `object`. Returns false if it is left out.
pub(crate) fn write_field(object: Option<Value<'_>>, field: &Field, out: &mut String) -> bool {
    write_value(object.and_then(|object| find(object, field)), field, out)
}

/// Appends the value of a field. Returns false if it is left out.
pub(crate) fn write_value(value: Option<Value<'_>>, field: &Field, out: &mut String) -> bool {
    let is_written = !field.is_optional || !is_empty(value, &field.shape);
    if is_written {
        write(value, &field.shape, out);
    }
    is_written
}

/// Returns the value that Go decodes into a field. A null is a value of any type.
fn find<'a>(object: Value<'a>, field: &Field) -> Option<Value<'a>> {
    match field.shape {
        Shape::Any => typed::last_field(object, field.name),
        _ => typed::field(object, field.name),
    }
}

/// Checks whether Go's `omitempty` leaves out the value.
fn is_empty(value: Option<Value<'_>>, shape: &Shape) -> bool {
    let Some(value) = value else { return true };
    match shape {
        Shape::Text | Shape::Bytes => value.as_str() == Some(""),
        Shape::Bool => value.kind() == Kind::Bool(false),
        Shape::Int(..) => value.to_float_json().parse() == Ok(0_i64),
        Shape::List(_) => value.items().next().is_none(),
        Shape::Map(_) => value.entries().next().is_none(),
        Shape::Any | Shape::Struct(_) => false,
    }
}

/// Returns the bytes that Go decodes from a value.
pub(crate) fn bytes(value: Value<'_>) -> Vec<u8> {
    let byte = |item: Value<'_>| item.to_float_json().parse().unwrap_or_default();
    match value.as_str() {
        Some(text) => base64::decode(text).unwrap_or_default(),
        None => value.items().map(byte).collect(),
    }
}
