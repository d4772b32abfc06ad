//! Converts JSON into YAML as `sigs.k8s.io/yaml` does: the emitter of go-yaml v2, for block style.
//!
//! That emitter is a port of libyaml (`emitterc.go`), and the state here has the same names.

mod order;
mod scalar;

use std::vec;

use super::{Error, Limits, Scalars, error::output_too_large};
use crate::json::{Kind, Tree, Value, float_text, general_text};

/// The maximum length of a key without `?`, in bytes.
const MAX_SIMPLE_KEY: usize = 128;

/// The maximum length of a key, in bytes, that YAML reads from JSON whatever comes before it on the
/// line. The limit of libyaml is 1,024 characters.
const MAX_READABLE_KEY: usize = 1_000;

/// A collection that is being written.
enum Open<'a> {
    Sequence { items: vec::IntoIter<Value<'a>>, indent: usize },
    Mapping { entries: vec::IntoIter<(&'a str, Value<'a>)>, indent: usize },
}

/// The collection around a node, with its indentation.
#[derive(Debug, Clone, Copy)]
enum Parent {
    Root,
    Sequence(usize),
    Mapping(usize),
}

/// Converts a JSON object into YAML, as `JSONToYAML` of `sigs.k8s.io/yaml` does. The keys of each
/// mapping are sorted as go-yaml sorts them.
///
/// ```
/// use unlade_yaml::{Limits, from_json};
///
/// let yaml = from_json(r#"{"b":["yes","no way"],"a":1e21}"#, &Limits::default())?;
/// assert_eq!(yaml, "a: 1e+21\nb:\n- \"yes\"\n- no way\n");
/// # Ok::<(), unlade_yaml::Error>(())
/// ```
///
/// # Errors
///
/// Returns an error if the text is not a JSON object, if the Go code, which reads the JSON as YAML,
/// returns an error, or if a limit is exceeded. [`Limits::output`] is the maximum size of the YAML.
pub fn from_json(text: &str, limits: &Limits) -> Result<String, Error> {
    let tree = super::read_json(text.as_bytes(), limits)?;
    if is_same_as_yaml(text, &tree) {
        return emit(tree.root(), limits);
    }
    let document = super::read(text.as_bytes(), Scalars::Resolved, limits)?;
    emit(document.tree.root(), limits)
}

/// Checks whether a YAML reader reads the same value from the JSON in `text`. It refuses or
/// converts some characters that Go does not escape in JSON, and refuses long keys.
fn is_same_as_yaml(text: &str, tree: &Tree) -> bool {
    let is_special = |c| matches!(c, '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    !text.contains(is_special) && tree.keys().all(|key| key.len() <= MAX_READABLE_KEY)
}

fn emit(root: Value<'_>, limits: &Limits) -> Result<String, Error> {
    let mut emitter = Emitter {
        out: String::new(),
        limit: limits.output,
        column: 0,
        whitespace: true,
        indention: true,
    };
    let mut open = Vec::new();
    emitter.node(root, Parent::Root, &mut open);
    while let Some(last) = open.last_mut() {
        match last {
            Open::Sequence { items, indent } => {
                let indent = *indent;
                if let Some(item) = items.next() {
                    emitter.indent(indent);
                    emitter.indicator("-", true, false, true);
                    emitter.node(item, Parent::Sequence(indent), &mut open);
                } else {
                    open.pop();
                }
            }
            Open::Mapping { entries, indent } => {
                let indent = *indent;
                if let Some((key, value)) = entries.next() {
                    emitter.indent(indent);
                    emitter.key(key, indent);
                    emitter.node(value, Parent::Mapping(indent), &mut open);
                } else {
                    open.pop();
                }
            }
        }
        if emitter.is_full() {
            return Err(output_too_large(limits.output));
        }
    }
    emitter.indent(0);
    if emitter.is_full() { Err(output_too_large(limits.output)) } else { Ok(emitter.out) }
}

struct Emitter {
    out: String,
    /// The maximum size of `out`, in bytes. When it is exceeded, nothing more is written.
    limit: usize,
    /// The number of characters on the line.
    column: usize,
    /// Whether the last character was a space.
    whitespace: bool,
    /// Whether the line has only indentation and indicators.
    indention: bool,
}

impl Emitter {
    fn node<'a>(&mut self, value: Value<'a>, parent: Parent, open: &mut Vec<Open<'a>>) {
        let below = match parent {
            Parent::Root => 0,
            Parent::Sequence(indent) | Parent::Mapping(indent) => indent + 2,
        };
        match value.kind() {
            Kind::Array => {
                let items: Vec<_> = value.items().collect();
                if items.is_empty() {
                    return self.empty("[", "]");
                }
                let indent = match parent {
                    // The items have the indentation of the key.
                    Parent::Mapping(indent) if !self.indention => indent,
                    _ => below,
                };
                open.push(Open::Sequence { items: items.into_iter(), indent });
            }
            Kind::Object => {
                let entries = order::sort(value.entries().collect());
                if entries.is_empty() {
                    return self.empty("{", "}");
                }
                open.push(Open::Mapping { entries: entries.into_iter(), indent: below });
            }
            Kind::String(text) => self.text(text, below.max(2), false),
            Kind::Null => self.plain("null", 0, false),
            Kind::Bool(value) => self.plain(if value { "true" } else { "false" }, 0, false),
            Kind::Int(value) => self.plain(&value.to_string(), 0, false),
            Kind::Uint(value) => self.plain(&value.to_string(), 0, false),
            Kind::Float(value) => self.plain(&format_float(value), 0, false),
        }
    }

    fn key(&mut self, key: &str, indent: usize) {
        if key.len() <= MAX_SIMPLE_KEY && !key.contains(scalar::is_break) {
            self.text(key, indent + 2, true);
            self.indicator(":", false, false, false);
        } else {
            self.indicator("?", true, false, true);
            self.text(key, indent + 2, false);
            self.indent(indent);
            self.indicator(":", true, false, true);
        }
    }

    fn empty(&mut self, begin: &str, end: &str) {
        self.indicator(begin, true, true, false);
        self.indicator(end, false, false, false);
    }

    /// Begins a line with this indentation, unless the line has only a smaller indentation so far.
    fn indent(&mut self, indent: usize) {
        if self.is_full() {
            return;
        }
        let is_used =
            !self.indention || self.column > indent || self.column == indent && !self.whitespace;
        if is_used {
            self.put_break('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(
        &mut self,
        indicator: &str,
        need_whitespace: bool,
        is_whitespace: bool,
        is_indention: bool,
    ) {
        if need_whitespace && !self.whitespace {
            self.put(' ');
        }
        indicator.chars().for_each(|c| self.put(c));
        self.whitespace = is_whitespace;
        self.indention &= is_indention;
    }

    fn put(&mut self, c: char) {
        if !self.is_full() {
            self.out.push(c);
        }
        self.column += 1;
    }

    fn put_break(&mut self, c: char) {
        if !self.is_full() {
            self.out.push(c);
        }
        self.column = 0;
    }

    fn is_full(&self) -> bool {
        self.out.len() > self.limit
    }
}

/// Formats a float as go-yaml does, which first reads the number in JSON as an integer if possible.
fn format_float(value: f64) -> String {
    let text = float_text(value);
    if value == 0.0 {
        "0".to_owned()
    } else if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
        text
    } else {
        general_text(value)
    }
}

#[cfg(test)]
mod tests;
