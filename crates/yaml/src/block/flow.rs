//! Flow collections on one line whose entries are simple scalars.

use super::line::is_end;
use super::scalar::{MAX_NAME, Text, unescaped};

/// The maximum number of entries, so that the memory of a document is known at each of its lines.
const MAX_ENTRIES: usize = 200;

/// The entries of a flow collection.
pub(super) enum Flow<'t> {
    Sequence(Vec<Text<'t>>),
    Mapping(Vec<(Text<'t>, Text<'t>)>),
}

/// Reads a flow collection that ends its line. Returns `None` if it has an entry that is not
/// simple.
pub(super) fn read(content: &str) -> Option<Flow<'_>> {
    let rest = content.get(1..)?.trim_start_matches(' ');
    let (flow, rest) = if content.starts_with('[') {
        let (items, rest) = entries(rest, ']', scalar)?;
        (Flow::Sequence(items), rest)
    } else {
        let (fields, rest) = entries(rest, '}', |rest| {
            let (name, after) = scalar(rest)?;
            if rest.len() - after.len() > MAX_NAME {
                return None;
            }
            let rest = after;
            let (value, rest) = scalar(rest.strip_prefix(": ")?.trim_start_matches(' '))?;
            Some(((name, value), rest))
        })?;
        (Flow::Mapping(fields), rest)
    };
    is_end(rest).then_some(flow)
}

/// Reads entries up to `close`, and returns what follows it.
fn entries<'t, T>(
    mut rest: &'t str,
    close: char,
    entry: impl Fn(&'t str) -> Option<(T, &'t str)>,
) -> Option<(Vec<T>, &'t str)> {
    let mut found = Vec::new();
    if let Some(rest) = rest.strip_prefix(close) {
        return Some((found, rest));
    }
    while found.len() < MAX_ENTRIES {
        let (next, after) = entry(rest)?;
        found.push(next);
        rest = after.trim_start_matches(' ');
        if let Some(rest) = rest.strip_prefix(close) {
            return Some((found, rest));
        }
        rest = rest.strip_prefix(',')?.trim_start_matches(' ');
    }
    None
}

/// Reads a scalar without escapes. A plain scalar has no characters that have a meaning in flow
/// collections.
fn scalar(rest: &str) -> Option<(Text<'_>, &str)> {
    if rest.starts_with(['"', '\'']) {
        let (text, rest) = unescaped(rest)?;
        return Some((Text::Quoted(text), rest));
    }
    let is_simple =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'/' | b'-');
    let len = rest.bytes().take_while(|&byte| is_simple(byte)).count();
    let (text, rest) = rest.split_at_checked(len)?;
    text.starts_with(|c: char| c.is_ascii_alphanumeric()).then_some((Text::Plain(text), rest))
}
