//! [`Documents`]: splits a stream into documents, as apimachinery's `YAMLOrJSONDecoder` does.

use std::io::{self, Read};

use super::error::{syntax, too_large};
use super::find::find;
use super::json::{self, Tree};
use super::stream::{is_blank_or_comment, n_lines, terminated};
use super::{Document, Error, Reader, Scalars};

mod object;

use object::Scan;

/// The number of bytes in which the decoder searches for a `{` (operator-registry `load.go`).
const SNIFFED: usize = 4_096;
/// The number of bytes that one read requests.
const PIECE: usize = 64 << 10;
/// The work for each object of a stream of JSON, and for each value in it, in units. The largest
/// published catalogs need less than 2 units for each of their bytes. Most of the time is spent
/// on what a catalog does with the objects and their values, not on parsing.
const OBJECT: u64 = 128;
const VALUE: u64 = 48;

/// A reader of the documents of a stream. It keeps only one document in memory.
///
/// The first character other than white space decides whether the stream is JSON or YAML. In a
/// stream of JSON, the objects need nothing between them. If the first or second of them fails, the
/// rest of the stream is read as YAML. YAML is split at each line that starts with `---`, even
/// within a quoted scalar.
///
/// ```
/// use unlade_yaml::{Documents, Limits, Reader};
///
/// let reader = Reader::new(&Limits::default());
/// let mut documents = Documents::new(&b"a: 1\n---\nb: 2\n"[..], &reader);
/// let mut found = Vec::new();
/// while let Some(part) = documents.next()? {
///     found.push((part.line, part.document?.tree.root().to_json()));
/// }
/// assert_eq!(found, [(1, r#"{"a":1}"#.to_owned()), (3, r#"{"b":2}"#.to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Documents<'r, R> {
    input: R,
    reader: &'r Reader,
    buffer: Vec<u8>,
    /// The part of the buffer that belongs to earlier documents.
    done: usize,
    /// The offset in the stream of what follows that part.
    offset: u64,
    /// The line after that part.
    line: u64,
    is_at_end: bool,
    mode: Mode,
}

/// How the rest of the stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Unknown,
    Json { n_read: usize },
    Yaml,
    Finished,
}

/// A document at the start of the unread bytes.
struct Found {
    /// The number of bytes before it.
    skipped: usize,
    /// Its length in bytes.
    text: usize,
    /// Its length with the separator after it.
    consumed: usize,
    document: Result<Document, Error>,
}

/// One document of a stream.
#[derive(Debug)]
#[non_exhaustive]
pub struct Segment<'d> {
    /// The offset of its first byte in the stream.
    pub offset: u64,
    /// The line of its first byte in the stream, counted from 1.
    pub line: u64,
    /// Its text. Empty for text that is neither JSON nor YAML.
    pub text: &'d [u8],
    /// Its value, or the reason why it has none. Lines are those of the stream. Upstream stops at
    /// the first error; this reader continues after a YAML document that does not parse.
    pub document: Result<Document, Error>,
}

/// An error that ends the stream.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The input failed.
    #[error("failed to read the input")]
    Read(#[source] io::Error),
    /// A document is larger than [`Limits::input`](crate::Limits::input).
    #[error("the document at line {line} is larger than {limit} bytes")]
    TooLarge {
        /// The line where it begins.
        line: u64,
        /// The limit, in bytes.
        limit: usize,
    },
}

impl<'r, R: Read> Documents<'r, R> {
    /// Creates a reader at the start of `input`. All documents share the budget of `reader`, to
    /// which each of their bytes adds. Its other limits apply to each document on its own.
    pub fn new(input: R, reader: &'r Reader) -> Self {
        Self {
            input,
            reader,
            buffer: Vec::new(),
            done: 0,
            offset: 0,
            line: 1,
            is_at_end: false,
            mode: Mode::Unknown,
        }
    }

