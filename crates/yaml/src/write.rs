//! YAML for people, and for every reader of YAML 1.1 or 1.2.

mod scalar;

use std::convert::Infallible;
use std::{io, mem};

use serde_json::Value;

/// A collection that is being written.
enum Open<'a> {
    Sequence { items: std::slice::Iter<'a, Value>, indent: usize },
    Mapping { entries: serde_json::map::Iter<'a>, indent: usize },
}

/// Where a value stands.
#[derive(Clone, Copy)]
enum Place {
    Root,
    /// Behind `key:`, of a mapping at this indentation.
    Value(usize),
    /// Behind `-`, of a sequence at this indentation.
    Item(usize),
}

/// Deeper values are written as JSON on one line, which is YAML too: the indentation would fill
/// the file.
const MAX_INDENT: usize = 128;

/// Longer keys need `?`: a parser looks no more than 1024 characters ahead for the colon.
const MAX_KEY: usize = 512;

/// `value` as YAML for people: block style, literal blocks for text of several lines. What Go,
/// and thus kubectl, reads from it is `value` again. Characters that a terminal could obey are
/// escaped.
///
/// ```
/// let value = serde_json::json!({"data": {"a.yaml": "x: 1\ny: 2\n"}, "port": "8080"});
/// let text = unlade_yaml::write(&value);
/// assert_eq!(text, "data:\n  a.yaml: |\n    x: 1\n    y: 2\nport: \"8080\"\n");
/// ```
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    let Ok(()) = pieces(value, usize::MAX, |piece| {
        text = piece;
        Ok::<_, Infallible>(())
    });
    text
}

/// Writes the same to `to`, piece by piece: the text of a large value is not held as a whole.
///
/// # Errors
///
/// Those of `to`.
pub fn write_to(value: &Value, mut to: impl io::Write) -> io::Result<()> {
    pieces(value, PIECE, |piece| to.write_all(piece.as_bytes()))
}

/// Bytes that [`write_to`] gathers before it writes them.
const PIECE: usize = 64 << 10;

/// Gives `take` the text in pieces of at least `size` bytes, the last one excepted.
fn pieces<E>(
    value: &Value,
    size: usize,
    mut take: impl FnMut(String) -> Result<(), E>,
) -> Result<(), E> {
    let mut writer = Writer { out: String::new(), open: Vec::new(), fresh: false };
    writer.value(value, Place::Root);
    while let Some(open) = writer.open.last_mut() {
        match open {
            Open::Sequence { items, indent } => {
                let indent = *indent;
                match items.next() {
                    Some(item) => writer.item(item, indent),
                    None => drop(writer.open.pop()),
                }
            }
            Open::Mapping { entries, indent } => {
                let indent = *indent;
                match entries.next() {
                    Some((key, value)) => writer.entry(key, value, indent),
                    None => drop(writer.open.pop()),
                }
            }
        }
        if writer.out.len() >= size {
            take(mem::take(&mut writer.out))?;
        }
    }
    take(writer.out)
}

struct Writer<'a> {
    out: String,
    open: Vec<Open<'a>>,
    /// Whether the line holds nothing but indentation and `- `, so that the first item or entry
    /// goes on in it.
    fresh: bool,
}

impl<'a> Writer<'a> {
    fn item(&mut self, item: &'a Value, indent: usize) {
        self.begin(indent);
        self.out.push('-');
        self.value(item, Place::Item(indent));
    }

    fn entry(&mut self, key: &str, value: &'a Value, indent: usize) {
        self.begin(indent);
        let start = self.out.len();
        scalar::key(&mut self.out, key);
        if self.out.len() - start > MAX_KEY {
            self.out.insert_str(start, "? ");
            self.out.push('\n');
            self.begin(indent);
        }
        self.out.push(':');
        self.value(value, Place::Value(indent));
    }

    fn begin(&mut self, indent: usize) {
        if !std::mem::take(&mut self.fresh) {
            self.out.extend(std::iter::repeat_n(' ', indent));
        }
    }

    /// Writes a value behind `key:`, `-` or nothing, or opens it if it has lines of its own.
    fn value(&mut self, value: &'a Value, place: Place) {
        let (parent, child) = match place {
            Place::Root => (0, 0),
            Place::Value(indent) | Place::Item(indent) => (indent, indent + 2),
        };
        let inline = child > MAX_INDENT;
        match value {
            Value::Array(items) if !items.is_empty() && !inline => {
                // Behind a key, a sequence stands at the key's own indentation, as kubectl does it.
                let indent = self.opens(place, parent, child);
                self.open.push(Open::Sequence { items: items.iter(), indent });
            }
            Value::Object(entries) if !entries.is_empty() && !inline => {
                let indent = self.opens(place, child, child);
                self.open.push(Open::Mapping { entries: entries.iter(), indent });
            }
            _ => {
                if !matches!(place, Place::Root) {
                    self.out.push(' ');
                }
                match value {
                    Value::String(text) if !matches!(place, Place::Root) => {
                        scalar::text(&mut self.out, text, child);
                    }
                    value => scalar::flow(&mut self.out, value),
                }
                self.out.push('\n');
            }
        }
    }

    /// Leads over to a collection's first line and gives its indentation: `below` behind a key,
    /// `beside` behind a dash.
    fn opens(&mut self, place: Place, below: usize, beside: usize) -> usize {
        match place {
            Place::Root => 0,
            Place::Value(_) => {
                self.out.push('\n');
                below
            }
            Place::Item(_) => {
                self.out.push(' ');
                self.fresh = true;
                beside
            }
        }
    }
}

#[cfg(test)]
mod tests;
