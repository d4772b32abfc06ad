//! Composes a tree from events, as `decode.go` of go-yaml v2 and sigs.k8s.io/yaml do.
//!
//! Go decodes the node of an anchor again for each alias. Here, the value is shared. Only the
//! number of Go's calls is counted, because it decides what is `excessive aliasing`.

use std::collections::HashMap;

use super::alias::Count;
use super::error::{syntax, too_large};
use super::event::{Data, Event, Scalar};
use super::resolve::{self, Value};
use super::{Error, Reader, Scalars};
use unlade_text::excerpt;

use crate::json::{Builder, Field, Key, NodeId, Unwritable, key_text};

/// The first document as a tree.
pub(super) struct Composed {
    pub(super) builder: Builder,
    /// The root of the tree. `None` if the text contains no document.
    pub(super) root: Option<NodeId>,
    /// Whether a value occurs in more than one place.
    pub(super) shared: bool,
    /// The maximum nesting, without following aliases.
    pub(super) depth: usize,
    /// The end of the document in the text, in bytes.
    pub(super) end: usize,
}

pub(super) struct Composer<'r> {
    reader: &'r Reader,
    builder: Builder,
    scalars: Scalars,
    count: Count,
    /// The index of the latest anchor with each name.
    names: HashMap<String, usize>,
    /// The anchors. `None` while the anchored value is not complete.
    anchors: Vec<Option<Anchored>>,
    open: Vec<Frame>,
    items: Vec<NodeId>,
    fields: Vec<Field>,
    root: Option<NodeId>,
    /// The lines of infinities and NaN. They are errors only if the complete document contains
    /// them.
    not_finite: Vec<(NodeId, u64)>,
    bad_keys: bool,
    shared: bool,
    deepest: usize,
    end: usize,
}

#[derive(Debug, Clone, Copy)]
struct Anchored {
    value: NodeId,
    /// The number of Go's calls of `unmarshal` for the value.
    cost: u64,
}

/// An incomplete sequence or mapping.
struct Frame {
    kind: FrameKind,
    anchor: Option<usize>,
    /// The index of its first child in `items` or `fields`.
    from: usize,
    cost: u64,
}

enum FrameKind {
    Sequence,
    /// A sequence of mappings to merge into the enclosing mapping.
    MergeList,
    Mapping(Slot),
}

/// What a mapping expects next.
#[derive(Debug, Clone, Copy)]
enum Slot {
    Key,
    Value(Key),
    Merge,
}

/// The memory for an anchor with a short name, in bytes.
const ANCHOR: usize = 96;

const MERGE_TAG: &str = "tag:yaml.org,2002:merge";

impl<'r> Composer<'r> {
    pub(super) fn new(text: usize, scalars: Scalars, reader: &'r Reader) -> Self {
        Self {
            reader,
            builder: Builder::new(text),
            scalars,
            count: Count::default(),
            names: HashMap::new(),
            anchors: Vec::new(),
            open: Vec::new(),
            items: Vec::new(),
            fields: Vec::new(),
            root: None,
            not_finite: Vec::new(),
            bad_keys: false,
            shared: false,
            deepest: 0,
            end: 0,
        }
    }

    pub(super) fn add_event(&mut self, event: Event) -> Result<(), Error> {
        let line = event.line;
        let limit = self.reader.limits().tree;
        if self.held() > limit {
            return Err(too_large(limit));
        }
        match event.data {
            Data::Alias(name) => self.alias(&name, line),
            Data::Scalar(scalar) => self.scalar(scalar, line),
            Data::SequenceStart { anchor } => {
                let merge = matches!(self.slot(), Some(Slot::Merge));
                let kind = if merge { FrameKind::MergeList } else { FrameKind::Sequence };
                // Go does not call `unmarshal` for the sequence of a merge.
                let cost = u64::from(!merge);
                self.start(kind, anchor, self.items.len(), cost, line)
            }
            Data::MappingStart { anchor } => {
                self.start(FrameKind::Mapping(Slot::Key), anchor, self.fields.len(), 1, line)
            }
            Data::End => self.finish_frame(line),
            Data::DocumentEnd { at } => {
                self.end = at;
                Ok(())
            }
        }
    }

    /// Returns the memory for the document so far, in bytes.
    fn held(&self) -> usize {
        self.builder.held()
            + size_of_val(self.items.as_slice())
            + size_of_val(self.fields.as_slice())
            + self.anchors.len() * ANCHOR
    }

