//! [`Meta`]: one object of a catalog.

use unlade_bundle::typed;
use unlade_yaml::{
    Limits,
    json::{Kind, Tree, Value, is_folded},
};

use crate::{
    Names,
    shape::{self, Shape},
};

/// The field with the entries of a channel or of deprecations.
const ENTRIES: &str = "entries";

/// One object of a catalog, of any schema (operator-registry `declcfg.go`, type `Meta`).
#[derive(Debug, Clone)]
pub struct Meta {
    /// The schema. Not empty.
    pub schema: String,
    /// The package. Empty if the meta has none.
    pub package: String,
    /// The name. Empty if the meta has none.
    pub name: String,
    tree: Tree,
}

/// The reason why a value is not a meta.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetaError {
    /// The document is empty: it contains only comments, blank lines or null.
    #[error("the document is empty")]
    Empty,
    /// The text is not a JSON object.
    #[error("the document is not a JSON object: {problem}")]
    NotJson {
        /// The reason.
        problem: String,
    },
    /// The value is not a mapping.
    #[error("the document is not a mapping")]
    NotAMapping,
    /// Two keys are equal except for the case of their letters.
    #[error("the keys {first} and {second} differ only in the case of their letters")]
    DuplicateKey {
        /// The first key.
        first: String,
        /// The second key.
        second: String,
    },
    /// A key that identifies the meta does not have text as its value.
    #[error("{key} is not text")]
    NotText {
        /// The key.
        key: String,
    },
    /// The schema is missing or empty.
    #[error("the schema is missing")]
    NoSchema,
}

impl Meta {
    /// Converts a document into a meta.
    ///
    /// # Errors
    ///
    /// Returns an error if upstream refuses the document.
    pub fn from_tree(tree: Tree) -> Result<Self, MetaError> {
        let root = tree.root();
        match root.kind() {
            Kind::Object => {}
            Kind::Null => return Err(MetaError::Empty),
            _ => return Err(MetaError::NotAMapping),
        }
        if let Some((first, second)) = find_duplicate(root) {
            let (first, second) = (first.to_owned(), second.to_owned());
            return Err(MetaError::DuplicateKey { first, second });
        }
        let text = |name: &str| match root.entries().find(|(key, _)| is_folded(key, name)) {
            None => Ok(String::new()),
            Some((_, value)) => match value.as_str() {
                Some(text) => Ok(text.to_owned()),
                None => Err(MetaError::NotText { key: name.to_owned() }),
            },
        };
        let (schema, package, name) = (text("schema")?, text("package")?, text("name")?);
        if schema.is_empty() {
            return Err(MetaError::NoSchema);
        }
        Ok(Self { schema, package, name, tree })
    }

    /// Converts JSON into a meta, such as an edited [`to_json`](Self::to_json).
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a JSON object, or if upstream refuses the meta.
    pub fn from_json(json: &str, limits: &Limits) -> Result<Self, MetaError> {
        let tree = unlade_yaml::read_json(json.as_bytes(), limits)
            .map_err(|error| MetaError::NotJson { problem: error.to_string() })?;
        Self::from_tree(tree)
    }

    /// Returns the memory for the value of the meta, in bytes.
    pub fn memory(&self) -> usize {
        self.tree.memory()
    }

    /// Returns the value of the meta.
    pub fn value(&self) -> Value<'_> {
        self.tree.root()
    }

    /// Returns the JSON of the meta, as upstream keeps it for schemas that it does not know:
    /// compact, with sorted keys, and with every number as a float. There is no final line break.
    pub fn blob(&self) -> String {
        self.tree.root().to_float_json()
    }

    /// Returns the compact JSON of the meta, as upstream writes it. A meta of one of the four
    /// schemas has the known fields in the order of upstream's types, and other metas are [as they
    /// are](Self::blob). There is no final line break.
    pub fn to_json(&self) -> String {
        let Some(shape) = shape::meta(&self.schema) else { return self.blob() };
        let mut json = String::new();
        shape::write(Some(self.value()), shape, &mut json);
        json
    }

    /// Returns the JSON of a meta of the four schemas as [`to_json`](Self::to_json) does, but with
    /// `value`, which is JSON, as the value of the field `name`.
    pub(crate) fn to_json_with(&self, name: &str, value: &str) -> String {
        self.write_fields(name, |_, out| out.push_str(value))
    }

    /// Returns the JSON of a channel or of deprecations as [`to_json`](Self::to_json) does, but
    /// only with the entries for which `is_kept` returns true.
    pub(crate) fn to_json_with_entries(&self, is_kept: impl Fn(Value<'_>) -> bool) -> String {
        let entries = typed::field(self.value(), ENTRIES);
        let Some(entries) = entries.filter(|entries| entries.kind() == Kind::Array) else {
            return self.to_json();
        };
        self.write_fields(ENTRIES, |shape, out| {
            let kept = entries.items().filter(|entry| is_kept(*entry));
            shape::write_list(kept, shape.item(), out);
        })
    }

    /// Returns the JSON of the known fields. `write` appends the value of the field `name`.
    fn write_fields(&self, name: &str, write: impl Fn(&Shape, &mut String)) -> String {
        let fields = shape::meta(&self.schema).map(Shape::fields).unwrap_or_default();
        let mut json = String::new();
        shape::write_fields(fields, &mut json, |field, out| {
            if field.name != name {
                return shape::write_field(Some(self.value()), field, out);
            }
            write(&field.shape, out);
            true
        });
        json
    }
}

