//! The first document of a file: apimachinery's `YAMLOrJSONDecoder`.

use std::borrow::Cow;

use super::compose::Composed;
use super::{Error, Limits, Scalars, Unstructured, compose};
use crate::json::{self, Builder, Kind, NodeId, Tree};

/// How far the decoder looks for a `{`.
const SNIFFED: usize = 30;

/// Go's `encoding/json` reads the object from JSON text and goes no deeper.
const JSON_DEPTH: u64 = 10_000;

pub(super) fn decode(bytes: &[u8], limits: &Limits) -> Result<Unstructured, Error> {
    super::check_input(bytes, limits)?;
    if !looks_like_json(bytes) {
        return decode_yaml(bytes, 0, limits);
    }
    let first = match decode_json(bytes) {
        Ok(object) => return Ok(object),
        Err(error) => error,
    };
    // Upstream tries YAML, from the first text or the second line on, and if that fails as well
    // tells what was wrong with the JSON. Where we give up and it may not, we say so.
    let (skipped, lines) = leading_space(bytes);
    decode_yaml(bytes.get(skipped..).unwrap_or(&[]), lines, limits).map_err(|error| match error {
        Error::Aliasing { .. } | Error::Parser { .. } => error,
        error if error.is_limit() => error,
        _ => first,
    })
}

/// The first document, whatever it is, as the decoder gives it to a Go type with fields of its own.
pub(super) fn first(
    bytes: &[u8],
    scalars: Scalars,
    limits: &Limits,
) -> Result<Unstructured, Error> {
    super::check_input(bytes, limits)?;
    let mut start = (0, 0);
    if looks_like_json(bytes) {
        if let Ok((builder, root, end)) = json::parse(bytes) {
            let (read, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
            let unread = tail(rest).map(|tail| tail.describe(line_of(read) - 1));
            return Ok(Unstructured { object: Some(builder.finish(root)), unread });
        }
        start = leading_space(bytes);
    }
    let (skipped, lines) = start;
    let (document, unread) =
        first_yaml(bytes.get(skipped..).unwrap_or(&[]), lines, scalars, limits)?;
    let Some(root) = document.root else { return Ok(Unstructured { object: None, unread }) };
    Ok(Unstructured { object: Some(document.builder.finish(root)), unread })
}

fn decode_json(bytes: &[u8]) -> Result<Unstructured, Error> {
    let (builder, root, end) = json::parse(bytes).map_err(|error| {
        let before = bytes.get(..error.at).unwrap_or(bytes);
        Error::Syntax { line: line_of(before), problem: error.problem.to_owned() }
    })?;
    let object = object(builder, root)?;
    let (read, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
    let unread = tail(rest).map(|tail| tail.describe(line_of(read) - 1));
    Ok(Unstructured { object, unread })
}

/// Decodes `bytes`, which follow `lines` lines.
fn decode_yaml(bytes: &[u8], lines: u64, limits: &Limits) -> Result<Unstructured, Error> {
    let (document, unread) = first_yaml(bytes, lines, Scalars::Resolved, limits)?;
    let Some(root) = document.root else { return Ok(Unstructured { object: None, unread }) };
    let mut builder = document.builder;
    let deep = document.shared || document.depth as u64 > JSON_DEPTH;
    if deep && builder.weight(root).depth > JSON_DEPTH {
        return Err(Error::TooDeep { line: 0, limit: 10_000 });
    }
    builder.reread();
    Ok(Unstructured { object: object(builder, root)?, unread })
}

/// The first document of `bytes`, which follow `lines` lines, and what is not read.
fn first_yaml(
    bytes: &[u8],
    lines: u64,
    scalars: Scalars,
    limits: &Limits,
) -> Result<(Composed, Option<String>), Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    let (chunk, rest) = first_chunk(bytes, lines)?;
    let (document, here) = compose(&chunk, scalars, limits)?;
    let unread = match here {
        Some(here) => Some(here.describe(lines)),
        None => tail(rest).map(|tail| tail.describe(lines + line_of(&chunk) - 1)),
    };
    Ok((document, unread))
}

/// The object check of `UnstructuredJSONScheme`: null passes as no object.
fn object(builder: Builder, root: NodeId) -> Result<Option<Tree>, Error> {
    let tree = builder.finish(root);
    let value = tree.root();
    let found = match value.kind() {
        Kind::Object => {
            let kind = value.get("kind").and_then(|kind| kind.as_str()).unwrap_or("");
            let version = value.get("apiVersion").and_then(|value| value.as_str()).unwrap_or("");
            if kind.is_empty() || version.matches('/').count() > 1 {
                return Err(Error::NoKind);
            }
            return Ok(Some(tree));
        }
        Kind::Null => return Ok(None),
        Kind::Array => "a sequence",
        Kind::String(_) => "a string",
        Kind::Bool(_) => "a boolean",
        Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) => "a number",
    };
    Err(Error::NotAnObject { found })
}