    /// Finishes the document. Returns an error if it contains a value or key that JSON cannot
    /// express.
    pub(super) fn finish(self) -> Result<Composed, Error> {
        if let Some(root) = self.root
            && (self.bad_keys || !self.not_finite.is_empty())
            && let Some(found) = self.builder.unwritable(root)
        {
            let (line, problem) = match found {
                Unwritable::Key(Key::Uint { line }) => {
                    (u64::from(line), "a mapping has a key above 9223372036854775807")
                }
                Unwritable::Key(Key::Null { line }) => {
                    (u64::from(line), "a mapping has null as a key")
                }
                Unwritable::Key(Key::Text(_) | Key::Mended(_)) => {
                    (0, "a mapping has a key that is not a string")
                }
                Unwritable::Value(id) => {
                    let line = self.not_finite.iter().find(|(value, _)| *value == id);
                    (line.map_or(0, |(_, line)| *line), "JSON has no infinity and no NaN")
                }
            };
            return Err(syntax(line, problem));
        }
        Ok(Composed {
            builder: self.builder,
            root: self.root,
            shared: self.shared,
            depth: self.deepest,
            end: self.end,
        })
    }

    fn slot(&self) -> Option<Slot> {
        match self.open.last() {
            Some(Frame { kind: FrameKind::Mapping(slot), .. }) => Some(*slot),
            _ => None,
        }
    }

    fn start(
        &mut self,
        kind: FrameKind,
        anchor: Option<String>,
        from: usize,
        cost: u64,
        line: u64,
    ) -> Result<(), Error> {
        if matches!(self.slot(), Some(Slot::Key)) {
            let what = if matches!(kind, FrameKind::Sequence) { "sequence" } else { "mapping" };
            return Err(syntax(line, format!("a mapping has a {what} as a key")));
        }
        if matches!(self.open.last(), Some(Frame { kind: FrameKind::MergeList, .. }))
            && matches!(kind, FrameKind::Sequence)
        {
            return Err(merge_error(line));
        }
        self.count.add(cost, 0, line)?;
        let anchor = anchor.map(|name| self.anchor(name, None));
        self.open.push(Frame { kind, anchor, from, cost });
        self.deepest = self.deepest.max(self.open.len());
        Ok(())
    }

    fn finish_frame(&mut self, line: u64) -> Result<(), Error> {
        let Some(frame) = self.open.pop() else { return Ok(()) };
        let value = match frame.kind {
            FrameKind::Sequence => self.builder.array(&mut self.items, frame.from),
            FrameKind::Mapping(_) => self.builder.object(&mut self.fields, frame.from),
            FrameKind::MergeList => {
                // The first mapping takes precedence, so its fields come last.
                for id in self.items.get(frame.from..).unwrap_or(&[]).iter().rev() {
                    merge(*id, &self.builder, &mut self.fields, self.reader)?;
                }
                let value = self.builder.array(&mut self.items, frame.from);
                self.complete_anchor(frame.anchor, value, frame.cost);
                self.merged(frame.cost);
                return Ok(());
            }
        };
        self.complete_anchor(frame.anchor, value, frame.cost);
        self.complete(value, frame.cost, line)
    }

    fn complete_anchor(&mut self, anchor: Option<usize>, value: NodeId, cost: u64) {
        if let Some(slot) = anchor.and_then(|at| self.anchors.get_mut(at)) {
            *slot = Some(Anchored { value, cost });
        }
    }

    fn anchor(&mut self, name: String, anchored: Option<Anchored>) -> usize {
        self.anchors.push(anchored);
        self.names.insert(name, self.anchors.len() - 1);
        self.anchors.len() - 1
    }

