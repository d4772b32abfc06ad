//! Parses JSON as Go's `encoding/json` does, into a [`Builder`].

use std::borrow::Cow;

use super::{Builder, Field, Key, NodeId, Span};
use crate::Limits;
use crate::find::{Word, find};

/// An error that prevents a text from being parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The text is not JSON.
    Syntax {
        /// The position in bytes.
        at: usize,
        problem: &'static str,
    },
    /// The value at this position, in bytes, exceeds the nesting limit.
    TooDeep { at: usize, limit: usize },
    /// The tree is larger than the limit.
    TooLarge,
}

/// The nesting limit of Go (`encoding/json`, `maxNestingDepth`).
pub(crate) const MAX_DEPTH: usize = 10_000;

/// Parses the first value of `text`. Returns the builder of its tree, its root, and its length in
/// bytes.
///
/// Bytes that are not UTF-8 and unpaired surrogates become U+FFFD. Of equal keys, the last one is
/// kept. Integers that fit i64 are integers, and other numbers are floats. `-0` is a float if
/// `keeps_negative_zero` is set, and the integer 0 otherwise. [`Limits::tree`] and
/// [`Limits::depth`] apply.
pub(crate) fn parse(
    text: &[u8],
    limits: &Limits,
    keeps_negative_zero: bool,
) -> Result<(Builder, NodeId, usize), Fault> {
    let builder = Builder::new(text.len());
    let depth = limits.depth.min(MAX_DEPTH);
    let limit = limits.tree;
    let mut parser = Parser { text, at: 0, builder, limit, depth, keeps_negative_zero };
    let root = parser.document()?;
    Ok((parser.builder, root, parser.at))
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    builder: Builder,
    /// The maximum memory for the tree, in bytes.
    limit: usize,
    /// The maximum nesting.
    depth: usize,
    keeps_negative_zero: bool,
}

/// An open container, and the index of its first child.
enum Open {
    Array { from: usize },
    Object { from: usize, key: Key },
}

