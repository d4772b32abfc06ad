//! Log lines on standard error: one message, one line, whatever a bundle puts into it.

use std::error::Error;
use std::fmt;
use std::io::Write;

/// Most bytes of a text on one line: a bundle with a million bad names does not fill a node's disk.
const LONGEST: usize = 8 << 10;

/// Logs `message` as one line.
pub(crate) fn line(level: &str, message: impl fmt::Display) {
    plain(format_args!("{level}: {message}"));
}

/// The same without a level before it.
pub(crate) fn plain(message: impl fmt::Display) {
    let message = one_line(&message.to_string());
    if cfg!(test) {
        // This the harness can capture.
        eprintln!("{message}");
    } else {
        // Nobody can be told if standard error is closed.
        let _ = writeln!(std::io::stderr(), "{message}");
    }
}

/// `error` and its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// `text` without anything that starts a line, moves the cursor or turns the direction of text,
/// and without what is beyond 8 KiB, but for the number of its bytes.
pub(crate) fn one_line(text: &str) -> String {
    let (shown, rest) = text.split_at(text.floor_char_boundary(LONGEST));
    let mut line = String::with_capacity(shown.len());
    for c in shown.chars() {
        if is_harmless(c) { line.push(c) } else { line.extend(c.escape_unicode()) }
    }
    if rest.is_empty() { line } else { format!("{line}… ({} more bytes)", rest.len()) }
}

fn is_harmless(c: char) -> bool {
    let moves = matches!(c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    !c.is_control() && !moves
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_bundle_breaks_out_of_its_line() {
        let text = "a\nb\r\x1b[31mc\u{85}\u{2028}\u{202e}\0é☃";
        let line = one_line(text);
        assert_eq!(line, r"a\u{a}b\u{d}\u{1b}[31mc\u{85}\u{2028}\u{202e}\u{0}é☃");
    }

    #[test]
    fn line_has_an_end() {
        let line = one_line(&"é".repeat(1 << 20));
        assert!(line.len() < LONGEST + 100);
        assert!(line.ends_with("é… (2088960 more bytes)"), "{}", line.len());
    }

    #[test]
    fn causes_follow_their_error() {
        #[derive(Debug, thiserror::Error)]
        #[error("outer")]
        struct Outer(#[source] std::io::Error);
        let error = Outer(std::io::Error::other("inner"));
        assert_eq!(chain(&error), "outer: inner");
    }
}
