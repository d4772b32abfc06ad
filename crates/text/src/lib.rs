//! Shows text from outside to people: which characters a terminal merely shows, how long a line may
//! be, and how a long text is cut.
//!
//! Names, messages and file contents come from bundles, registries and API servers. Every writer of
//! the project escapes them with this crate, so that no writer lets through what another one
//! escapes.
//!
//! ```
//! assert_eq!(unlade_text::line("red: \u{1b}[31m"), r"red: \u{1b}[31m");
//! ```

pub mod excerpt;
mod json;

use std::borrow::Cow;

pub use json::Escaping;

/// Most bytes of a text on one line: a bundle with a million bad names fills neither a screen nor a
/// node's disk.
pub const LINE: usize = 8 << 10;

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

#[cfg(test)]
mod tests;
