//! Bytes to text, as go-yaml's reader takes them, in pieces of the size it takes.
//!
//! Go reads 512 bytes at a time and complains about bytes only when it reaches their piece: what
//! follows the first document may be garbage if the parser never looks at it. So the pieces are
//! part of the behaviour; they also keep the parser's buffer small.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use super::dialect::Dialect;

/// go-yaml's `input_raw_buffer_size`.
const PIECE: usize = 512;

/// Text for the parser, checked, without byte order mark and with a line break at its end.
pub(super) struct Source<'a> {
    dialect: Dialect<'a>,
    /// The size of the first piece.
    piece: usize,
    fault: Option<Fault>,
    /// A line break that the input does not have, needed by the parser.
    terminator: Option<char>,
}

/// The first bytes that are no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) line: u64,
    pub(super) problem: &'static str,
}

impl<'a> Source<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let (mut text, mut fault, mark) = match bytes {
            [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
            [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
            // Go skips a second byte order mark as well, for once in the right place.
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
            // The library panics at the end of a block scalar without one. U+2028 is kept in the
            // scalar's text as it is, so it is found there and taken away again, unlike a newline,
            // which could be the text's own.
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

    /// Takes a difference between the library and Go out of the text, if there is one; see
    /// [`Dialect::patch`].
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
    /// A fault right behind `before`.
    fn new(before: &str, problem: &'static str) -> Self {
        let n_lines = before.bytes().filter(|&byte| byte == b'\n').count();
        Self { at: before.len(), line: n_lines as u64 + 1, problem }
    }
}

/// A reader over a [`Source`], so that the source can still be looked at while it is read.
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
            // Less than the longest character: the rest of the piece belongs to the next.
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

/// What libyaml takes for line breaks.
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
                Some(_) => "bytes that are no UTF-8",
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

/// Where the first character stands that YAML does not allow.
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
