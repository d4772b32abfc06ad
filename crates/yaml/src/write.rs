//! Writes YAML that people can read, and that readers of YAML 1.1 and 1.2 read in the same way.

mod scalar;

use std::convert::Infallible;
use std::{io, mem};

use serde_json::Value;

/// A collection that is being written.
enum Open<'a> {
    Sequence { items: std::slice::Iter<'a, Value>, indent: usize },
    Mapping { entries: serde_json::map::Iter<'a>, indent: usize },
}

/// The position of a value.
#[derive(Clone, Copy)]
enum Position {
    Root,
    /// After `key:`, in a mapping with this indentation.
    Value(usize),
    /// After `-`, in a sequence with this indentation.
    Item(usize),
}

/// The maximum indentation. Deeper values are written as JSON on one line, which is also YAML. This
/// bounds the size of the indentation in the file.
const MAX_INDENT: usize = 128;

/// The maximum length of a key without `?`, in bytes. Parsers search for the colon only in the next
/// 1024 characters.
const MAX_KEY: usize = 512;

/// Writes `value` as YAML in block style, with literal blocks for text of several lines. Go, and so
/// kubectl, reads the same value from the result. Characters that could control a terminal are
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

/// Writes the same YAML as [`write()`] to `to` in pieces, so that the text of a large value is not
/// in memory as a whole.
///
/// # Errors
///
/// Returns the errors of `to`.
pub fn write_to(value: &Value, mut to: impl io::Write) -> io::Result<()> {
    pieces(value, PIECE, |piece| to.write_all(piece.as_bytes()))
}

/// The minimum size of a piece that [`write_to`] writes, in bytes.
const PIECE: usize = 64 << 10;

/// Calls `take` with pieces of at least `size` bytes of the text. The last piece may be shorter.
fn pieces<E>(
    value: &Value,
    size: usize,
    mut take: impl FnMut(String) -> Result<(), E>,
) -> Result<(), E> {
    let mut writer = Writer { out: String::new(), open: Vec::new(), fresh: false };
    writer.value(value, Position::Root);
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
    /// Whether the line contains only indentation and `- `, so that the first item or entry
    /// continues on it.
    fresh: bool,
}

impl<'a> Writer<'a> {
    fn item(&mut self, item: &'a Value, indent: usize) {
        self.begin(indent);
        self.out.push('-');
        self.value(item, Position::Item(indent));
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
        self.value(value, Position::Value(indent));
    }

    fn begin(&mut self, indent: usize) {
        if !std::mem::take(&mut self.fresh) {
            self.out.extend(std::iter::repeat_n(' ', indent));
        }
    }

    /// Writes a value on the current line, or opens a collection whose children are on separate
    /// lines.
    fn value(&mut self, value: &'a Value, position: Position) {
        let (parent, child) = match position {
            Position::Root => (0, 0),
            Position::Value(indent) | Position::Item(indent) => (indent, indent + 2),
        };
        let inline = child > MAX_INDENT;
        match value {
            Value::Array(items) if !items.is_empty() && !inline => {
                // After a key, a sequence has the same indentation as the key, as in kubectl.
                let indent = self.opens(position, parent, child);
                self.open.push(Open::Sequence { items: items.iter(), indent });
            }
            Value::Object(entries) if !entries.is_empty() && !inline => {
                let indent = self.opens(position, child, child);
                self.open.push(Open::Mapping { entries: entries.iter(), indent });
            }
            _ => {
                if !matches!(position, Position::Root) {
                    self.out.push(' ');
                }
                match value {
                    Value::String(text) if !matches!(position, Position::Root) => {
                        scalar::text(&mut self.out, text, child);
                    }
                    value => scalar::flow(&mut self.out, value),
                }
                self.out.push('\n');
            }
        }
    }

    /// Starts the first line of a collection, and returns its indentation: `below` after a key, and
    /// `beside` after a dash.
    fn opens(&mut self, position: Position, below: usize, beside: usize) -> usize {
        match position {
            Position::Root => 0,
            Position::Value(_) => {
                self.out.push('\n');
                below
            }
            Position::Item(_) => {
                self.out.push(' ');
                self.fresh = true;
                beside
            }
        }
    }
}

#[cfg(test)]
mod tests;
