//! Reads the first document of a file, as apimachinery's `YAMLOrJSONDecoder` does.

use std::borrow::Cow;
use std::fmt;

use super::compose::Composed;
use super::error::{syntax, too_large};
use super::{Document, Error, File, Outline, Reader, Scalars, Unread, Unstructured, compose};
use crate::json::{self, Kind, Tree};

/// The number of bytes in which the decoder searches for a `{`.
const SNIFFED: usize = 30;

/// The nesting limit of Go's `encoding/json`, which reads the object from JSON text.
const JSON_DEPTH: u64 = json::MAX_DEPTH as u64;

/// Reads the first document of a file, and the reason why it is not an object.
pub(super) fn read_file(bytes: &[u8], reader: &Reader) -> Result<File, Error> {
    reader.begin(bytes)?;
    let scalars = Scalars::Resolved;
    if !looks_like_json(bytes) {
        return first_yaml(bytes, 0, scalars, reader).map(yaml_file);
    }
    let (json, first) = match json_document(bytes, reader)? {
        Ok(document) => {
            let file = json_file(document);
            match file.error {
                None => return Ok(file),
                Some(error) => (Some(File { error: None, ..file }), error),
            }
        }
        Err(error) => (None, error),
    };
    // If JSON fails, upstream tries YAML after the leading white space. If YAML fails too, it
    // returns the error of the JSON. Errors that upstream may not have take precedence here, such
    // as limits.
    let choose = |error: Error| match error {
        _ if first.is_limit() => first,
        Error::Aliasing { .. } | Error::Parser { .. } => error,
        error if error.is_limit() => error,
        _ => first,
    };
    let (skipped, lines) = leading_space(bytes);
    let rest = bytes.get(skipped..).unwrap_or(&[]);
    match (first_yaml(rest, lines, scalars, reader).map(yaml_file), json) {
        (Ok(file @ File { error: None, .. }), _) => Ok(file),
        (Ok(File { error: Some(error), .. }) | Err(error), Some(json)) => {
            Ok(File { error: Some(choose(error)), ..json })
        }
        (Ok(File { error: Some(error), document, unread, .. }), None) => {
            Ok(File { document, unread, error: Some(choose(error)), is_yaml: true })
        }
        (Err(error), None) => Err(choose(error)),
    }
}

/// Reads a file as [`read_file`] does, but may keep only the parts of an object in `outline`.
pub(super) fn read_outlined_file(
    bytes: &[u8],
    outline: &Outline,
    reader: &Reader,
) -> Result<File, Error> {
    #[cfg(feature = "block")]
    {
        let work = reader.work();
        if let Some(file) = block_outline(bytes, outline, reader) {
            return Ok(file);
        }
        reader.rewind(work);
    }
    #[cfg(not(feature = "block"))]
    let _ = outline;
    read_file(bytes, reader)
}

/// Reads the outline of an object in block style. Returns `None` for everything else: for other
/// texts, for errors and limits, and for objects that must be whole and are not.
#[cfg(feature = "block")]
fn block_outline(bytes: &[u8], outline: &Outline, reader: &Reader) -> Option<File> {
    if bytes.is_empty() || looks_like_json(bytes) {
        return None;
    }
    reader.begin(bytes).ok()?;
    let (chunk, rest) = first_chunk(bytes, 0).ok()?;
    let composed = super::block::compose_outline(&chunk, outline, reader)?;
    let builder = &composed.builder;
    // The exact size of the JSON is known only if nothing is omitted.
    let is_partial = builder.is_partial();
    if builder.unshared_bound() > reader.limits().output as u64 {
        return None;
    }
    let file = yaml_file((composed, tail_below(rest, &chunk, 0)));
    let root = file.document.as_ref()?.root();
    let kind = root.get("kind").and_then(|kind| kind.as_str())?;
    let is_certain = file.error.is_none() && !(is_partial && outline.whole.contains(&kind));
    is_certain.then_some(file)
}

