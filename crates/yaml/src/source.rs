//! Converts bytes into text for the parser, in pieces of the same size as in go-yaml.
//!
//! Go reads 512 bytes at a time, and reports invalid bytes only when it reaches their piece. So
//! text after the first document may be invalid if the parser never reads it. The pieces are
//! necessary for the same behaviour. They also keep the buffer of the parser small.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use super::dialect::Dialect;

/// go-yaml's `input_raw_buffer_size`.
const PIECE: usize = 512;

/// The validated text for the parser, without a byte order mark, and with a line break at its end.
pub(super) struct Source<'a> {
    dialect: Dialect<'a>,
    /// The size of the first piece.
    piece: usize,
    fault: Option<Fault>,
    /// The line break at the end, if it was added for the parser.
    terminator: Option<char>,
}

/// The first invalid bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) line: u64,
    pub(super) problem: &'static str,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let (mut text, mut fault, mark) = match bytes {
            // Go also skips a second byte order mark at the start.
            [0xff, 0xfe, 0xff, 0xfe, rest @ ..] | [0xff, 0xfe, rest @ ..] => {
                utf16(rest, u16::from_le_bytes)
            }
            [0xfe, 0xff, 0xfe, 0xff, rest @ ..] | [0xfe, 0xff, rest @ ..] => {
                utf16(rest, u16::from_be_bytes)
            }
            [0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest, 6),
            [0xef, 0xbb, 0xbf, rest @ ..] => utf8(rest, 3),
            _ => utf8(bytes, 0),
        };
        let allowed = control(&text);
        if allowed < text.len() {
            truncate(&mut text, allowed);
            fault = Some(Fault::new(&text, "control characters are not allowed"));
        }
        let mut terminator = None;
        if fault.is_none() && !text.ends_with(is_break) {
            // The library panics if a block scalar at the end has no line break. U+2028 stays in
            // the text of the scalar, where it can be found and removed again. A newline could be
            // part of the original text.
            let c = if text.contains('\u{2028}') { '\u{2029}' } else { '\u{2028}' };
            terminator = Some(c);
            text.to_mut().push(c);
        }
        Self { dialect: Dialect::new(text), piece: PIECE - mark, fault, terminator }
    }

    pub(super) fn text(&self) -> &str {
        self.dialect.text()
    }

    pub(super) fn dialect(&self) -> &Dialect<'a> {
        &self.dialect
    }

    /// Removes a difference between the library and Go from the text. See [`Dialect::patch`].
    pub(super) fn patch(&mut self, problem: &str, context: Option<&str>, at: usize) -> bool {
        let before = self.text().len();
        let patched = self.dialect.patch(problem, context, at);
        if let Some(fault) = &mut self.fault {
            fault.at = fault.at + self.dialect.text().len() - before;
        }
        patched
    }

    pub(super) fn terminator(&self) -> Option<char> {
        self.terminator
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault
    }
}

impl Fault {
    /// Creates a fault directly after `before`.
    fn new(before: &str, problem: &'static str) -> Self {
        let n_lines = before.bytes().filter(|&byte| byte == b'\n').count();
        Self { at: before.len(), line: n_lines as u64 + 1, problem }
    }
}

/// A reader of the text of a [`Source`], which leaves the source accessible.
pub(super) struct Pieces<'s> {
    text: &'s str,
    at: usize,
    piece: usize,
    fault: Option<Fault>,
}

impl Source<'_> {
    pub(super) fn pieces(&self) -> Pieces<'_> {
        Pieces { text: self.text(), at: 0, piece: self.piece, fault: self.fault }
    }
}

impl BufRead for Pieces<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let mut end = self.at.saturating_add(self.piece);
        if self.fault.is_some_and(|fault| fault.at < end) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        end = end.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        Ok(self.text.as_bytes().get(self.at..end).unwrap_or(&[]))
    }

    fn consume(&mut self, n_bytes: usize) {
        self.at += n_bytes;
        self.piece = match self.piece.saturating_sub(n_bytes) {
            // The rest is shorter than the longest character, so it belongs to the next piece.
            0..4 => PIECE,
            rest => rest,
        };
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.fill_buf()?.read(out)?;
        self.consume(n_bytes);
        Ok(n_bytes)
    }
}

/// Checks whether libyaml treats `c` as a line break.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn utf8(bytes: &[u8], mark: usize) -> (Cow<'_, str>, Option<Fault>, usize) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.into(), None, mark),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or(&[]);
            let text = std::str::from_utf8(valid).unwrap_or("");
            let problem = match error.error_len() {
                Some(_) => "bytes that are not UTF-8",
                None => "the text ends within a UTF-8 character",
            };
            (text.into(), Some(Fault::new(text, problem)), mark)
        }
    }
}

fn utf16<'a>(bytes: &[u8], read: fn([u8; 2]) -> u16) -> (Cow<'a, str>, Option<Fault>, usize) {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    let mut problem = None;
    for c in char::decode_utf16(pairs.iter().map(|&pair| read(pair))) {
        if let Ok(c) = c {
            text.push(c);
        } else {
            problem = Some("an unpaired UTF-16 surrogate");
            break;
        }
    }
    if problem.is_none() && !odd.is_empty() {
        problem = Some("the text ends within a UTF-16 character");
    }
    let fault = problem.map(|problem| Fault::new(&text, problem));
    (text.into(), fault, 2)
}

/// Returns the position of the first character that YAML does not allow.
fn control(text: &str) -> usize {
    let bytes = text.as_bytes();
    for (at, &byte) in bytes.iter().enumerate() {
        let found = match byte {
            b'\t' | b'\n' | b'\r' => false,
            0..0x20 | 0x7f => true,
            // U+0080 to U+009F but for U+0085; U+FFFE and U+FFFF.
            0xc2 => matches!(bytes.get(at + 1), Some(0x80..=0x84 | 0x86..=0x9f)),
            0xef => matches!(bytes.get(at + 1..at + 3), Some([0xbf, 0xbe | 0xbf])),
            _ => false,
        };
        if found {
            return at;
        }
    }
    bytes.len()
}

fn truncate(text: &mut Cow<'_, str>, len: usize) {
    match text {
        Cow::Borrowed(text) => *text = text.get(..len).unwrap_or(text),
        Cow::Owned(text) => text.truncate(len),
    }
}
