//! Reads YAML exactly as Kubernetes does: like `sigs.k8s.io/yaml` and apimachinery's decoder.
//!
//! [`to_json`] corresponds to Go's `YAMLToJSON`, and [`decode_unstructured`] to the
//! `DecodeUnstructured` of OLM's loader. A port of libyaml parses events (`event`), and the rules
//! of go-yaml convert them into values (`resolve`, `compose`). With the feature `block`, a faster
//! reader of the block style comes first, and leaves texts that it does not know to the others.
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
pub mod base64;
#[cfg(feature = "block")]
mod block;
mod compose;
mod depth;
mod dialect;
mod document;
mod emit;
mod error;
mod event;
mod find;
pub mod json;
mod locate;
mod outline;
mod panic;
mod reader;
mod resolve;
mod source;
mod stream;
mod timestamp;
mod write;

pub use document::{Documents, Segment, StreamError};
pub use emit::from_json;
pub use error::Error;
pub use locate::{Step, locate};
pub use outline::{Outline, Part};
pub use panic::is_panic_caught;
pub use reader::Reader;
pub use write::{write, write_to};

use derive_setters::Setters;

use crate::json::Tree;
use compose::{Composed, Composer};
use source::Source;

/// The limits of the YAML reader.
#[derive(Debug, Clone, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Limits {
    /// The maximum size of the input, in bytes. At most 512 MiB, because offsets have 32 bits, and
    /// the text can grow while it is read.
    pub input: usize,
    /// The maximum nesting. The limit of Go is 10,000. For flow collections (`[` and `{`), the
    /// limit is never more than [`FLOW_DEPTH`].
    pub depth: usize,
    /// The maximum memory for the values of one text, including their strings, in bytes. The
    /// largest published file needs 3 MB.
    pub tree: usize,
    /// The maximum size of the JSON of one text, in bytes. Aliases can expand it. Also the maximum
    /// size of a text that is written, which indentation can expand.
    pub output: usize,
    /// The maximum size of the JSON of all texts of one [`Reader`] that contain aliases, in bytes.
    /// Each byte of a stream ([`Documents`]) adds 2 bytes.
    pub total_output: usize,
    /// The maximum number of values that aliases add in all texts of one [`Reader`]. A key is a
    /// value, too. Go allows up to a million in each text; no published catalog has an alias.
    pub aliased: u64,
    /// The maximum work for all texts of one [`Reader`], in units. A byte of text is 1 unit, an
    /// event of the parser is 24 units, and each open flow collection around an event is 1 unit. In
    /// a stream ([`Documents`]) of JSON, an object is 128 units and each value 48 units.
    /// The largest published bundle needs 11 million units. A unit takes about 10 ns.
    pub work: u64,
    /// The units of work that each KiB of a stream ([`Documents`]) adds. The largest published
    /// catalogs need 2.4 units for each of their bytes, and their most expensive documents need 6.
    /// It is not higher, because some commands read a catalog five times.
    pub stream_work: u64,
}

/// The maximum nesting of flow collections. The parser visits all open ones at each token, so its
/// time grows with their number. The deepest published document has 34 levels, and all but one of
/// them are block collections.
pub const FLOW_DEPTH: usize = 128;

impl Default for Limits {
    fn default() -> Self {
        Self {
            input: 128 << 20,
            depth: 10_000,
            tree: 16 << 20,
            output: 16 << 20,
            total_output: 32 << 20,
            aliased: 3_000_000,
            work: 200_000_000,
            stream_work: 6 << 10,
        }
    }
}

/// How plain scalars are converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scalars {
    /// Resolve the type by the rules of YAML 1.1, as Go does.
    Resolved,
    /// Keep the text as written, except null. This is for annotations, where `4.10` is not 4.1.
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
    /// The value of the document. Null if the text contains no document.
    pub tree: Tree,
    /// The unread content after the first document, if any.
    pub unread: Option<Unread>,
}

/// The object in one file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Unstructured {
    /// The object. `None` if the first document has no content (upstream's "nil object").
    pub object: Option<Tree>,
    /// The unread content after the first document, if any.
    pub unread: Option<Unread>,
}

