//! Texts that others chose, as people are shown them: which characters a terminal only shows, and
//! how long a line and a list of findings may be.
//!
//! Every writer of the project takes its answer from here, so that what one of them escapes no
//! other one lets through.

mod json;

use std::borrow::Cow;
use std::fmt::Display;
use std::iter;

use crate::{Finding, finding};

pub use json::Escaping;

/// Most bytes of a text on one line: a bundle with a million bad names fills neither a screen nor a
/// node's disk.
pub const LINE: usize = 8 << 10;

/// Most findings of one bundle that are listed. Programs get all of them.
pub const FINDINGS: usize = 1_000;

/// Whether a terminal only shows `character`. It obeys, hides or reorders the others: control
/// characters with line breaks and tabs, bidirectional overrides and marks, zero-width and other
/// format characters, and private and unassigned ones, of which nobody knows.
///
/// Which those are is the standard library's knowledge of Unicode (`char::escape_debug`), but for
/// the spaces other than U+0020, which that escapes. They are part of texts of many languages.
pub fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    if character.is_whitespace() {
        // What is left of white space then are spaces.
        return !character.is_control() && !matches!(character, '\u{2028}' | '\u{2029}');
    }
    // Behind another character, so that combining marks stay with what they belong to.
    let mut buffer = [b'x'; 5];
    let length = character.len_utf8();
    buffer
        .get_mut(1..)
        .map(|rest| character.encode_utf8(rest).len())
        .and_then(|_| buffer.get(..=length))
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .is_some_and(|pair| pair.escape_debug().count() == 2)
}

/// `text` with every character that is not [printable](is_printable) as `\n`, `\r`, `\t` or
/// `\u{..}`.
pub fn escape(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_printable) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            character if is_printable(character) => escaped.push(character),
            character => escaped.extend(character.escape_unicode()),
        }
    }
    Cow::Owned(escaped)
}

/// `text` on one line: [escaped](escape), and of more than [`LINE`] bytes only the beginning and
/// the number of the others.
pub fn line(text: &str) -> Cow<'_, str> {
    let (shown, rest) = text.split_at(text.floor_char_boundary(LINE));
    if rest.is_empty() {
        return escape(text);
    }
    Cow::Owned(format!("{}… ({} more bytes)", escape(shown), rest.len()))
}

/// The first [`FINDINGS`] of `findings`, and the number of the others, including those that were
/// not kept.
pub fn listed<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> impl Iterator<Item = String> {
    listed_with(findings, |finding| finding::count([*finding]))
}

/// The first [`FINDINGS`] of `items`, each of which is one finding, and the number of the others.
///
/// ```
/// let lines = unlade_format::text::listed_items(1..=1_003);
/// assert_eq!(lines.last().unwrap(), "3 more findings are not listed");
/// ```
pub fn listed_items<T: Display>(
    items: impl IntoIterator<Item = T>,
) -> impl Iterator<Item = String> {
    listed_with(items, |_| 1)
}

fn listed_with<T: Display>(
    items: impl IntoIterator<Item = T>,
    count: impl Fn(&T) -> usize,
) -> impl Iterator<Item = String> {
    let mut items = items.into_iter().fuse();
    let mut room = FINDINGS;
    iter::from_fn(move || {
        if let Some(left) = room.checked_sub(1) {
            room = left;
            return items.next().map(|item| item.to_string());
        }
        let rest = items.by_ref().map(|item| count(&item));
        match rest.fold(0, usize::saturating_add) {
            0 => None,
            1 => Some("1 more finding is not listed".to_owned()),
            more => Some(format!("{more} more findings are not listed")),
        }
    })
}

#[cfg(test)]
mod tests;
