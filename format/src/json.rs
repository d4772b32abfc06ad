//! JSON values in one flat arena, and Go's way of writing them.
//!
//! Hostile documents nest 10,000 deep: nothing here recurses, neither building nor writing nor
//! dropping.

/// A JSON value.
#[derive(Debug, Clone)]
pub struct Tree {
    // Private: nodes in one vector.
}

/// A look at one value of a [`Tree`].
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    tree: &'a Tree,
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
    /// An integer above i64 (only in YAML's own tree, not in an object's).
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

impl Tree {
    /// The outermost value.
    pub fn root(&self) -> Value<'_> {
        Value { tree: self }
    }
}

impl<'a> Value<'a> {
    /// What kind of value it is.
    pub fn kind(&self) -> Kind<'a> {
        let _ = self.tree;
        Kind::Null
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&'a str> {
        None
    }

    /// The field `name` of an object (case-sensitive).
    pub fn get(&self, _name: &str) -> Option<Value<'a>> {
        None
    }

    /// The items of an array; none for other kinds.
    pub fn items(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        std::iter::empty()
    }

    /// The fields of an object in bytewise order; none for other kinds.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> + use<'a> {
        std::iter::empty()
    }

    /// Go's `json.Marshal` of it, without a final newline.
    pub fn to_json(&self) -> String {
        String::new()
    }
}