    /// Reads the next document. Returns `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the input fails, or if a document is too large.
    #[expect(clippy::should_implement_trait, reason = "the items borrow from the reader")]
    pub fn next(&mut self) -> Result<Option<Segment<'_>>, StreamError> {
        if self.mode == Mode::Unknown {
            while self.rest().len() < SNIFFED && self.fill()? {}
            let start = self.rest().get(..SNIFFED).unwrap_or(self.rest());
            let is_json = String::from_utf8_lossy(start).trim_start().starts_with('{');
            self.mode = if is_json { Mode::Json { n_read: 0 } } else { Mode::Yaml };
        }
        let found = match self.mode {
            Mode::Json { n_read } => self.next_object(n_read)?,
            Mode::Yaml => self.next_yaml()?,
            Mode::Unknown | Mode::Finished => None,
        };
        let Some(Found { skipped, text, consumed, document }) = found else {
            self.mode = Mode::Finished;
            return Ok(None);
        };
        self.take(skipped);
        let (offset, line, start) = (self.offset, self.line, self.done);
        self.take(consumed);
        let text = self.buffer.get(start..start + text).unwrap_or(&[]);
        let document = document.map_err(|error| error.below(line - 1));
        Ok(Some(Segment { offset, line, text, document }))
    }

    /// Reads the next JSON object, with the white space before it.
    fn next_object(&mut self, n_read: usize) -> Result<Option<Found>, StreamError> {
        let mut scan = Scan::default();
        let end = loop {
            if let Some(end) = scan.find_end(self.rest()) {
                break end;
            }
            if !self.fill()? {
                break self.rest().len();
            }
        };
        if scan.is_blank() {
            return Ok(None);
        }
        let skipped = count_blanks(self.rest());
        let text = end.saturating_sub(skipped);
        let limit = self.reader.limits().input.min(super::MAX_INPUT);
        if text > limit {
            let line = self.line + n_lines(self.rest().get(..skipped).unwrap_or(&[]));
            return Err(StreamError::TooLarge { line, limit });
        }
        let found = |document| Found { skipped, text, consumed: text, document };
        self.reader.grow(text);
        let object = parse_object(self.rest().get(skipped..end).unwrap_or(&[]), self.reader);
        let counted = object.and_then(|tree| {
            self.reader.spend(OBJECT + tree.n_values() * VALUE)?;
            Ok(tree)
        });
        let error = match counted {
            Ok(tree) => {
                self.mode = Mode::Json { n_read: n_read + 1 };
                return Ok(Some(found(Ok(Document { tree, unread: None }))));
            }
            Err(error) => error,
        };
        // After the second object, upstream is sure that the stream is JSON.
        if n_read <= 1 && self.skip_white_space()? {
            match self.next_yaml()? {
                None => return Ok(None),
                Some(found) if found.document.is_ok() => {
                    self.mode = Mode::Yaml;
                    return Ok(Some(found));
                }
                Some(_) => {}
            }
        }
        self.mode = Mode::Finished;
        // Some of the white space may be skipped already.
        let skipped = count_blanks(self.rest());
        Ok(Some(Found { skipped, text: 0, consumed: 0, document: Err(error) }))
    }

    /// Skips white space up to the end of a line, as `consumeWhitespace` does. Returns false if
    /// fewer than four bytes follow, which upstream does not read as YAML.
    fn skip_white_space(&mut self) -> Result<bool, StreamError> {
        loop {
            while self.rest().len() < 4 && self.fill()? {}
            let Some(start) = self.rest().get(..4) else { return Ok(false) };
            let next = start.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
            match next {
                None => return Ok(false),
                Some(next) if !next.is_whitespace() => return Ok(true),
                Some(next) => self.take(next.len_utf8()),
            }
            if next == Some('\n') {
                return Ok(true);
            }
        }
    }

    /// Reads the next YAML document, and consumes the separator after it.
    fn next_yaml(&mut self) -> Result<Option<Found>, StreamError> {
        let (mut text, mut consumed) = (0, 0);
        while let Some(len) = self.line_at(consumed)? {
            let line = self.rest().get(consumed..consumed + len).unwrap_or(&[]);
            if let Some(after) = line.strip_prefix(b"---") {
                if !is_blank_or_comment(after) {
                    if text > 0 {
                        break;
                    }
                    let problem = "invalid document separator: text follows ---";
                    let document = Err(syntax(1, problem));
                    return Ok(Some(Found { skipped: 0, text: len, consumed: len, document }));
                }
                if text > 0 {
                    consumed += len;
                    break;
                }
            }
            consumed += len;
            text = consumed;
        }
        if text == 0 {
            return Ok(None);
        }
        let lines = terminated(self.rest().get(..text).unwrap_or(&[]));
        self.reader.grow(text);
        let document = self.reader.read(&lines, Scalars::Resolved);
        Ok(Some(Found { skipped: 0, text, consumed, document }))
    }

    /// Returns the length of the line at `at`, with its end. Returns `None` at the end of the
    /// input.
    fn line_at(&mut self, at: usize) -> Result<Option<usize>, StreamError> {
        let mut searched = at;
        loop {
            let rest = self.rest().get(searched..).unwrap_or(&[]);
            if let Some(end) = find(rest, |word| word.equal(b'\n')) {
                return Ok(Some(searched + end + 1 - at));
            }
            searched = self.rest().len();
            if !self.fill()? {
                return Ok((searched > at).then(|| searched - at));
            }
        }
    }

    /// Returns the bytes that are read but not consumed.
    fn rest(&self) -> &[u8] {
        self.buffer.get(self.done..).unwrap_or(&[])
    }

    /// Consumes `len` bytes, which stay in the buffer until it is filled again.
    fn take(&mut self, len: usize) {
        self.line += n_lines(self.rest().get(..len).unwrap_or(&[]));
        self.done += len;
        self.offset += len as u64;
    }

    /// Reads more of the input: as much as the buffer has, so that searching it again and again
    /// takes linear time. Returns false at the end of the input.
    fn fill(&mut self) -> Result<bool, StreamError> {
        let limit = self.reader.limits().input.min(super::MAX_INPUT);
        if self.is_at_end {
            return Ok(false);
        }
        if self.rest().len() > limit {
            return Err(StreamError::TooLarge { line: self.line, limit });
        }
        self.buffer.drain(..self.done);
        self.done = 0;
        let wanted = self.rest().len().max(PIECE);
        let before = self.buffer.len();
        let mut input = (&mut self.input).take(wanted as u64);
        input.read_to_end(&mut self.buffer).map_err(StreamError::Read)?;
        self.is_at_end = self.buffer.len() - before < wanted;
        Ok(self.buffer.len() > before)
    }
}

/// Counts the white space of JSON at the start of `bytes`.
fn count_blanks(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count()
}

/// Parses one JSON object.
pub(super) fn parse_object(text: &[u8], reader: &Reader) -> Result<Tree, Error> {
    let line = |at: usize| n_lines(text.get(..at).unwrap_or(text)) + 1;
    match json::parse(text, reader.limits(), true) {
        Ok((builder, root, _)) => {
            reader.check_output(&builder, root, false)?;
            if !builder.is_object(root) {
                return Err(syntax(1, "found a value that is not a JSON object"));
            }
            Ok(builder.finish(root))
        }
        Err(json::Fault::TooLarge) => Err(too_large(reader.limits().tree)),
        Err(json::Fault::TooDeep { at, limit }) => Err(Error::TooDeep { line: line(at), limit }),
        Err(json::Fault::Syntax { at, problem }) => Err(syntax(line(at), problem)),
    }
}

#[cfg(test)]
mod tests;