/// Returns the first key that equals an earlier key after [folding](fold). The earlier key is the
/// first of the pair.
fn find_duplicate(root: Value<'_>) -> Option<(&str, &str)> {
    let keys: Vec<_> = root.entries().map(|(key, _)| key).collect();
    let folded: Names = keys.iter().map(|key| fold(key)).collect();
    let mut sorted: Vec<_> = (0..keys.len()).collect();
    sorted.sort_unstable_by_key(|&index| (folded.get(index), index));
    let pairs = sorted.windows(2).filter_map(|pair| <[usize; 2]>::try_from(pair).ok());
    let equal = pairs.filter(|[one, other]| folded.get(*one) == folded.get(*other));
    let [first, second] = equal.min_by_key(|[_, second]| *second)?;
    Some((keys.get(first)?, keys.get(second)?))
}

/// Folds a key, so that the same keys are equal as after `cases.Fold` of golang.org/x/text. The
/// folded text itself can differ, for example for Cherokee letters.
fn fold(key: &str) -> String {
    if key.is_ascii() {
        return key.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(key.len());
    for character in key.chars() {
        match character {
            // Only these two letters fold differently from the lower case of their upper case.
            '\u{131}' => folded.push(character),
            '\u{1e9e}' => folded.push_str("ss"),
            _ => folded.extend(character.to_uppercase().flat_map(char::to_lowercase)),
        }
    }
    folded
}

/// Returns the text of the field `name`, in any letter case. Empty if it is absent or not text.
pub(crate) fn text(value: Value<'_>, name: &str) -> String {
    typed::field(value, name).and_then(|value| value.as_str()).unwrap_or_default().to_owned()
}

/// Returns the type and the value of each property of a bundle. Null is a value, because upstream
/// keeps the JSON of the value (`json.RawMessage`).
pub(crate) fn properties(bundle: Value<'_>) -> impl Iterator<Item = (String, Option<Value<'_>>)> {
    items(bundle, "properties").map(|it| (text(it, "type"), typed::last_field(it, "value")))
}

/// Returns the items of the field `name`, in any letter case.
pub(crate) fn items<'a>(value: Value<'a>, name: &str) -> impl Iterator<Item = Value<'a>> + use<'a> {
    typed::field(value, name).into_iter().flat_map(|value| value.items())
}

#[cfg(test)]
mod tests {
    use unlade_yaml::{Scalars, read};

    use super::*;

    fn meta(text: &str) -> Result<Meta, MetaError> {
        Meta::from_tree(read(text.as_bytes(), Scalars::Resolved, &Limits::default()).unwrap().tree)
    }

    #[test]
    fn keys_that_identify_a_meta_have_any_letter_case() {
        let meta = meta("Schema: my.schema\nNAME: a\npac\u{212a}age: p\n").unwrap();
        assert_eq!((&*meta.schema, &*meta.name, &*meta.package), ("my.schema", "a", "p"));
    }

    /// The crafted catalogs `folded-duplicate`, `schema-null` and others.
    #[test]
    fn documents_that_upstream_refuses_are_not_metas() {
        for (text, error) in [
            ("# only a comment", MetaError::Empty),
            ("- a", MetaError::NotAMapping),
            ("name: a", MetaError::NoSchema),
            ("schema: ''", MetaError::NoSchema),
            ("schema: null", MetaError::NotText { key: "schema".into() }),
            ("schema: a\nname: yes", MetaError::NotText { key: "name".into() }),
            (
                "schema: a\nÉ: 1\né: 2",
                MetaError::DuplicateKey { first: "É".into(), second: "é".into() },
            ),
            (
                "schema: a\nß: 1\nẞ: 2",
                MetaError::DuplicateKey { first: "ß".into(), second: "ẞ".into() },
            ),
        ] {
            assert_eq!(meta(text).unwrap_err(), error, "{text}");
        }
    }

    #[test]
    fn a_dotless_i_is_another_letter_than_i() {
        assert!(meta("schema: a\ni: 1\nı: 2\n").is_ok());
    }

    #[test]
    fn an_unknown_schema_keeps_its_fields_as_upstream_does() {
        let meta = meta("schema: x\nb: [1.0, 9007199254740993, <]\na: {y: 1e400}\n").unwrap();
        let json = r#"{"a":{"true":"1e400"},"b":[1,9007199254740992,"<"],"schema":"x"}"#;
        assert_eq!(meta.blob(), json);
    }
}
