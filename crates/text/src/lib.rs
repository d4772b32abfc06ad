//! Makes untrusted text safe for a terminal: escapes characters, limits lines, and truncates texts.
//! It also formats errors with their causes, and digests.
//!
//! Names, messages and file contents come from bundles, registries and API servers. All output of
//! the project is escaped with this crate, so that the same characters are escaped everywhere.
//!
//! ```
//! assert_eq!(unlade_text::line("red: \u{1b}[31m"), r"red: \u{1b}[31m");
//! ```

pub mod excerpt;
mod json;

use std::borrow::Cow;
use std::error::Error;

pub use json::Escaping;

/// The maximum length of a text on one line, in bytes. A bundle with a million bad names must not
/// fill a screen or the disk of a node.
pub const LINE: usize = 8 << 10;

/// Checks whether `character` is visible on a terminal and has no other effect.
///
/// Other characters control the terminal, are invisible, or reorder text: control characters
/// (including line breaks and tabs), bidirectional overrides and marks, and zero-width and other
/// format characters. The effect of private and unassigned characters is unknown.
///
/// The Unicode data is that of the standard library (`char::escape_debug`), with two exceptions.
/// The standard library escapes spaces other than U+0020, but texts in many languages contain them.
/// It does not escape the letters and marks that Unicode displays as nothing
/// (`Default_Ignorable_Code_Point`), but two names that differ by them look the same.
pub fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return matches!(character, ' '..='~');
    }
    if character.is_whitespace() {
        // The remaining white space characters are spaces.
        return !character.is_control() && !matches!(character, '\u{2028}' | '\u{2029}');
    }
    if matches!(
        character,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    ) {
        return false;
    }
    // A combining mark is escaped only at the start of a text, so put another character before it.
    let mut buffer = [b'x'; 5];
    let length = character.len_utf8();
    buffer
        .get_mut(1..)
        .map(|rest| character.encode_utf8(rest).len())
        .and_then(|_| buffer.get(..=length))
        .and_then(|bytes| std::str::from_utf8(bytes).ok())
        .is_some_and(|pair| pair.escape_debug().count() == 2)
}

/// Escapes each character that is not [printable](is_printable) as `\n`, `\r`, `\t` or `\u{..}`.
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

/// Formats `text` for one line: [escapes](escape) it, and truncates it to [`LINE`] bytes with the
/// number of the remaining bytes.
pub fn line(text: &str) -> Cow<'_, str> {
    let (shown, rest) = text.split_at(text.floor_char_boundary(LINE));
    if rest.is_empty() {
        return escape(text);
    }
    Cow::Owned(format!("{}… ({} more bytes)", escape(shown), rest.len()))
}

/// Returns the messages of `error` and of its causes, separated by colons. A cause is left out if
/// the text already ends with it, because some libraries include their causes in their messages.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.ends_with(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}

/// Returns `bytes`, such as those of a digest, as lowercase hex digits.
pub fn hex(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(u32::from(half), 16)).collect()
}

#[cfg(test)]
mod tests;
