//! Resolves the values of scalars, as `resolve.go` of go-yaml v2 does.

use super::{Scalars, timestamp};
use crate::base64;
use crate::json::{Builder, NodeId};

/// The value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// The unchanged text.
    Text,
    /// The decoded text of `!!binary`, which may not be UTF-8.
    Bytes(Vec<u8>),
}

impl Value {
    /// Adds the value to a tree. `text` is the scalar that it was resolved from.
    pub(super) fn store(&self, text: &str, builder: &mut Builder) -> NodeId {
        match self {
            Self::Null => builder.null(),
            Self::Bool(value) => builder.bool(*value),
            Self::Int(value) => builder.int(*value),
            Self::Uint(value) => builder.uint(*value),
            Self::Float(value) => builder.float(*value),
            Self::Text => builder.string(text),
            Self::Bytes(bytes) => builder.bytes(bytes),
        }
    }
}

/// The type that a tag requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Any,
    Bool,
    Int,
    Float,
    Null,
    Timestamp,
}

/// Resolves the value of a plain scalar without a tag.
pub(super) fn resolve_plain(text: &str, scalars: Scalars) -> Value {
    match plain(text) {
        Value::Null => Value::Null,
        value if scalars == Scalars::Resolved => value,
        _ => Value::Text,
    }
}

/// Resolves the value of `text`, with or without a tag.
///
/// # Errors
///
/// Returns a message if the text does not fit the tag.
pub(super) fn resolve(tag: Option<&str>, text: &str) -> Result<Value, String> {
    let tag = match tag.map(|tag| tag.strip_prefix("tag:yaml.org,2002:").ok_or(tag)) {
        None => Tag::Any,
        Some(Ok("bool")) => Tag::Bool,
        Some(Ok("int")) => Tag::Int,
        Some(Ok("float")) => Tag::Float,
        Some(Ok("null")) => Tag::Null,
        Some(Ok("timestamp")) => Tag::Timestamp,
        Some(Ok("binary")) => return binary(text),
        // A scalar with an unknown tag is text, even if it looks like a number.
        Some(Ok(_) | Err(_)) => return Ok(Value::Text),
    };
    if tag == Tag::Timestamp {
        return if timestamp::is_timestamp(text) {
            Ok(Value::Text)
        } else {
            Err(mismatch(text, "timestamp"))
        };
    }
    let value = plain(text);
    match (tag, value) {
        (Tag::Any, value)
        | (Tag::Bool, value @ Value::Bool(_))
        | (Tag::Int, value @ (Value::Int(_) | Value::Uint(_)))
        | (Tag::Float, value @ Value::Float(_))
        | (Tag::Null, value @ Value::Null) => Ok(value),
        #[expect(clippy::cast_precision_loss, reason = "as Go converts it")]
        (Tag::Float, Value::Int(value)) => Ok(Value::Float(value as f64)),
        (Tag::Bool, _) => Err(mismatch(text, "bool")),
        (Tag::Int, _) => Err(mismatch(text, "int")),
        (Tag::Float, _) => Err(mismatch(text, "float")),
        (Tag::Null | Tag::Timestamp, _) => Err(mismatch(text, "null")),
    }
}

fn mismatch(text: &str, tag: &str) -> String {
    let shown: String = text.chars().take(40).collect();
    format!("cannot decode {shown:?} as a !!{tag}")
}

/// Resolves text without a tag and quotes. Timestamps stay text, so they are not detected.
fn plain(text: &str) -> Value {
    match text.as_bytes() {
        [] => Value::Null,
        [b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~', ..] => {
            word(text)
        }
        [b'.', ..] => match text {
            ".nan" | ".NaN" | ".NAN" => Value::Float(f64::NAN),
            ".inf" | ".Inf" | ".INF" => Value::Float(f64::INFINITY),
            _ => dotted(text).map_or(Value::Text, Value::Float),
        },
        [b'+' | b'-' | b'0'..=b'9', ..] => match text {
            "+.inf" | "+.Inf" | "+.INF" => Value::Float(f64::INFINITY),
            "-.inf" | "-.Inf" | "-.INF" => Value::Float(f64::NEG_INFINITY),
            _ => number(text),
        },
        _ => Value::Text,
    }
}