    /// Adds a complete value that is not a key to its parent.
    fn complete(&mut self, value: NodeId, cost: u64, line: u64) -> Result<(), Error> {
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(value);
            return Ok(());
        };
        frame.cost = frame.cost.saturating_add(cost);
        match &mut frame.kind {
            FrameKind::Sequence => self.items.push(value),
            FrameKind::MergeList if self.builder.is_object(value) => self.items.push(value),
            FrameKind::MergeList => return Err(merge_error(line)),
            FrameKind::Mapping(slot) => {
                match *slot {
                    Slot::Value(key) => self.fields.push(Field { key, value }),
                    // Keys are always scalars, which are handled elsewhere.
                    Slot::Key => {}
                    Slot::Merge if self.builder.is_object(value) => {
                        self.shared = true;
                        merge(value, &self.builder, &mut self.fields, self.reader)?;
                    }
                    Slot::Merge => return Err(merge_error(line)),
                }
                *slot = Slot::Key;
            }
        }
        Ok(())
    }

    /// Ends a merge after its fields are added.
    fn merged(&mut self, cost: u64) {
        self.shared = true;
        if let Some(frame) = self.open.last_mut() {
            frame.cost = frame.cost.saturating_add(cost);
            frame.kind = FrameKind::Mapping(Slot::Key);
        }
    }

    fn alias(&mut self, name: &str, line: u64) -> Result<(), Error> {
        let Some(&at) = self.names.get(name) else {
            return Err(syntax(
                line,
                format!("unknown anchor '{}' referenced", excerpt::shorten(name)),
            ));
        };
        let Some(anchored) = self.anchors.get(at).copied().flatten() else {
            return Err(syntax(
                line,
                format!("anchor '{}' value contains itself", excerpt::shorten(name)),
            ));
        };
        self.count.add(1, 0, line)?;
        self.count.add(anchored.cost, anchored.cost, line)?;
        self.reader.spend_aliased(anchored.cost)?;
        self.shared = true;
        let cost = anchored.cost.saturating_add(1);
        if matches!(self.slot(), Some(Slot::Key)) {
            let key = self.builder.as_key(anchored.value, line).map_err(|what| {
                syntax(line, format!("a mapping has an alias of a {what} as a key"))
            })?;
            self.reader.spend(key.len())?;
            self.key(key, cost);
            return Ok(());
        }
        self.complete(anchored.value, cost, line)
    }

    fn scalar(&mut self, scalar: Scalar, line: u64) -> Result<(), Error> {
        let is_key = matches!(self.slot(), Some(Slot::Key));
        let merge_tag = scalar.tag.as_deref() == Some(MERGE_TAG);
        if is_key && scalar.value == "<<" && (scalar.implicit || merge_tag) {
            if let Some(frame) = self.open.last_mut() {
                frame.kind = FrameKind::Mapping(Slot::Merge);
            }
            // An alias of the merge key refers to its text.
            if let Some(name) = scalar.anchor {
                let value = self.builder.string("<<");
                self.anchor(name, Some(Anchored { value, cost: 1 }));
            }
            return Ok(());
        }
        self.count.add(1, 0, line)?;
        let value = self.resolve(&scalar, line)?;
        if is_key && scalar.anchor.is_none() {
            let key = self.convert_key(&value, &scalar.value, line);
            self.key(key, 1);
            return Ok(());
        }
        let id = self.store(&value, &scalar.value, line);
        if let Some(name) = scalar.anchor {
            self.anchor(name, Some(Anchored { value: id, cost: 1 }));
        }
        if is_key {
            let key = self.convert_key(&value, &scalar.value, line);
            self.key(key, 1);
            return Ok(());
        }
        self.complete(id, 1, line)
    }

    fn resolve(&self, scalar: &Scalar, line: u64) -> Result<Value, Error> {
        match scalar.tag.as_deref() {
            None if !scalar.implicit => Ok(Value::Text),
            None => Ok(resolve::resolve_plain(&scalar.value, self.scalars)),
            tag => resolve::resolve(tag, &scalar.value).map_err(|why| syntax(line, why)),
        }
    }

    fn store(&mut self, value: &Value, text: &str, line: u64) -> NodeId {
        let id = value.store(text, &mut self.builder);
        if matches!(value, Value::Float(value) if !value.is_finite()) {
            self.not_finite.push((id, line));
        }
        id
    }

    fn convert_key(&mut self, value: &Value, text: &str, line: u64) -> Key {
        let line = u32::try_from(line).unwrap_or(u32::MAX);
        let builder = &mut self.builder;
        Key::Text(match value {
            Value::Text => builder.text(text),
            Value::Bool(value) => builder.text(if *value { "true" } else { "false" }),
            Value::Int(value) => builder.text(&value.to_string()),
            Value::Float(value) => builder.text(&key_text(*value)),
            Value::Bytes(bytes) => return builder.byte_key(bytes),
            Value::Null => return Key::Null { line },
            Value::Uint(_) => return Key::Uint { line },
        })
    }

    fn key(&mut self, key: Key, cost: u64) {
        self.bad_keys |= matches!(key, Key::Null { .. } | Key::Uint { .. });
        if let Some(frame) = self.open.last_mut() {
            frame.cost = frame.cost.saturating_add(cost);
            frame.kind = FrameKind::Mapping(Slot::Value(key));
        }
    }
}

/// Copies the fields of the mapping `from`. The text of a key is not copied, but each field is
/// compared with its neighbours, so each copy of a key counts as work.
fn merge(
    from: NodeId,
    builder: &Builder,
    into: &mut Vec<Field>,
    reader: &Reader,
) -> Result<(), Error> {
    let fields = builder.fields_of(from);
    reader.spend(fields.iter().map(|field| 1 + field.key.len()).sum())?;
    into.extend_from_slice(fields);
    Ok(())
}

fn merge_error(line: u64) -> Error {
    syntax(line, "map merge requires map or sequence of maps as the value")
}
