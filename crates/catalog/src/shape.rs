//! The types into which upstream decodes metas and properties.
//!
//! Go's `encoding/json` matches the names of fields in any letter case, ignores unknown fields, and
//! takes null as an absent value. So only the types of known fields can be wrong.

use std::fmt::Write as _;

use unlade_bundle::typed;
use unlade_yaml::{
    Step, base64,
    json::{Kind, Value, is_folded},
};

mod table;
mod write;

pub(crate) use table::{
    BASIC, BUNDLE, ICONS, METADATA, PROPERTY, RELATED_IMAGE, RELATED_IMAGES, SEMVER, SUBSTITUTES,
    meta, property,
};
pub(crate) use write::{bytes, write, write_field, write_fields, write_list, write_value};

/// A type in Go.
#[derive(Debug)]
pub(crate) enum Shape {
    /// A string.
    Text,
    /// A boolean.
    Bool,
    /// An integer in this range.
    Int(i64, i64),
    /// Bytes, as base64 in a string.
    Bytes,
    /// Any JSON value.
    Any,
    /// A list.
    List(&'static Shape),
    /// A mapping from text to this type.
    Map(&'static Shape),
    /// A struct with these fields.
    Struct(&'static [Field]),
}

/// A field of a struct in Go.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// Whether an empty value is left out. A struct is empty only if it is absent.
    pub(crate) is_optional: bool,
}

/// What a comparison with a shape found.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// The values that do not fit, and why. Upstream refuses them.
    pub(crate) misfits: Vec<(Vec<Step>, String)>,
    /// The fields that upstream ignores.
    pub(crate) unknown: Vec<(Vec<Step>, String)>,
}

impl Shape {
    /// Returns the fields of a struct. Empty for other shapes.
    pub(crate) fn fields(&self) -> &'static [Field] {
        match self {
            Self::Struct(fields) => fields,
            _ => &[],
        }
    }

    /// Returns the shape of the items of a list. [`Shape::Any`] for other shapes.
    pub(crate) fn item(&self) -> &'static Shape {
        match self {
            Self::List(item) => item,
            _ => &Self::Any,
        }
    }
}

/// The maximum number of misfits and of unknown fields in one value.
const MAX_FOUND: usize = 100;

/// The maximum size of an unknown field that is compared with the known ones, in bytes. All of them
/// are shorter.
const MAX_COMPARED: usize = 64;

/// Compares `value`, which is at `path`, with `shape`.
pub(crate) fn compare(value: Value<'_>, shape: &Shape, path: &[Step]) -> Comparison {
    let mut comparison = Comparison::default();
    comparison.visit(value, shape, &mut path.to_vec());
    comparison
}

impl Comparison {
    /// Compares a value with a shape. The recursion follows the tables, which have few levels, and
    /// not the value.
    fn visit(&mut self, value: Value<'_>, shape: &Shape, path: &mut Vec<Step>) {
        if self.misfits.len() >= MAX_FOUND {
            return;
        }
        let problem = match (shape, value.kind()) {
            (_, Kind::Null)
            | (Shape::Any, _)
            | (Shape::Text, Kind::String(_))
            | (Shape::Bool, Kind::Bool(_)) => None,
            (Shape::Int(min, max), Kind::Int(_) | Kind::Uint(_) | Kind::Float(_)) => {
                let is_int =
                    value.to_float_json().parse().is_ok_and(|it| (*min..=*max).contains(&it));
                (!is_int).then(|| format!("is not an integer from {min} to {max}"))
            }
            (Shape::Bytes, Kind::String(text)) => {
                base64::decode(text).is_err().then(|| "is not base64".to_owned())
            }
            // Go decodes a list of numbers into bytes, too.
            (Shape::Bytes, Kind::Array) => {
                self.items(value, &Shape::Int(0, 255), path);
                None
            }
            (Shape::List(item), Kind::Array) => {
                self.items(value, item, path);
                None
            }
            (Shape::Map(shape), Kind::Object) => {
                for (key, value) in value.entries() {
                    self.child(value, shape, path, Step::Field(key.to_owned()));
                }
                None
            }
            (Shape::Struct(fields), Kind::Object) => {
                for (key, value) in value.entries() {
                    let step = Step::Field(key.to_owned());
                    match fields.iter().find(|field| is_folded(key, field.name)) {
                        Some(field) => self.child(value, &field.shape, path, step),
                        None if self.unknown.len() < MAX_FOUND => {
                            path.push(step);
                            self.unknown.push((path.clone(), describe_unknown(key, fields)));
                            path.pop();
                        }
                        None => {}
                    }
                }
                None
            }
            (_, found) => Some(format!("is {}, not {}", typed::noun(found), shape.noun())),
        };
        if let Some(problem) = problem {
            self.misfits.push((path.clone(), problem));
        }
    }

    fn items(&mut self, value: Value<'_>, shape: &Shape, path: &mut Vec<Step>) {
        for (index, item) in value.items().enumerate() {
            self.child(item, shape, path, Step::Item(index));
        }
    }

    fn child(&mut self, value: Value<'_>, shape: &Shape, path: &mut Vec<Step>, step: Step) {
        path.push(step);
        self.visit(value, shape, path);
        path.pop();
    }
}

impl Shape {
    fn noun(&self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Bool => "a boolean",
            Self::Int(..) => "a number",
            Self::Bytes => "text in base64",
            Self::Any => "a value",
            Self::List(_) => "a list",
            Self::Map(_) | Self::Struct(_) => "a mapping",
        }
    }
}

/// Describes a field that upstream ignores, with the field that it may be meant to be.
fn describe_unknown(key: &str, fields: &[Field]) -> String {
    if key.len() > MAX_COMPARED {
        return "is unknown".to_owned();
    }
    let close = fields.iter().map(|field| field.name).find(|name| {
        let letters = |text: &str| {
            let mut letters: Vec<_> =
                text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
            letters.sort_unstable();
            letters
        };
        let (key, name) = (letters(key), letters(name));
        let n_common = key.iter().filter(|letter| name.contains(letter)).count();
        key.len().abs_diff(name.len()) <= 1 && n_common + 1 >= key.len().max(name.len())
    });
    match close {
        Some(name) => format!("is unknown; did you mean {name}?"),
        None => "is unknown".to_owned(),
    }
}

/// Formats a path, such as `entries[2].skips`.
pub(crate) fn format_path(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        // Writing to a string cannot fail.
        _ = match step {
            Step::Item(index) => write!(text, "[{index}]"),
            Step::Field(name) if text.is_empty() => text.write_str(name),
            Step::Field(name) => write!(text, ".{name}"),
        };
    }
    text
}
