//! Writes JSON as Go's `json.Marshal` does.

use std::fmt::Write as _;

use super::{Field, Key, Node, NodeId, Tree, float_text};
use crate::find::{Word, find};

/// A container that is being written.
enum Open<'a> {
    Array(std::slice::Iter<'a, NodeId>),
    Object(std::slice::Iter<'a, Field>),
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// Numbers as they are, and `<`, `>` and `&` escaped.
    Marshal,
    /// Numbers as floats, and `<`, `>` and `&` unescaped.
    Floats,
}

/// Appends the JSON of `root` to `out`.
pub(super) fn json(tree: &Tree, root: NodeId, style: Style, out: &mut String) {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = Some(root);
    loop {
        if let Some(id) = next.take() {
            match tree.node(id) {
                Node::Array(run) => {
                    out.push('[');
                    open.push(Open::Array(tree.run_items(run).iter()));
                }
                Node::Object(run) => {
                    out.push('{');
                    open.push(Open::Object(tree.run_fields(run).iter()));
                }
                leaf => write_leaf(out, tree, leaf, style),
            }
        }
        match open.last_mut() {
            None => return,
            Some(Open::Array(items)) => {
                if let Some(&id) = items.next() {
                    comma(out, '[');
                    next = Some(id);
                } else {
                    out.push(']');
                    open.pop();
                }
            }
            Some(Open::Object(fields)) => {
                if let Some(field) = fields.next() {
                    comma(out, '{');
                    write_key(out, tree, field, style);
                    out.push(':');
                    next = Some(field.value);
                } else {
                    out.push('}');
                    open.pop();
                }
            }
        }
    }
}

/// Returns the length of `text` as a JSON string, in bytes.
pub(super) fn string_len(text: &str) -> u64 {
    let mut len = text.len() as u64 + 2;
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = next_special(bytes, from) {
        from = at + 1;
        len += match bytes.get(at).copied().unwrap_or_default() {
            b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 1,
            b'<' | b'>' | b'&' | 0..0x20 => 5,
            0xe2 if is_separator(text, at) => 3,
            _ => 0,
        };
    }
    len
}

/// Returns the length of the key of an entry in JSON, in bytes.
pub(super) fn key_len(tree: &Tree, field: &Field) -> u64 {
    match field.key {
        Key::Mended(_) => mended(tree.key(field)).len() as u64,
        _ => string_len(tree.key(field)),
    }
}

/// Writes a comma, except before the first child.
///
/// The opening bracket of a container is the last character only before its first child.
fn comma(out: &mut String, bracket: char) {
    if !out.ends_with(bracket) {
        out.push(',');
    }
}

fn write_key(out: &mut String, tree: &Tree, field: &Field, style: Style) {
    match field.key {
        Key::Mended(_) if style == Style::Marshal => out.push_str(&mended(tree.key(field))),
        _ => write_string(out, tree.key(field), style),
    }
}

fn write_leaf(out: &mut String, tree: &Tree, node: Node, style: Style) {
    #[expect(clippy::cast_precision_loss, reason = "Go decodes the digits as a float")]
    let node = match node {
        Node::Int(value) if style == Style::Floats => Node::Float(value as f64),
        Node::Uint(value) if style == Style::Floats => Node::Float(value as f64),
        Node::Mended(span) if style == Style::Floats => Node::String(span),
        node => node,
    };
    // Writing to a string cannot fail.
    let _ = match node {
        Node::Bool(true) => out.write_str("true"),
        Node::Bool(false) => out.write_str("false"),
        Node::Int(value) => write!(out, "{value}"),
        Node::Uint(value) => write!(out, "{value}"),
        Node::Float(value) => out.write_str(&float_text(value)),
        Node::String(span) => {
            write_string(out, tree.str(span), style);
            Ok(())
        }
        Node::Mended(span) => out.write_str(&mended(tree.str(span))),
        Node::Null | Node::Array(_) | Node::Object(_) => out.write_str("null"),
    };
}

/// Encodes a string in which U+FFFD replaces bytes that are not UTF-8.
pub(super) fn mended(text: &str) -> String {
    let mut out = String::new();
    write_string(&mut out, text, Style::Marshal);
    out.replace('\u{fffd}', "\\ufffd")
}

/// Returns the position of the next byte from `at` on that may need an escape sequence. 0xe2 starts
/// the two [separators](is_separator).
fn next_special(bytes: &[u8], at: usize) -> Option<usize> {
    // `"` and `&` differ only in the bit 0x04, and `<` and `>` only in the bit 0x02.
    let is_special = |word: Word| {
        word.with(4).equal(b'&')
            | word.with(2).equal(b'>')
            | word.equal(b'\\')
            | word.equal(0xe2)
            | word.below(b' ')
    };
    find(bytes.get(at..)?, is_special).map(|n| at + n)
}

/// Encodes a string as Go does with `SetEscapeHTML(false)`.
///
/// ```
/// assert_eq!(unlade_yaml::json::quote("<a\"\u{2028}"), r#""<a\"\u2028""#);
/// ```
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    write_string(&mut out, text, Style::Floats);
    out
}

fn write_string(out: &mut String, text: &str, style: Style) {
    let is_html = style == Style::Marshal;
    out.push('"');
    let bytes = text.as_bytes();
    let (mut done, mut from) = (0, 0);
    while let Some(at) = next_special(bytes, from) {
        from = at + 1;
        let byte = bytes.get(at).copied().unwrap_or_default();
        let (escape, len) = match byte {
            b'"' => ("\\\"", 1),
            b'\\' => ("\\\\", 1),
            b'\n' => ("\\n", 1),
            b'\r' => ("\\r", 1),
            b'\t' => ("\\t", 1),
            0x08 => ("\\b", 1),
            0x0c => ("\\f", 1),
            b'<' if is_html => ("\\u003c", 1),
            b'>' if is_html => ("\\u003e", 1),
            b'&' if is_html => ("\\u0026", 1),
            0..0x20 => ("", 1),
            0xe2 if is_separator(text, at) => ("", 3),
            _ => continue,
        };
        out.push_str(text.get(done..at).unwrap_or(""));
        done = at + len;
        if escape.is_empty() {
            let c = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push_str(escape);
        }
    }
    out.push_str(text.get(done..).unwrap_or(""));
    out.push('"');
}

/// Checks whether U+2028 or U+2029 is at this position, which are line breaks in JavaScript.
fn is_separator(text: &str, at: usize) -> bool {
    matches!(text.as_bytes().get(at..at + 3), Some([0xe2, 0x80, 0xa8 | 0xa9]))
}
