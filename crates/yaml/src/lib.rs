//! YAML as Kubernetes reads it: `sigs.k8s.io/yaml` and apimachinery's decoder, to the byte.
//!
//! Two entries, as Go has them: [`to_json`] is `YAMLToJSON`, [`decode_unstructured`] what the
//! loader's `DecodeUnstructured` does. Behind them an event parser of libyaml's lineage gives
//! events (`event`), and go-yaml's rules make values of them (`resolve`, `compose`).
//!
//! The event parser panics on some inputs. Such a panic is caught and becomes [`Error::Parser`]; a
//! panic hook that prints panics should call [`is_panic_caught`] first. With `panic = "abort"` a
//! panic cannot be caught, and such an input aborts the process. If input comes from outside, build
//! with `panic = "unwind"`, which is the default.
//!
//! ```
//! use unlade_yaml::{Limits, to_json};
//!
//! let json = to_json(b"version: 4.10\nenabled: yes\n", &Limits::default())?;
//! assert_eq!(json, r#"{"enabled":true,"version":4.1}"#);
//! # Ok::<(), unlade_yaml::Error>(())
//! ```

mod alias;
mod compose;
mod depth;
mod dialect;
mod error;
mod event;
pub mod json;
mod panic;
mod reader;
mod resolve;
mod source;
mod stream;
mod timestamp;
mod write;

pub use error::Error;
pub use panic::is_panic_caught;
pub use reader::Reader;
pub use write::{write, write_to};

use crate::json::Tree;
use compose::{Composed, Composer};
use source::Source;

/// Limits of the YAML reader.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Most bytes of input; never more than 512 MiB, which is what offsets are wide enough for.
    pub input: usize,
    /// Deepest nesting; Go's own is 10,000. Flow collections (`[` and `{`) nest at most
    /// [`FLOW_DEPTH`] deep.
    pub depth: usize,
    /// Most bytes that the values of one text take in memory, text included. The largest published
    /// file takes 3 MB.
    pub tree: usize,
    /// Most bytes of JSON that one text may become, through aliases above all.
    pub output: usize,
    /// Most bytes of JSON that aliases make of all texts of one [`Reader`] together.
    pub total_output: usize,
    /// Most units of work for all texts of one [`Reader`] together. A byte of text is one unit, an
    /// event of the parser 24, and each flow collection that is open around an event one. The
    /// largest published bundle takes 11 million; a unit takes some 10 ns.
    pub work: u64,
}

/// Deepest nesting of flow collections: the parser looks at every open one at every token, so that
/// its time grows with their number. The deepest published document nests 34 levels, all but one
/// of them by indentation.
pub const FLOW_DEPTH: usize = 128;

impl Default for Limits {
    fn default() -> Self {
        Self {
            input: 128 << 20,
            depth: 10_000,
            tree: 16 << 20,
            output: 16 << 20,
            total_output: 32 << 20,
            work: 200_000_000,
        }
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

/// Content after the first document of a text, which upstream does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unread {
    /// The line where the content begins, counted from 1.
    pub line: u64,
    /// Whether a document marker comes before the content.
    pub is_document: bool,
}

/// The first document of a text.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Document {
    /// What it holds: null if there is no document.
    pub tree: Tree,
    /// The unread content after the first document, if any.
    pub unread: Option<Unread>,
}

/// What the loader gets out of one file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unstructured {
    /// The object; none if the first document has no content (upstream's "nil object").
    pub object: Option<Tree>,
    /// The unread content after the first document, if any.
    pub unread: Option<Unread>,
}

/// A file, read once: its first document, and whether that is an object.
#[derive(Debug)]
#[non_exhaustive]
pub struct File {
    /// The document as [`decode_document`] reads it, its scalars resolved; none if it has no
    /// content.
    pub document: Option<Tree>,
    /// The unread content after the first document, if any.
    pub unread: Option<Unread>,
    /// What keeps it from being an object, as [`decode_unstructured`] has it.
    pub error: Option<Error>,
    /// Whether the document was YAML, whose numbers Go's object has in another form.
    is_yaml: bool,
}

impl File {
    /// The object; none if the first document has no content (upstream's "nil object").
    ///
    /// # Errors
    ///
    /// [`File::error`].
    pub fn into_object(self) -> Result<Option<Tree>, Error> {
        match (self.error, self.document) {
            (Some(error), _) => Err(error),
            (None, Some(mut tree)) if self.is_yaml => {
                tree.reread();
                Ok(Some(tree))
            }
            (None, document) => Ok(document),
        }
    }
}

/// The width of offsets in a tree leaves room for text that grows while it is read.
const MAX_INPUT: usize = 512 << 20;

/// `YAMLToJSON` of `sigs.k8s.io/yaml`: the first document as Go's JSON.
///
/// # Errors
///
/// As Go, and if a limit is passed.
pub fn to_json(text: &[u8], limits: &Limits) -> Result<String, Error> {
    Reader::new(limits).to_json(text)
}

/// The first document, as [`to_json`] reads it, and what is behind it.
///
/// # Errors
///
/// As [`to_json`].
pub fn read(text: &[u8], scalars: Scalars, limits: &Limits) -> Result<Document, Error> {
    Reader::new(limits).read(text, scalars)
}

/// `DecodeUnstructured` as upstream's loader uses it: JSON sniffed, lines terminated, the first
/// document, and an object with a kind. Its numbers are those of Go's object: integers that fit
/// i64, else floats.
///
/// # Errors
///
/// As Go, and if a limit is passed.
pub fn decode_unstructured(text: &[u8], limits: &Limits) -> Result<Unstructured, Error> {
    Reader::new(limits).decode_unstructured(text)
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
    Reader::new(limits).decode_document(text, scalars)
}

/// The first document, and what follows it.
fn compose(
    text: &[u8],
    scalars: Scalars,
    reader: &Reader,
) -> Result<(Composed, Option<Unread>), Error> {
    let mut source = Source::new(text);
    let begin = || Composer::new(text.len(), scalars, reader);
    let document = event::parse(&mut source, reader, begin, Composer::take)?.finish()?;
    if let Some(root) = document.root {
        reader.check_output(&document.builder, root, document.shared)?;
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
