//! Builds a tree. Children are always added before their parent.

mod weight;

use super::{Node, Run, Span, Tree, float_text, go_lossy, key_text};

/// The index of a value in its tree. The children of a value have lower indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodeId(u32);

/// One entry of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    pub(crate) key: Key,
    pub(crate) value: NodeId,
}

/// The key of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Text(Span),
    /// As [`Node::Mended`].
    Mended(Span),
    /// Null in YAML. It is an error only if the complete document contains the entry.
    Null {
        line: u32,
    },
    /// An integer above the range of i64. It is an error in the same case.
    Uint {
        line: u32,
    },
}

/// A builder for a [`Tree`].
#[derive(Debug)]
pub(crate) struct Builder {
    tree: Tree,
    omitted: Omitted,
}

/// The sizes of values that were read, but not added to the tree.
#[derive(Debug, Default)]
struct Omitted {
    nodes: usize,
    items: usize,
    fields: usize,
    /// The length of their strings and keys, in bytes.
    text: usize,
}

impl Key {
    /// Returns the text of a key, if JSON can express it.
    pub(super) fn span(self) -> Option<Span> {
        match self {
            Self::Text(span) | Self::Mended(span) => Some(span),
            Self::Null { .. } | Self::Uint { .. } => None,
        }
    }

    /// Returns the length of its text in bytes.
    pub(crate) fn len(self) -> u64 {
        self.span().map_or(0, |span| u64::from(span.len))
    }
}

impl NodeId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl Builder {
    /// Creates a builder with a capacity of `text` bytes for strings.
    pub(crate) fn new(text: usize) -> Self {
        let tree = Tree {
            nodes: Vec::new(),
            items: Vec::new(),
            fields: Vec::new(),
            text: String::with_capacity(text),
            root: NodeId(0),
        };
        Self { tree, omitted: Omitted::default() }
    }

    /// Returns the memory for the tree so far, in bytes, as if nothing were omitted.
    pub(crate) fn held(&self) -> usize {
        let Omitted { nodes, items, fields, text } = self.omitted;
        self.tree.memory()
            + nodes * size_of::<Node>()
            + items * size_of::<NodeId>()
            + fields * size_of::<Field>()
            + text
    }

    pub(crate) fn null(&mut self) -> NodeId {
        self.push(Node::Null)
    }

    pub(crate) fn bool(&mut self, value: bool) -> NodeId {
        self.push(Node::Bool(value))
    }

    pub(crate) fn int(&mut self, value: i64) -> NodeId {
        self.push(Node::Int(value))
    }

    pub(crate) fn uint(&mut self, value: u64) -> NodeId {
        self.push(Node::Uint(value))
    }

    pub(crate) fn float(&mut self, value: f64) -> NodeId {
        self.push(Node::Float(value))
    }

    pub(crate) fn string(&mut self, value: &str) -> NodeId {
        let span = self.text(value);
        self.string_at(span)
    }

    /// Adds a string whose text is already stored.
    pub(crate) fn string_at(&mut self, span: Span) -> NodeId {
        self.push(Node::String(span))
    }

    /// Adds a string of bytes. Bytes that are not UTF-8 are replaced.
    pub(crate) fn bytes(&mut self, value: &[u8]) -> NodeId {
        let span = self.text(&go_lossy(value));
        let valid = std::str::from_utf8(value).is_ok();
        self.push(if valid { Node::String(span) } else { Node::Mended(span) })
    }

    /// Stores `value`, and returns its range.
    pub(crate) fn text(&mut self, value: &str) -> Span {
        let start = self.start_text();
        self.tree.text.push_str(value);
        self.finish_text(start)
    }

    /// Returns the start of a text that is stored in parts, which the caller appends to
    /// [`text_mut`](Self::text_mut).
    pub(super) fn start_text(&self) -> usize {
        self.tree.text.len()
    }

    pub(super) fn text_mut(&mut self) -> &mut String {
        &mut self.tree.text
    }

    /// Returns the range of a text that is complete.
    pub(super) fn finish_text(&self, start: usize) -> Span {
        Span { start: place(start), len: place(self.tree.text.len() - start) }
    }

    /// Adds an array of the values from index `from`, which are removed from `items`.
    pub(crate) fn array(&mut self, items: &mut Vec<NodeId>, from: usize) -> NodeId {
        let start = place(self.tree.items.len());
        self.tree.items.extend(items.drain(from..));
        let len = place(self.tree.items.len()) - start;
        self.push(Node::Array(Run { start, len }))
    }

    /// Adds an object of the entries from index `from`, which are removed from `fields`. Of several
    /// entries with the same key, the last one is kept.
    pub(crate) fn object(&mut self, fields: &mut Vec<Field>, from: usize) -> NodeId {
        let text = &self.tree.text;
        let bytes = |field: &Field| {
            let Some(span) = field.key.span() else { return &[][..] };
            let start = span.start as usize;
            text.as_bytes().get(start..start + span.len as usize).unwrap_or(&[])
        };
        let own = fields.get_mut(from..).unwrap_or(&mut []);
        let sorted = own.windows(2).all(|pair| match pair {
            [a, b] => bytes(a) < bytes(b),
            _ => true,
        });
        let start = place(self.tree.fields.len());
        if sorted {
            self.tree.fields.extend_from_slice(own);
        } else {
            own.sort_by(|a, b| bytes(a).cmp(bytes(b)));
            for (at, field) in own.iter().enumerate() {
                let overwritten = field.key.span().is_some()
                    && own.get(at + 1).is_some_and(|next| {
                        next.key.span().is_some() && bytes(field) == bytes(next)
                    });
                if !overwritten {
                    self.tree.fields.push(*field);
                }
            }
        }
        let len = place(self.tree.fields.len()) - start;
        fields.truncate(from);
        self.push(Node::Object(Run { start, len }))
    }