impl Parser<'_> {
    fn document(&mut self) -> Result<NodeId, Fault> {
        let mut open: Vec<Open> = Vec::new();
        let mut items: Vec<NodeId> = Vec::new();
        let mut fields: Vec<Field> = Vec::new();
        loop {
            let waiting = size_of_val(items.as_slice()) + size_of_val(fields.as_slice());
            if self.builder.held() + waiting > self.limit {
                return Err(Fault::TooLarge);
            }
            // A value starts here.
            let mut value = match self.peek() {
                Some(b'[') => {
                    self.check_depth(&open)?;
                    self.at += 1;
                    if self.peek() == Some(b']') {
                        self.at += 1;
                        let from = items.len();
                        self.builder.array(&mut items, from)
                    } else {
                        open.push(Open::Array { from: items.len() });
                        continue;
                    }
                }
                Some(b'{') => {
                    self.check_depth(&open)?;
                    self.at += 1;
                    if self.peek() == Some(b'}') {
                        self.at += 1;
                        let from = fields.len();
                        self.builder.object(&mut fields, from)
                    } else {
                        let key = self.key()?;
                        open.push(Open::Object { from: fields.len(), key });
                        continue;
                    }
                }
                _ => self.scalar()?,
            };
            // A value ends here. The containers around it may end, too.
            loop {
                let Some(parent) = open.last_mut() else { return Ok(value) };
                let end = match parent {
                    Open::Array { .. } => {
                        items.push(value);
                        b']'
                    }
                    Open::Object { key, .. } => {
                        fields.push(Field { key: *key, value });
                        b'}'
                    }
                };
                let next = self.peek();
                self.at += 1;
                if next == Some(b',') {
                    if let Open::Object { from, .. } = *parent {
                        let key = self.key()?;
                        *parent = Open::Object { from, key };
                    }
                    break;
                }
                if next != Some(end) {
                    self.at -= 1;
                    return Err(self.error("found no comma or end after a value"));
                }
                value = match open.pop() {
                    Some(Open::Array { from }) => self.builder.array(&mut items, from),
                    Some(Open::Object { from, .. }) => self.builder.object(&mut fields, from),
                    None => return Ok(value),
                };
            }
        }
    }

    /// Checks whether a container may start inside the `open` ones.
    fn check_depth(&self, open: &[Open]) -> Result<(), Fault> {
        let Self { at, depth: limit, .. } = *self;
        if open.len() < limit { Ok(()) } else { Err(Fault::TooDeep { at, limit }) }
    }

    fn key(&mut self) -> Result<Key, Fault> {
        if self.peek() != Some(b'"') {
            return Err(self.error("found no string as a key"));
        }
        let span = self.string()?;
        if self.peek() != Some(b':') {
            return Err(self.error("found no colon after a key"));
        }
        self.at += 1;
        Ok(Key::Text(span))
    }

    fn scalar(&mut self) -> Result<NodeId, Fault> {
        match self.peek() {
            Some(b'"') => self.string().map(|span| self.builder.string_at(span)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true").map(|()| self.builder.bool(true)),
            Some(b'f') => self.literal(b"false").map(|()| self.builder.bool(false)),
            Some(b'n') => self.literal(b"null").map(|()| self.builder.null()),
            Some(_) => Err(self.error("found no value")),
            None => Err(self.error("the text ends too early")),
        }
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), Fault> {
        if self.text.get(self.at..self.at + word.len()) != Some(word) {
            return Err(self.error("found no value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn number(&mut self) -> Result<NodeId, Fault> {
        let start = self.at;
        self.skip_if(b'-');
        if !self.skip_if(b'0') && self.skip_digits() == 0 {
            return Err(self.error("found no digits in a number"));
        }
        let mut whole = true;
        if self.skip_if(b'.') {
            whole = false;
            if self.skip_digits() == 0 {
                return Err(self.error("found no digits after a decimal point"));
            }
        }
        if self.skip_if(b'e') || self.skip_if(b'E') {
            whole = false;
            if !self.skip_if(b'+') {
                self.skip_if(b'-');
            }
            if self.skip_digits() == 0 {
                return Err(self.error("found no digits in an exponent"));
            }
        }
        let digits = self.text.get(start..self.at).unwrap_or(&[]);
        let digits = std::str::from_utf8(digits).unwrap_or("");
        let is_float = !whole || self.keeps_negative_zero && digits == "-0";
        if !is_float && let Ok(value) = digits.parse::<i64>() {
            return Ok(self.builder.int(value));
        }
        match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(self.builder.float(value)),
            _ => Err(self.error("found a number that no float can hold")),
        }
    }

    /// Reads a string.
    fn string(&mut self) -> Result<Span, Fault> {
        self.at += 1;
        let start = self.builder.start_text();
        loop {
            let rest = self.text.get(self.at..).unwrap_or(&[]);
            let is_special = |word: Word| word.equal(b'"') | word.equal(b'\\') | word.below(b' ');
            let run = find(rest, is_special).unwrap_or(rest.len());
            let text = go_lossy(rest.get(..run).unwrap_or(&[]));
            self.builder.text_mut().push_str(&text);
            self.at += run;
            match self.text.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(self.builder.finish_text(start));
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(_) => return Err(self.error("found a control character in a string")),
                None => return Err(self.error("the text ends within a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let c = match self.text.get(self.at) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\x08',
            Some(b'f') => '\x0c',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                let c = self.unicode_escape()?;
                self.builder.text_mut().push(c);
                return Ok(());
            }
            _ => return Err(self.error("found an unknown escape in a string")),
        };
        self.at += 1;
        self.builder.text_mut().push(c);
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let first = self.hex4(self.at).ok_or_else(|| self.error("found an incomplete \\u"))?;
        self.at += 4;
        if let Some(c) = char::from_u32(first) {
            return Ok(c);
        }
        // A high surrogate forms a pair with a following low surrogate. Otherwise, it is unpaired.
        if first < 0xdc00
            && self.text.get(self.at..self.at + 2) == Some(b"\\u")
            && let Some(second @ 0xdc00..0xe000) = self.hex4(self.at + 2)
        {
            self.at += 6;
            let c = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
            return Ok(char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&self, at: usize) -> Option<u32> {
        let mut value = 0;
        for &byte in self.text.get(at..at + 4)? {
            value = value * 16 + char::from(byte).to_digit(16)?;
        }
        Some(value)
    }

    /// Skips white space, and returns the next byte without consuming it.
    fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.text.get(self.at) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn skip_if(&mut self, byte: u8) -> bool {
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn skip_digits(&mut self) -> usize {
        let start = self.at;
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        self.at - start
    }

    fn error(&self, problem: &'static str) -> Fault {
        Fault::Syntax { at: self.at, problem }
    }
}

/// Returns `bytes` as text, with each byte that is not UTF-8 replaced by U+FFFD, as Go's JSON
/// encoder does. Unlike Go, [`String::from_utf8_lossy`] replaces a whole invalid sequence by one
/// U+FFFD.
pub fn go_lossy(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(text)
}