/// `YAMLReader.Read`: the lines up to a line that begins with `---`, and what comes from there on.
fn first_chunk(bytes: &[u8], lines: u64) -> Result<(Cow<'_, [u8]>, &[u8]), Error> {
    let mut end = 0;
    for (at, line) in bytes.split_inclusive(|&byte| byte == b'\n').enumerate() {
        if let Some(after) = line.strip_prefix(b"---") {
            if !is_blank_or_comment(after) {
                let line = lines + at as u64 + 1;
                let problem = "invalid document separator: text follows ---".to_owned();
                return Err(Error::Syntax { line, problem });
            }
            if end > 0 {
                break;
            }
        }
        end += line.len();
    }
    let (chunk, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
    Ok((terminated(chunk), rest))
}

/// `LineReader.Read`: each line ends with `\n`, the last too.
fn terminated(chunk: &[u8]) -> Cow<'_, [u8]> {
    let carriage = chunk.windows(2).any(|pair| pair == b"\r\n");
    if !carriage && chunk.ends_with(b"\n") {
        return chunk.into();
    }
    let mut text = Vec::with_capacity(chunk.len() + 1);
    for line in chunk.split_inclusive(|&byte| byte == b'\n') {
        let line =
            line.strip_suffix(b"\n").map_or(line, |line| line.strip_suffix(b"\r").unwrap_or(line));
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text.into()
}

/// Something behind the first document that nobody reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail {
    /// The line, counted from 1 where the search began.
    line: u64,
    /// Whether a document marker stands before it.
    is_document: bool,
}

impl Tail {
    /// The same, seen from `lines` lines further up.
    pub(super) fn below(self, lines: u64) -> Self {
        Self { line: self.line + lines, ..self }
    }

    /// Where it is, for people, `lines` lines further down.
    pub(super) fn describe(self, lines: u64) -> String {
        let line = lines + self.line;
        if self.is_document {
            format!("a further document at line {line}")
        } else {
            format!("text behind the end of the first document at line {line}")
        }
    }
}

/// What of `text` is more than white space, comments and document markers.
pub(super) fn tail(text: &[u8]) -> Option<Tail> {
    let mut is_document = false;
    for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let marker = line.strip_prefix(b"---").or_else(|| line.strip_prefix(b"..."));
        is_document |= line.starts_with(b"---");
        if !is_blank_or_comment(marker.unwrap_or(line)) {
            return Some(Tail { line: at as u64 + 1, is_document });
        }
    }
    None
}

/// Go's `strings.TrimSpace`, then nothing or a `#`.
fn is_blank_or_comment(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_start();
    text.is_empty() || text.starts_with('#')
}

fn looks_like_json(bytes: &[u8]) -> bool {
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    String::from_utf8_lossy(start).trim_start().starts_with('{')
}

/// `consumeWhitespace`: the bytes and lines of white space up to the first line's end.
fn leading_space(bytes: &[u8]) -> (usize, u64) {
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    match text.find(|c: char| c == '\n' || !c.is_whitespace()) {
        Some(at) if bytes.get(at) == Some(&b'\n') => (at + 1, 1),
        Some(at) => (at, 0),
        None => (0, 0),
    }
}

/// The line that what follows `before` is in.
fn line_of(before: &[u8]) -> u64 {
    n_lines(before) + 1
}

fn n_lines(text: &[u8]) -> u64 {
    text.split(|&byte| byte == b'\n').count() as u64 - 1
}