    /// Returns the entries of an object. Empty for other kinds.
    pub(crate) fn fields_of(&self, id: NodeId) -> &[Field] {
        match self.tree.node(id) {
            Node::Object(run) => self.tree.run_fields(run),
            _ => &[],
        }
    }

    /// Converts a scalar into a key, as sigs.k8s.io/yaml does.
    ///
    /// # Errors
    ///
    /// Returns the kind of value if it is not a scalar.
    pub(crate) fn as_key(&mut self, id: NodeId, line: u64) -> Result<Key, &'static str> {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let text = match self.tree.node(id) {
            Node::String(span) => return Ok(Key::Text(span)),
            Node::Mended(span) => return Ok(Key::Mended(span)),
            Node::Bool(value) => value.to_string(),
            Node::Int(value) => value.to_string(),
            Node::Float(value) => key_text(value),
            Node::Null => return Ok(Key::Null { line }),
            Node::Uint(_) => return Ok(Key::Uint { line }),
            Node::Array(_) => return Err("sequence"),
            Node::Object(_) => return Err("mapping"),
        };
        Ok(Key::Text(self.text(&text)))
    }

    pub(crate) fn is_object(&self, id: NodeId) -> bool {
        matches!(self.tree.node(id), Node::Object(_))
    }

    /// Returns the first value or key that JSON cannot express, in the order of writing. Visits
    /// each value once.
    pub(crate) fn unwritable(&self, root: NodeId) -> Option<Unwritable> {
        let mut seen = vec![false; self.tree.nodes.len()];
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            match seen.get_mut(id.index()) {
                Some(seen) if !*seen => *seen = true,
                _ => continue,
            }
            match self.tree.node(id) {
                Node::Float(value) if !value.is_finite() => return Some(Unwritable::Value(id)),
                Node::Array(run) => open.extend(self.tree.run_items(run).iter().rev()),
                Node::Object(run) => {
                    let fields = self.tree.run_fields(run);
                    if let Some(field) = fields.iter().find(|field| field.key.span().is_none()) {
                        return Some(Unwritable::Key(field.key));
                    }
                    open.extend(fields.iter().rev().map(|field| field.value));
                }
                _ => {}
            }
        }
        None
    }

    /// Creates a key from the bytes of `!!binary`. See [`Key::Mended`].
    pub(crate) fn byte_key(&mut self, value: &[u8]) -> Key {
        let span = self.text(&go_lossy(value));
        if std::str::from_utf8(value).is_ok() { Key::Text(span) } else { Key::Mended(span) }
    }

    /// Returns an upper bound for the size of the JSON in bytes, if no value is shared. It includes
    /// what is omitted.
    pub(crate) fn unshared_bound(&self) -> u64 {
        // A character needs at most 6 bytes, a number 26, and the punctuation of a field 4.
        let (tree, omitted) = (&self.tree, &self.omitted);
        (tree.text.len() + omitted.text) as u64 * 6
            + (tree.nodes.len() + omitted.nodes) as u64 * 28
            + (tree.fields.len() + omitted.fields) as u64 * 4
    }

    pub(crate) fn finish(mut self, root: NodeId) -> Tree {
        self.tree.root = root;
        self.tree
    }

    fn push(&mut self, node: Node) -> NodeId {
        let id = NodeId(place(self.tree.nodes.len()));
        self.tree.nodes.push(node);
        id
    }
}

#[cfg(feature = "block")]
impl Builder {
    /// Omits a value, whose text has `len` bytes.
    pub(crate) fn omit_value(&mut self, len: usize) {
        self.omitted.nodes += 1;
        self.omitted.text += len;
    }

    /// Omits `len` bytes of a key.
    pub(crate) fn omit_key(&mut self, len: usize) {
        self.omitted.text += len;
    }

    /// Omits an item of an array.
    pub(crate) fn omit_item(&mut self) {
        self.omitted.items += 1;
    }

    /// Omits a field of an object.
    pub(crate) fn omit_field(&mut self) {
        self.omitted.fields += 1;
    }

    /// Checks whether anything is omitted.
    pub(crate) fn is_partial(&self) -> bool {
        self.omitted.fields > 0
    }
}

impl Tree {
    /// Changes the values as if they were written and read again, which upstream's decoder does:
    /// whole floats become integers, and integers above the range of i64 become floats.
    pub(crate) fn reread(&mut self) {
        for field in &mut self.fields {
            if let Key::Mended(span) = field.key {
                field.key = Key::Text(span);
            }
        }
        for node in &mut self.nodes {
            match *node {
                Node::Float(value) if value.is_finite() => {
                    if let Ok(value) = float_text(value).parse::<i64>() {
                        *node = Node::Int(value);
                    }
                }
                #[expect(clippy::cast_precision_loss, reason = "Go reads these digits as a float")]
                Node::Uint(value) => *node = Node::Float(value as f64),
                Node::Mended(span) => *node = Node::String(span),
                _ => {}
            }
        }
    }
}

/// A value or key that JSON cannot express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unwritable {
    /// Infinity or NaN.
    Value(NodeId),
    /// A key that is not a string, an integer, a float or a boolean.
    Key(Key),
}

/// Converts an offset to 32 bits. The readers reject inputs with larger offsets ([`MAX_INPUT`]).
///
/// [`MAX_INPUT`]: crate
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