fn word(text: &str) -> Value {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Value::Null,
        _ => Value::Text,
    }
}

fn number(text: &str) -> Value {
    let stripped;
    let digits = if text.contains('_') {
        stripped = text.replace('_', "");
        stripped.as_str()
    } else {
        text
    };
    if let Some(value) = signed(digits) {
        return Value::Int(value);
    }
    if let Some(value) = based(digits).and_then(|(radix, digits)| unsigned(digits, radix)) {
        return Value::Uint(value);
    }
    if let Some(value) = decimal(digits) {
        return Value::Float(value);
    }
    // go-yaml also accepts binary numbers with a sign after the prefix.
    if let Some(digits) = digits.strip_prefix("0b") {
        let (sign, digits) = split_sign(digits);
        if let Some(value) = unsigned(digits, 2).and_then(|value| with_sign(sign, value)) {
            return Value::Int(value);
        }
    }
    Value::Text
}

/// Parses an integer as Go's `ParseInt(digits, 0, 64)`.
fn signed(digits: &str) -> Option<i64> {
    let (sign, digits) = split_sign(digits);
    let (radix, digits) = based(digits)?;
    with_sign(sign, unsigned(digits, radix)?)
}

fn split_sign(digits: &str) -> (char, &str) {
    match digits.as_bytes().first() {
        Some(b'+') => ('+', digits.get(1..).unwrap_or("")),
        Some(b'-') => ('-', digits.get(1..).unwrap_or("")),
        _ => ('+', digits),
    }
}

fn with_sign(sign: char, value: u64) -> Option<i64> {
    if sign == '-' { 0_i64.checked_sub_unsigned(value) } else { i64::try_from(value).ok() }
}

/// Splits off the base prefix, as in Go.
fn based(digits: &str) -> Option<(u32, &str)> {
    let radix = match digits.as_bytes() {
        [] => return None,
        [b'0', b'x' | b'X', _, ..] => 16,
        [b'0', b'o' | b'O', _, ..] => 8,
        [b'0', b'b' | b'B', _, ..] => 2,
        // A leading zero means octal.
        [b'0', _, ..] => return Some((8, digits.get(1..)?)),
        _ => return Some((10, digits)),
    };
    Some((radix, digits.get(2..)?))
}

/// Parses digits only, without a sign, which `from_str_radix` would accept.
fn unsigned(digits: &str, radix: u32) -> Option<u64> {
    if digits.bytes().all(|byte| char::from(byte).is_digit(radix)) {
        u64::from_str_radix(digits, radix).ok()
    } else {
        None
    }
}

/// Parses a float that matches `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$` and is not
/// out of range.
fn decimal(text: &str) -> Option<f64> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (_, mut rest) = split_sign(text);
    let whole = digits(rest);
    rest = rest.get(whole..)?;
    let mut n_digits = whole;
    if let Some(fraction) = rest.strip_prefix('.') {
        let len = digits(fraction);
        n_digits += len;
        rest = fraction.get(len..)?;
    }
    if n_digits == 0 {
        return None;
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let (_, exponent) = split_sign(exponent);
        let len = digits(exponent);
        if len == 0 {
            return None;
        }
        rest = exponent.get(len..)?;
    }
    if !rest.is_empty() {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Parses text that starts with a dot, as Go's `ParseFloat`. Underscores are allowed only between
/// digits.
fn dotted(text: &str) -> Option<f64> {
    if !text.contains('_') {
        return decimal(text);
    }
    let bytes = text.as_bytes();
    for (at, _) in bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'_') {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let after = bytes.get(at + 1);
        if ![before, after].iter().all(|byte| byte.is_some_and(u8::is_ascii_digit)) {
            return None;
        }
    }
    decimal(&text.replace('_', ""))
}

fn binary(text: &str) -> Result<Value, String> {
    match base64::decode(text) {
        Ok(bytes) => Ok(Value::Bytes(bytes)),
        Err(_) => Err("!!binary value contains invalid base64 data".to_owned()),
    }
}

#[cfg(test)]
mod tests;