/// Reads the first document of any kind, as the decoder does for a Go struct.
pub(super) fn read_first(
    bytes: &[u8],
    scalars: Scalars,
    reader: &Reader,
) -> Result<Unstructured, Error> {
    reader.begin(bytes)?;
    let mut start = (0, 0);
    if looks_like_json(bytes) {
        if let Ok((tree, unread)) = json_document(bytes, reader)? {
            return Ok(Unstructured { object: Some(tree), unread });
        }
        start = leading_space(bytes);
    }
    let (skipped, lines) = start;
    let rest = bytes.get(skipped..).unwrap_or(&[]);
    let (document, unread) = first_yaml(rest, lines, scalars, reader)?;
    let Composed { builder, root, .. } = document;
    Ok(Unstructured { object: root.map(|root| builder.finish(root)), unread })
}

/// Reads the first document of a text that is always YAML, and never JSON.
pub(super) fn read_whole(
    bytes: &[u8],
    scalars: Scalars,
    reader: &Reader,
) -> Result<Document, Error> {
    reader.begin(bytes)?;
    let (Composed { mut builder, root, .. }, tail) = compose(bytes, scalars, reader)?;
    let root = root.unwrap_or_else(|| builder.null());
    Ok(Document { tree: builder.finish(root), unread: tail.map(|tail| tail.below(0)) })
}

/// Reads the first JSON value, and reports content after it. The inner error is one that Go also
/// has: the text is not JSON, or is nested too deeply.
fn json_document(
    bytes: &[u8],
    reader: &Reader,
) -> Result<Result<(Tree, Option<Unread>), Error>, Error> {
    let line = |at: usize| line_after(bytes.get(..at).unwrap_or(bytes));
    match json::parse(bytes, reader.limits(), false) {
        Ok((builder, root, end)) => {
            reader.check_output(&builder, root, false)?;
            let (read, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
            let unread = tail(rest).map(|tail| tail.below(line_after(read) - 1));
            Ok(Ok((builder.finish(root), unread)))
        }
        Err(json::Fault::TooLarge) => Err(too_large(reader.limits().tree)),
        Err(json::Fault::TooDeep { at, limit }) => {
            Ok(Err(Error::TooDeep { line: line(at), limit }))
        }
        Err(json::Fault::Syntax { at, problem }) => Ok(Err(syntax(line(at), problem))),
    }
}

fn json_file((tree, unread): (Tree, Option<Unread>)) -> File {
    let (has_content, error) = check_object(&tree);
    File { document: has_content.then_some(tree), unread, error, is_yaml: false }
}

fn yaml_file((document, unread): (Composed, Option<Unread>)) -> File {
    let Composed { builder, root, shared, depth, .. } = document;
    let Some(root) = root else {
        return File { document: None, unread, error: None, is_yaml: true };
    };
    let deep = shared || depth as u64 > JSON_DEPTH;
    let too_deep = deep && builder.weight(root).depth > JSON_DEPTH;
    let tree = builder.finish(root);
    let (has_content, error) = if too_deep {
        (true, Some(Error::TooDeep { line: 0, limit: 10_000 }))
    } else {
        check_object(&tree)
    };
    File { document: has_content.then_some(tree), unread, error, is_yaml: true }
}

/// Reads the first document of `bytes`, which come after `lines` lines, and reports content after
/// it.
fn first_yaml(
    bytes: &[u8],
    lines: u64,
    scalars: Scalars,
    reader: &Reader,
) -> Result<(Composed, Option<Unread>), Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    let (chunk, rest) = first_chunk(bytes, lines)?;
    let (document, here) = compose(&chunk, scalars, reader)?;
    let unread = match here {
        Some(here) => Some(here.below(lines)),
        None => tail_below(rest, &chunk, lines),
    };
    Ok((document, unread))
}

/// Returns the first content of `rest`, which follows `chunk` and `lines` lines before it.
fn tail_below(rest: &[u8], chunk: &[u8], lines: u64) -> Option<Unread> {
    tail(rest).map(|tail| tail.below(lines + line_after(chunk) - 1))
}

