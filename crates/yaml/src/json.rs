//! JSON values in a flat arena, which are written as Go does.
//!
//! Malicious documents can have 10,000 levels, so building, writing and dropping do not recurse. A
//! value that YAML aliases share is stored once, so that a small document cannot fill the memory.
//! The reader limits the size of the resulting JSON ([`Limits::output`](crate::Limits::output)).

mod build;
mod fold;
mod indent;
mod number;
mod parse;
mod write;

pub use fold::{fold, is_folded};
pub use indent::indent;

pub(crate) use build::{Builder, Field, Key, NodeId, Unwritable};
use indent::quoted_len;
pub(crate) use number::{float_text, key_text};
pub use number::{general_text, string_text};
pub use parse::go_lossy;
pub(crate) use parse::{Fault, MAX_DEPTH, parse};
pub use write::quote;

use write::Style;

/// A JSON value with all its children.
#[derive(Debug, Clone)]
pub struct Tree {
    nodes: Vec<Node>,
    /// The children of all arrays. Those of one array are adjacent.
    items: Vec<NodeId>,
    /// The fields of all objects. Those of one object are adjacent and sorted.
    fields: Vec<Field>,
    /// The characters of all strings and keys.
    text: String,
    root: NodeId,
}

/// A reference to one value of a [`Tree`].
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    tree: &'a Tree,
    node: NodeId,
}

/// The kinds of JSON values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind<'a> {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// An integer that fits i64.
    Int(i64),
    /// An integer above the range of i64. Only in the tree of a YAML document, not of an object.
    Uint(u64),
    /// Any other number.
    Float(f64),
    /// A string.
    String(&'a str),
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A range of the text of a tree, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// A range of the items or fields of a tree.
#[derive(Debug, Clone, Copy)]
struct Run {
    start: u32,
    len: u32,
}

#[derive(Debug, Clone, Copy)]
enum Node {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    String(Span),
    /// A string from `!!binary` with bytes that are not UTF-8. Each is replaced by U+FFFD, which Go
    /// writes as `\ufffd`.
    Mended(Span),
    Array(Run),
    Object(Run),
}

/// Returns a rough upper bound for the memory that serde_json's `Value` of the JSON in `text`
/// needs, in bytes. A small text can need a hundred times its size. The function visits each byte
/// once.
pub fn value_memory(text: &[u8]) -> usize {
    // A map's first node has room for eleven entries, a list's first storage for four items. The
    // nodes of a map whose keys are sorted are half full, and the key of each field is allocated.
    const MAP: usize = 680;
    const FIELD: usize = 128;
    const LIST: usize = 128;
    const ITEM: usize = 64;
    let (mut memory, mut at) = (text.len(), 0);
    while let Some(rest @ [first, ..]) = text.get(at..) {
        let (own, len) = match first {
            b'{' => (MAP, 1),
            b'[' => (LIST, 1),
            b',' => (ITEM, 1),
            b':' => (FIELD, 1),
            b'"' => (0, quoted_len(rest)),
            _ => (0, 1),
        };
        memory += own;
        at += len;
    }
    memory
}

impl Tree {
    /// Returns the outermost value.
    pub fn root(&self) -> Value<'_> {
        Value { tree: self, node: self.root }
    }

    /// Returns the number of values. One that an alias repeats counts once.
    pub(crate) fn n_values(&self) -> u64 {
        self.nodes.len() as u64
    }

    /// Returns the memory for the values, in bytes.
    pub fn memory(&self) -> usize {
        size_of_val(self.nodes.as_slice())
            + size_of_val(self.items.as_slice())
            + size_of_val(self.fields.as_slice())
            + self.text.len()
    }

    /// Returns the keys of all objects.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| self.key(field))
    }

    fn node(&self, id: NodeId) -> Node {
        self.nodes.get(id.index()).copied().unwrap_or(Node::Null)
    }

    fn str(&self, span: Span) -> &str {
        let start = span.start as usize;
        self.text.get(start..start + span.len as usize).unwrap_or("")
    }

    fn run_items(&self, run: Run) -> &[NodeId] {
        let start = run.start as usize;
        self.items.get(start..start + run.len as usize).unwrap_or(&[])
    }

    fn run_fields(&self, run: Run) -> &[Field] {
        let start = run.start as usize;
        self.fields.get(start..start + run.len as usize).unwrap_or(&[])
    }

    fn key(&self, field: &Field) -> &str {
        // The readers reject documents with keys that are not text before they return the tree.
        field.key.span().map_or("", |span| self.str(span))
    }
}