/// A file that is read once: its first document, and whether that is an object.
#[derive(Debug)]
#[non_exhaustive]
pub struct File {
    /// The document as [`decode_document`] reads it, with resolved scalars. `None` if it has no
    /// content.
    pub document: Option<Tree>,
    /// The unread content after the first document, if any.
    pub unread: Option<Unread>,
    /// The reason why the document is not an object, as in [`decode_unstructured`].
    pub error: Option<Error>,
    /// Whether the document was YAML. Go converts its numbers again when it creates the object.
    is_yaml: bool,
}

impl File {
    /// Converts the file into its object. Returns `None` if the first document has no content
    /// (upstream's "nil object").
    ///
    /// # Errors
    ///
    /// Returns [`File::error`].
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

/// The maximum size of an input, in bytes. Offsets in a tree have 32 bits, and the text can grow
/// while it is read.
const MAX_INPUT: usize = 512 << 20;

/// Converts the first document into JSON, as `YAMLToJSON` of `sigs.k8s.io/yaml` does.
///
/// # Errors
///
/// Returns an error if the Go code returns one, or if a limit is exceeded.
pub fn to_json(text: &[u8], limits: &Limits) -> Result<String, Error> {
    Reader::new(limits).to_json(text)
}

/// Reads the first document as [`to_json`] does, and reports content after it.
///
/// # Errors
///
/// Returns the errors of [`to_json`].
pub fn read(text: &[u8], scalars: Scalars, limits: &Limits) -> Result<Document, Error> {
    Reader::new(limits).read(text, scalars)
}

/// Parses a JSON object as Go's `encoding/json` does. Text after the object is not read.
///
/// # Errors
///
/// Returns an error if the text does not start with a JSON object, or if a limit is exceeded.
pub fn read_json(text: &[u8], limits: &Limits) -> Result<Tree, Error> {
    document::parse_object(text, &Reader::new(limits))
}

/// Decodes an object as `DecodeUnstructured` does in upstream's loader.
///
/// JSON is detected from the first bytes, only the first document is read, and it must be an object
/// with a kind. The numbers are those of Go's object: integers if they fit i64, else floats.
///
/// # Errors
///
/// Returns an error if the Go code returns one, or if a limit is exceeded.
pub fn decode_unstructured(text: &[u8], limits: &Limits) -> Result<Unstructured, Error> {
    Reader::new(limits).decode_unstructured(text)
}

/// Decodes a document as [`decode_unstructured`] does, but for Go types that are not objects, such
/// as the files of metadata/. Any document is valid, and the numbers of YAML are not converted.
///
/// # Errors
///
/// Returns an error if the Go code returns one, or if a limit is exceeded.
pub fn decode_document(
    text: &[u8],
    scalars: Scalars,
    limits: &Limits,
) -> Result<Unstructured, Error> {
    Reader::new(limits).decode_document(text, scalars)
}

/// Composes the first document, and reports content after it.
fn compose(
    text: &[u8],
    scalars: Scalars,
    reader: &Reader,
) -> Result<(Composed, Option<Unread>), Error> {
    #[cfg(feature = "block")]
    let block = block::compose(text, scalars, reader);
    #[cfg(not(feature = "block"))]
    let block = None;
    let (document, unread) = match block {
        Some(document) => (document, None),
        None => compose_events(text, scalars, reader)?,
    };
    if let Some(root) = document.root {
        reader.check_output(&document.builder, root, document.shared)?;
    }
    Ok((document, unread))
}

/// Composes the first document from the events of the library.
fn compose_events(
    text: &[u8],
    scalars: Scalars,
    reader: &Reader,
) -> Result<(Composed, Option<Unread>), Error> {
    let mut source = Source::new(text);
    let begin = || Composer::new(text.len(), scalars, reader);
    let document = event::parse(&mut source, reader, begin, Composer::add_event)?.finish()?;
    let rest = source.text().get(document.end..).unwrap_or("");
    let tail = stream::tail(rest.as_bytes()).map(|tail| {
        let read = source.text().get(..document.end).unwrap_or("");
        tail.below(read.bytes().filter(|&byte| byte == b'\n').count() as u64)
    });
    Ok((document, tail))
}

#[cfg(test)]
mod tests;
