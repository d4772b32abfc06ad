//! Writes scalars, keys and flow values.

use std::fmt::Write as _;

use serde_json::Value;

use unlade_text::is_printable;

use crate::resolve;

/// Writes text in block context, after `key:` or `-`. The lines of a literal block have the
/// indentation `indent`, which is two more than that of the parent.
pub(super) fn text(out: &mut String, text: &str, indent: usize) {
    if is_literal(text) {
        literal(out, text, indent);
    } else {
        line(out, text);
    }
}

/// Writes a key in block context.
pub(super) fn key(out: &mut String, key: &str) {
    line(out, key);
}

/// Writes a value on one line, as JSON with more escapes, so that it is also valid YAML and safe
/// for a terminal.
pub(super) fn flow(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => {
            // Writing to a string cannot fail.
            let _ = write!(out, "{number}");
        }
        Value::String(text) => double_quoted(out, text),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                flow(out, item);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                out.push_str(if key.len() > super::MAX_KEY { "? " } else { "" });
                double_quoted(out, key);
                out.push_str(": ");
                flow(out, value);
            }
            out.push('}');
        }
    }
}

fn line(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push_str(text);
    } else if text.contains(['"', '\\']) && text.chars().all(is_printable) {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    } else {
        double_quoted(out, text);
    }
}

/// Checks whether all readers read `text` unchanged from a literal block.
fn is_literal(text: &str) -> bool {
    let Some(last) = text.trim_end_matches('\n').lines().last() else { return false };
    text.contains('\n')
        // Some readers treat white space on the last line as part of the indentation.
        && !last.trim_start_matches([' ', '\t']).is_empty()
        && text.chars().all(|c| is_printable(c) || c == '\n' || c == '\t')
}

fn literal(out: &mut String, text: &str, indent: usize) {
    out.push('|');
    if text.starts_with([' ', '\t', '\n']) {
        out.push('2');
    }
    let body = text.trim_end_matches('\n');
    match text.len() - body.len() {
        0 => out.push('-'),
        1 => {}
        _ => out.push('+'),
    }
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(line);
        }
    }
    // The caller writes the last line break.
    out.extend(std::iter::repeat_n('\n', (text.len() - body.len()).saturating_sub(1)));
}

/// Checks whether all readers of YAML 1.1 and 1.2 read `text` unchanged without quotes.
fn is_plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let begins_well = first.is_alphanumeric() || first == '/' || first == '_';
    begins_well
        && text.chars().all(|c| is_printable(c) && (c == ' ' || !c.is_whitespace()))
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !is_word(text)
        && !is_like_number(text)
        && resolve::resolve(None, text) == Ok(resolve::Value::Text)
}

fn is_word(text: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// Checks whether some reader could read `text` as a number, a date or a time. Versions like
/// `1.2.3` are not such texts.
fn is_like_number(text: &str) -> bool {
    let digit = text.starts_with(|c: char| c.is_numeric());
    let date = text.bytes().take_while(u8::is_ascii_digit).count() == 4
        && text.as_bytes().get(4) == Some(&b'-');
    let number = text.chars().all(|c| c.is_ascii_hexdigit() || "+-._xXoO".contains(c));
    digit && (text.contains(':') || date || number && text.matches('.').count() < 2)
}

fn double_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c => {
                let code = u32::from(c);
                // Writing to a string cannot fail.
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
}
