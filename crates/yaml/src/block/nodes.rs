//! [`Nodes`]: the values of a document, which are stored or only counted.

use super::flow::Flow;
use super::scalar::Text;
use crate::json::{Builder, Field, Key, NodeId};
use crate::resolve::{self, Value};
use crate::{Reader, Scalars};

/// A key or a value after it was checked and counted.
#[derive(Clone, Copy)]
pub(super) enum Checked<T> {
    /// It is stored here.
    Stored(T),
    /// Nobody needs it, so it is not stored.
    Omitted,
}

/// The values of a document, and the children of the collections that are not complete.
pub(super) struct Nodes<'r> {
    reader: &'r Reader,
    scalars: Scalars,
    builder: Builder,
    items: Vec<NodeId>,
    fields: Vec<Field>,
}

impl<'r> Nodes<'r> {
    /// `size` is the size of the text to store, in bytes.
    pub(super) fn new(reader: &'r Reader, scalars: Scalars, size: usize) -> Self {
        let builder = Builder::new(size);
        Self { reader, scalars, builder, items: Vec::new(), fields: Vec::new() }
    }

    pub(super) fn into_builder(self) -> Builder {
        self.builder
    }

    /// Returns the index of the next item.
    pub(super) fn n_items(&self) -> usize {
        self.items.len()
    }

    /// Returns the index of the next field.
    pub(super) fn n_fields(&self) -> usize {
        self.fields.len()
    }

    /// Returns `None` if the document needs too much memory. The library returns the error.
    pub(super) fn check_memory(&self) -> Option<()> {
        let held = self.builder.held()
            + size_of_val(self.items.as_slice())
            + size_of_val(self.fields.as_slice());
        (held <= self.reader.limits().tree).then_some(())
    }

    /// Adds a scalar. Fails if JSON may not be able to express it.
    pub(super) fn scalar(&mut self, scalar: Text<'_>, is_omitted: bool) -> Option<Checked<NodeId>> {
        let (text, value) = match scalar {
            Text::Plain(text) => (text, resolve::resolve_plain(text, self.scalars)),
            Text::Quoted(text) => (text, Value::Text),
        };
        if matches!(value, Value::Float(value) if !value.is_finite()) {
            return None;
        }
        if is_omitted {
            self.builder.omit_value(if matches!(value, Value::Text) { text.len() } else { 0 });
            return Some(Checked::Omitted);
        }
        Some(Checked::Stored(value.store(text, &mut self.builder)))
    }

    /// Adds the key of a field. Fails if its text is not certain.
    pub(super) fn key(&mut self, name: Text<'_>, is_omitted: bool) -> Option<Checked<Key>> {
        let text = key_text(name, self.scalars)?;
        if is_omitted {
            self.builder.omit_key(text.len());
            return Some(Checked::Omitted);
        }
        Some(Checked::Stored(Key::Text(self.builder.text(text))))
    }

    /// Adds a null.
    pub(super) fn null(&mut self, is_omitted: bool) -> Checked<NodeId> {
        if is_omitted { self.omit() } else { Checked::Stored(self.builder.null()) }
    }

    /// Adds a field to the innermost mapping.
    pub(super) fn push_field(&mut self, key: Checked<Key>, value: Checked<NodeId>) {
        match (key, value) {
            (Checked::Stored(key), Checked::Stored(value)) => {
                self.fields.push(Field { key, value });
            }
            _ => self.builder.omit_field(),
        }
    }

    /// Adds an item to the innermost sequence.
    pub(super) fn push_item(&mut self, item: Checked<NodeId>) {
        match item {
            Checked::Stored(item) => self.items.push(item),
            Checked::Omitted => self.builder.omit_item(),
        }
    }

    /// Completes a sequence whose first item has this index.
    pub(super) fn array(&mut self, from: usize, is_omitted: bool) -> Checked<NodeId> {
        if is_omitted {
            self.omit()
        } else {
            Checked::Stored(self.builder.array(&mut self.items, from))
        }
    }

    /// Completes a mapping whose first field has this index.
    pub(super) fn object(&mut self, from: usize, is_omitted: bool) -> Checked<NodeId> {
        if is_omitted {
            self.omit()
        } else {
            Checked::Stored(self.builder.object(&mut self.fields, from))
        }
    }

    /// Adds a flow collection. Also returns the number of its scalars.
    pub(super) fn flow(
        &mut self,
        flow: &Flow<'_>,
        is_omitted: bool,
    ) -> Option<(Checked<NodeId>, usize)> {
        match flow {
            Flow::Sequence(items) => {
                let from = self.n_items();
                for &item in items {
                    let item = self.scalar(item, is_omitted)?;
                    self.push_item(item);
                }
                Some((self.array(from, is_omitted), items.len()))
            }
            Flow::Mapping(fields) => {
                let from = self.n_fields();
                for &(name, value) in fields {
                    let key = self.key(name, is_omitted)?;
                    let value = self.scalar(value, is_omitted)?;
                    self.push_field(key, value);
                }
                self.check_memory()?;
                Some((self.object(from, is_omitted), 2 * fields.len()))
            }
        }
    }

    /// Omits a value without a text.
    fn omit(&mut self) -> Checked<NodeId> {
        self.builder.omit_value(0);
        Checked::Omitted
    }
}

/// Returns the text of a key. Returns `None` if it is not certain.
fn key_text(name: Text<'_>, scalars: Scalars) -> Option<&str> {
    Some(match name {
        Text::Quoted(text) => text,
        Text::Plain("<<") => return None,
        Text::Plain(text) => match resolve::resolve_plain(text, scalars) {
            Value::Text => text,
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            _ => return None,
        },
    })
}