impl<'a> Value<'a> {
    /// Returns the kind of the value.
    pub fn kind(&self) -> Kind<'a> {
        match self.tree.node(self.node) {
            Node::Null => Kind::Null,
            Node::Bool(value) => Kind::Bool(value),
            Node::Int(value) => Kind::Int(value),
            Node::Uint(value) => Kind::Uint(value),
            Node::Float(value) => Kind::Float(value),
            Node::String(span) | Node::Mended(span) => Kind::String(self.tree.str(span)),
            Node::Array(_) => Kind::Array,
            Node::Object(_) => Kind::Object,
        }
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&'a str> {
        match self.tree.node(self.node) {
            Node::String(span) | Node::Mended(span) => Some(self.tree.str(span)),
            _ => None,
        }
    }

    /// Returns the field `name` of an object. The name is case-sensitive.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        let tree = self.tree;
        let fields = self.fields();
        let at = fields
            .binary_search_by(|field| tree.key(field).as_bytes().cmp(name.as_bytes()))
            .ok()?;
        Some(Value { tree, node: fields.get(at)?.value })
    }

    /// Returns the items of an array. Empty for other kinds.
    pub fn items(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let tree = self.tree;
        let items = match tree.node(self.node) {
            Node::Array(run) => tree.run_items(run),
            _ => &[],
        };
        items.iter().map(move |&node| Value { tree, node })
    }

    /// Returns the fields of an object, in bytewise order of their names. Empty for other kinds.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a> {
        let tree = self.tree;
        self.fields().iter().map(move |field| (tree.key(field), Value { tree, node: field.value }))
    }

    /// Encodes the value as Go's `json.Marshal`, without a final newline.
    pub fn to_json(&self) -> String {
        let mut json = String::new();
        write::json(self.tree, self.node, Style::Marshal, &mut json);
        json
    }

    /// Encodes the value as Go encodes a value that it has decoded into `interface{}`, with
    /// `SetEscapeHTML(false)`: every number is a float. operator-registry encodes the metas of a
    /// catalog in this way. There is no final newline.
    ///
    /// ```
    /// use unlade_yaml::{Limits, Scalars, read};
    ///
    /// let document = read(b"a: 9007199254740993\nb: <&>", Scalars::Resolved, &Limits::default())?;
    /// assert_eq!(document.tree.root().to_float_json(), r#"{"a":9007199254740992,"b":"<&>"}"#);
    /// # Ok::<(), unlade_yaml::Error>(())
    /// ```
    pub fn to_float_json(&self) -> String {
        let mut json = String::new();
        self.write_float_json(&mut json);
        json
    }

    /// Appends the text of [`to_float_json`](Self::to_float_json) to `out`.
    pub fn write_float_json(&self, out: &mut String) {
        write::json(self.tree, self.node, Style::Floats, out);
    }

    fn fields(&self) -> &'a [Field] {
        match self.tree.node(self.node) {
            Node::Object(run) => self.tree.run_fields(run),
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_values_counts_what_is_outside_of_strings() {
        let objects = format!("[{}{{}}]", r#"{"a":1},"#.repeat(1_000));
        assert!(value_memory(objects.as_bytes()) > 700_000);
        let text = format!(r#"{{"a":"{}\"{{"}}"#, "[,{".repeat(1_000));
        assert!(value_memory(text.as_bytes()) < text.len() + 1_000);
    }
}
