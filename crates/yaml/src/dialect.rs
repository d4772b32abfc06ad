//! Hides differences between the dialects of the parser library and of Go.
//!
//! go-yaml v2 is based on an older libyaml than the library. Text that Go accepts but the library
//! rejects is replaced by placeholders, which are characters that do not occur in the text. The
//! original text is put back into the resulting scalars. This is rare: a text is patched only after
//! the library failed at such a place, and then parsed again.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// A text for the library, and the meaning of its placeholders.
pub(super) struct Dialect<'a> {
    text: Cow<'a, str>,
    patches: Vec<(char, Original)>,
}

/// The original text of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Original {
    ByteOrderMark,
    Colon,
    /// The backslash of a `\'`. Go reads it as `'` in double quotes.
    Backslash,
}

/// The messages of the library at places that Go accepts.
const ESCAPE: &str = "found unknown escape character";
const COLON: &str = "found unexpected ':'";
const TAG: &str = "while scanning a tag";

/// Characters without a standard meaning.
const PRIVATE_USE: RangeInclusive<char> = '\u{e000}'..='\u{f8ff}';

const BYTE_ORDER_MARK: &str = "\u{feff}";

impl<'a> Dialect<'a> {
    pub(super) fn new(text: Cow<'a, str>) -> Self {
        let mut dialect = Self { text, patches: Vec::new() };
        // The library skips a byte order mark at the start of any line. Go tries to do the same,
        // but checks the start of its buffer, so the mark is an ordinary character. If it is at
        // that start, which depends on the size of the buffer, Go skips a character of each line.
        // That is not done here.
        if dialect.text.contains(BYTE_ORDER_MARK)
            && let Some(placeholder) = dialect.placeholder(Original::ByteOrderMark)
        {
            let mut buffer = [0; 4];
            let patched =
                dialect.text.replace(BYTE_ORDER_MARK, placeholder.encode_utf8(&mut buffer));
            dialect.text = patched.into();
        }
        dialect
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Restores the original text in a scalar.
    pub(super) fn restore(&self, value: &mut String, is_double_quoted: bool) {
        for (placeholder, original) in &self.patches {
            if value.contains(*placeholder) {
                let original = match original {
                    Original::ByteOrderMark => BYTE_ORDER_MARK,
                    Original::Colon => ":",
                    Original::Backslash if is_double_quoted => "",
                    Original::Backslash => "\\",
                };
                *value = value.replace(*placeholder, original);
            }
        }
    }

    /// Checks whether a double-quoted scalar contains `\/`. The library supports this escape of
    /// YAML 1.2, but Go does not.
    pub(super) fn escapes_slash(&self, start: usize, end: usize) -> bool {
        let written = self.text.get(start..end).unwrap_or("");
        if !written.contains("\\/") {
            return false;
        }
        let mut bytes = written.bytes();
        while let Some(byte) = bytes.next() {
            if byte == b'\\' && bytes.next() == Some(b'/') {
                return true;
            }
        }
        false
    }

    /// Patches the text at the byte `at`, where the library failed with `problem`, if Go does not
    /// fail there. Returns whether the text was patched.
    pub(super) fn patch(&mut self, problem: &str, context: Option<&str>, at: usize) -> bool {
        let Some((_, rest)) = self.text.split_at_checked(at) else { return false };
        if problem == ESCAPE && rest.starts_with("\\'") {
            return self.patch_quotes();
        }
        if problem == COLON && rest.starts_with(':') {
            return self.patch_colon(at);
        }
        if context == Some(TAG) && rest.starts_with([',', '[', ']']) {
            // In Go, these characters are part of the tag. No tag with one of them has a meaning,
            // so any other character has the same effect.
            self.replace(at, 1, ".");
            return true;
        }
        false
    }

    /// Patches all `\'` of the text at once. Scalars without double quotes get the backslash back.
    fn patch_quotes(&mut self) -> bool {
        let Some(placeholder) = self.placeholder(Original::Backslash) else { return false };
        let mut patched = String::with_capacity(self.text.len() + 64);
        let mut rest = self.text.as_ref();
        while let Some(start) = rest.find('\\') {
            let (before, run) = rest.split_at_checked(start).unwrap_or((rest, ""));
            let after = run.trim_start_matches('\\');
            let n_backslashes = run.len() - after.len();
            patched.push_str(before);
            // In double quotes, two backslashes are one character, and an odd one escapes the
            // quote.
            let escapes = n_backslashes % 2 == 1 && after.starts_with('\'');
            patched.extend(std::iter::repeat_n('\\', n_backslashes - usize::from(escapes)));
            if escapes {
                patched.push(placeholder);
            }
            rest = after;
        }
        patched.push_str(rest);
        self.text = patched.into();
        true
    }

    /// Patches a colon in a plain scalar of a flow collection, because it is part of the scalar in
    /// Go.
    fn patch_colon(&mut self, at: usize) -> bool {
        let Some(placeholder) = self.placeholder(Original::Colon) else { return false };
        let mut buffer = [0; 4];
        self.replace(at, 1, placeholder.encode_utf8(&mut buffer));
        true
    }

    fn replace(&mut self, at: usize, len: usize, by: &str) {
        self.text.to_mut().replace_range(at..at + len, by);
    }

    /// Returns the placeholder for `original`: a private-use character that the text does not
    /// contain.
    fn placeholder(&mut self, original: Original) -> Option<char> {
        let known = self.patches.iter().find(|(_, known)| *known == original);
        if let Some((placeholder, _)) = known {
            return Some(*placeholder);
        }
        let used: HashSet<char> = self.text.chars().filter(|c| PRIVATE_USE.contains(c)).collect();
        let placeholder = PRIVATE_USE.into_iter().find(|c| !used.contains(c))?;
        self.patches.push((placeholder, original));
        Some(placeholder)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Limits, to_json};

    fn json(text: &str) -> Option<String> {
        to_json(text.as_bytes(), &Limits::default()).ok()
    }

    #[test]
    fn quotes_may_be_escaped_in_double_quotes() {
        let text = "a: \"don\\'t, won\\'t \\\\\"\nb: 'x\\'\nc: \"\\'\"\n";
        let expected = r#"{"a":"don't, won't \\","b":"x\\","c":"'"}"#;
        assert_eq!(json(text).as_deref(), Some(expected));
    }

    #[test]
    fn an_escaped_slash_is_refused() {
        assert_eq!(json("a: \"\\/\""), None);
        assert_eq!(json("a: \"\\\\/\"").as_deref(), Some(r#"{"a":"\\/"}"#));
    }

    #[test]
    fn colons_belong_to_plain_scalars_in_flow_collections() {
        assert_eq!(json("{a:, b:}").as_deref(), Some(r#"{"a:":null,"b:":null}"#));
        assert_eq!(json("{a: b:}").as_deref(), Some(r#"{"a":"b:"}"#));
    }

    #[test]
    fn question_marks_end_plain_scalars_in_flow_collections() {
        assert_eq!(json("[http://a/?b=c]"), None);
        assert_eq!(json("a: http://a/?b=c").as_deref(), Some(r#"{"a":"http://a/?b=c"}"#));
    }

    #[test]
    fn a_byte_order_mark_within_the_text_is_a_character() {
        let text = "a: 1\n\u{feff}b: \u{e000}\n";
        let expected = "{\"a\":1,\"\u{feff}b\":\"\u{e000}\"}";
        assert_eq!(json(text).as_deref(), Some(expected));
    }

    #[test]
    fn tags_may_hold_commas() {
        assert_eq!(json("a: !!int,[] 1").as_deref(), Some(r#"{"a":"1"}"#));
    }
}
