//! YAML as Kubernetes reads it: `sigs.k8s.io/yaml` and apimachinery's decoder, to the byte.
//!
//! Two entries, as Go has them: [`to_json`] is `YAMLToJSON`, [`decode_unstructured`] what the
//! loader's `DecodeUnstructured` does. Behind them an event parser of libyaml's lineage gives
//! events (`event`), and go-yaml's rules make values of them (`resolve`, `compose`).
//!
//! ```
//! use unlade_format::yaml::{Limits, to_json};
//!
//! let json = to_json(b"version: 4.10\nenabled: yes\n", &Limits::default())?;
//! assert_eq!(json, r#"{"enabled":true,"version":4.1}"#);
//! # Ok::<(), unlade_format::yaml::Error>(())
//! ```

mod alias;
mod compose;
mod depth;
mod dialect;
mod error;
mod event;
mod panic;
mod resolve;
mod source;
mod stream;
mod timestamp;
mod write;

pub use error::Error;
pub use write::write;

use crate::json::Tree;
use compose::{Composed, Composer};
use source::Source;
use stream::Tail;

/// Limits of the YAML reader.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes of input; never more than 512 MiB, which is what offsets are wide enough for.
    pub input: usize,
    /// Deepest nesting; Go's own is 10,000.
    pub depth: usize,
    /// Most bytes of JSON that the input may grow to through aliases.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { input: 128 << 20, depth: 10_000, output: 256 << 20 }
    }
}

/// What a plain scalar becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalars {
    /// What YAML 1.1 makes of it, as Go does.
    Resolved,
    /// Its text as written; null stays null. For annotations: `4.10` is not 4.1.
    Source,
}

/// The first document of a text.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Document {
    /// What it holds: null if there is no document.
    pub tree: Tree,
    /// What follows it and is not read, for people; none if nothing does.
    pub unread: Option<String>,
}

/// What the loader gets out of one file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unstructured {
    /// The object; none if the first document has no content (upstream's "nil object").
    pub object: Option<Tree>,
    /// What follows the first document and is not read, for people; none if nothing does.
    pub unread: Option<String>,
}

/// The width of offsets in a tree leaves room for text that grows while it is read.
const MAX_INPUT: usize = 512 << 20;

/// `YAMLToJSON` of `sigs.k8s.io/yaml`: the first document as Go's JSON.
///
/// # Errors
///
/// As Go, and if a limit is passed.
pub fn to_json(text: &[u8], limits: &Limits) -> Result<String, Error> {
    read(text, Scalars::Resolved, limits).map(|document| document.tree.root().to_json())
}

/// The first document, as [`to_json`] reads it, and what is behind it.
///
/// # Errors
///
/// As [`to_json`].
pub fn read(text: &[u8], scalars: Scalars, limits: &Limits) -> Result<Document, Error> {
    check_input(text, limits)?;
    let (Composed { mut builder, root, .. }, tail) = compose(text, scalars, limits)?;
    let root = root.unwrap_or_else(|| builder.null());
    Ok(Document { tree: builder.finish(root), unread: tail.map(|tail| tail.describe(0)) })
}

/// `DecodeUnstructured` as upstream's loader uses it: JSON sniffed, lines terminated, the first
/// document, and an object with a kind. Its numbers are those of Go's object: integers that fit
/// i64, else floats.
///
/// # Errors
///
/// As Go, and if a limit is passed.
pub fn decode_unstructured(text: &[u8], limits: &Limits) -> Result<Unstructured, Error> {
    stream::decode(text, limits)
}

/// The same as it is for Go types that are no object, such as the files of metadata/: any document
/// passes, and YAML's numbers stay as they are.
///
/// # Errors
///
/// As Go, and if a limit is passed.
pub fn decode_document(
    text: &[u8],
    scalars: Scalars,
    limits: &Limits,
) -> Result<Unstructured, Error> {
    stream::first(text, scalars, limits)
}

fn check_input(text: &[u8], limits: &Limits) -> Result<(), Error> {
    let limit = limits.input.min(MAX_INPUT);
    if text.len() > limit { Err(Error::TooLarge { what: "the text", limit }) } else { Ok(()) }
}

/// The first document, and what follows it.
fn compose(
    text: &[u8],
    scalars: Scalars,
    limits: &Limits,
) -> Result<(Composed, Option<Tail>), Error> {
    let mut source = Source::new(text);
    let begin = || Composer::new(text.len(), scalars);
    let document = event::parse(&mut source, limits.depth, begin, Composer::take)?.finish()?;
    if let Some(root) = document.root {
        let limit = limits.output as u64;
        let may_pass = document.shared || document.builder.unshared_bound() > limit;
        if may_pass && document.builder.weight(root).bytes > limit {
            return Err(Error::TooLarge { what: "the JSON", limit: limits.output });
        }
    }
    let rest = source.text().get(document.end..).unwrap_or("");
    let tail = stream::tail(rest.as_bytes()).map(|tail| {
        let read = source.text().get(..document.end).unwrap_or("");
        tail.below(read.bytes().filter(|&byte| byte == b'\n').count() as u64)
    });
    Ok((document, tail))
}

#[cfg(test)]
mod tests;