/// Checks for an object as `UnstructuredJSONScheme` does. Returns whether the document has content,
/// and the reason why it is not an object. Null has no content, and is not an error.
fn check_object(tree: &Tree) -> (bool, Option<Error>) {
    let value = tree.root();
    let found = match value.kind() {
        Kind::Object => {
            let kind = value.get("kind").and_then(|kind| kind.as_str()).unwrap_or("");
            let version = value.get("apiVersion").and_then(|value| value.as_str()).unwrap_or("");
            let has_kind = !kind.is_empty() && version.matches('/').count() <= 1;
            return (true, (!has_kind).then_some(Error::NoKind));
        }
        Kind::Null => return (false, None),
        Kind::Array => "a sequence",
        Kind::String(_) => "a string",
        Kind::Bool(_) => "a boolean",
        Kind::Int(_) | Kind::Uint(_) | Kind::Float(_) => "a number",
    };
    (true, Some(Error::NotAnObject { found }))
}

/// Splits `bytes` before the next line that starts with `---`, as `YAMLReader.Read` does.
fn first_chunk(bytes: &[u8], lines: u64) -> Result<(Cow<'_, [u8]>, &[u8]), Error> {
    let mut end = bytes.len();
    let mut from = 0;
    while let Some(at) = separator(bytes, from) {
        let after = bytes.get(at + 3..).unwrap_or(&[]);
        let rest = after.iter().position(|&byte| byte == b'\n').map_or(after.len(), |at| at + 1);
        if !is_blank_or_comment(after.get(..rest).unwrap_or(after)) {
            let line = lines + line_after(bytes.get(..at).unwrap_or(bytes));
            return Err(syntax(line, "invalid document separator: text follows ---"));
        }
        if at > 0 {
            end = at;
            break;
        }
        from = at + 3 + rest;
    }
    let (chunk, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
    Ok((terminated(chunk), rest))
}

/// Returns the position of the first line from the line at `from` on that starts with `---`.
fn separator(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    if rest.starts_with(b"---") {
        return Some(from);
    }
    #[cfg(feature = "block")]
    let found = memchr::memmem::find(rest, b"\n---");
    #[cfg(not(feature = "block"))]
    let found = rest.windows(4).position(|window| window == b"\n---");
    found.map(|at| from + at + 1)
}

/// Ends each line with `\n`, including the last one, as `LineReader.Read` does.
pub(super) fn terminated(chunk: &[u8]) -> Cow<'_, [u8]> {
    let carriage = chunk.contains(&b'\r') && chunk.windows(2).any(|pair| pair == b"\r\n");
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

impl Unread {
    /// Adds `lines` to the line number.
    pub(super) fn below(self, lines: u64) -> Self {
        Self { line: self.line + lines, ..self }
    }
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.is_document {
            "a further document"
        } else {
            "text after the end of the first document"
        };
        write!(f, "{what} at line {}", self.line)
    }
}

/// Returns the first content of `text` other than white space, comments and document markers.
pub(super) fn tail(text: &[u8]) -> Option<Unread> {
    let mut is_document = false;
    for (at, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let marker = line.strip_prefix(b"---").or_else(|| line.strip_prefix(b"..."));
        is_document |= line.starts_with(b"---");
        if !is_blank_or_comment(marker.unwrap_or(line)) {
            return Some(Unread { line: at as u64 + 1, is_document });
        }
    }
    None
}

/// Checks whether `text` is empty or starts with `#` after Go's `strings.TrimSpace`.
pub(super) fn is_blank_or_comment(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_start();
    text.is_empty() || text.starts_with('#')
}

fn looks_like_json(bytes: &[u8]) -> bool {
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    String::from_utf8_lossy(start).trim_start().starts_with('{')
}

/// Returns the number of bytes and lines of leading white space, up to the end of the first line,
/// as `consumeWhitespace` does.
fn leading_space(bytes: &[u8]) -> (usize, u64) {
    let text = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    match text.find(|c: char| c == '\n' || !c.is_whitespace()) {
        Some(at) if bytes.get(at) == Some(&b'\n') => (at + 1, 1),
        Some(at) => (at, 0),
        None => (0, 0),
    }
}

/// Returns the line number of the text after `before`.
fn line_after(before: &[u8]) -> u64 {
    n_lines(before) + 1
}

pub(super) fn n_lines(text: &[u8]) -> u64 {
    text.iter().map(|&byte| u64::from(byte == b'\n')).sum()
}
