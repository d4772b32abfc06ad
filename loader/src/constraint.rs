//! [`Constraint`]: what a bundle asks of others, in a form to decide with.

use serde_json::{Map, Value};
use unlade_text::excerpt;

use crate::json::{field_of, fields_of, noun, text_of};

/// Largest value of an `olm.constraint` in bytes, as upstream has it (operator-framework/api
/// `pkg/constraints/constraint.go`).
pub const SIZE: usize = 2 << 16;

/// One thing that a bundle asks of others.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Constraint {
    /// What to tell people if it cannot be had; empty if the author says nothing.
    pub failure_message: String,
    /// What is asked.
    pub rule: Rule,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// A package in a range of versions.
    Package {
        /// Its name.
        name: String,
        /// The range as written; [`Range`](crate::version::Range) reads it.
        range: String,
    },
    /// An API.
    Gvk {
        /// Its group.
        group: String,
        /// Its version.
        version: String,
        /// Its kind.
        kind: String,
    },
    /// A bundle with this label.
    Label(String),
    /// A bundle for which this expression of the Common Expression Language is true.
    Cel(String),
    /// All of these.
    All(Vec<Constraint>),
    /// At least one of these.
    Any(Vec<Constraint>),
    /// None of these.
    Not(Vec<Constraint>),
}

/// Why a value is no constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is too large.
    #[error("a constraint of {0} bytes is larger than {SIZE}")]
    TooLarge(usize),
    /// It is no JSON object, is nested more than some forty times, or has a value of another type.
    #[error("{}", excerpt::cut(.0))]
    Malformed(String),
    /// It has a field that no constraint has.
    #[error("`{}` is no field of a constraint", excerpt::cut(.0))]
    UnknownField(String),
    /// It asks nothing.
    #[error("nothing is asked: none of gvk, package, all, any, not, cel")]
    Nothing,
}

/// Reads the value of an `olm.constraint`. Of several rules the first counts, in upstream's order
/// gvk, package, all, any, not, cel.
///
/// # Errors
///
/// If `value` is larger than [`SIZE`], or is not such a value. Upstream has no limit on nesting but
/// that of the size; here serde_json's limit of 128 ends it.
pub fn parse(value: &str) -> Result<Constraint, Error> {
    if value.len() > SIZE {
        return Err(Error::TooLarge(value.len()));
    }
    constraint(&fields_of(value).map_err(Error::Malformed)?)
}

/// Reads the value of an `olm.package` dependency or of an `olm.package.required`.
pub(crate) fn package(value: &str, range: &str) -> Result<Constraint, Error> {
    let fields = fields_of(value).map_err(Error::Malformed)?;
    Ok(Rule::Package { name: text(&fields, "packageName")?, range: text(&fields, range)? }.into())
}

/// Reads the value of an `olm.gvk`.
pub(crate) fn gvk(value: &str) -> Result<Constraint, Error> {
    let fields = fields_of(value).map_err(Error::Malformed)?;
    let text = |name| text(&fields, name);
    let (group, version, kind) = (text("group")?, text("version")?, text("kind")?);
    Ok(Rule::Gvk { group, version, kind }.into())
}

/// Reads the value of an `olm.label`.
pub(crate) fn label(value: &str) -> Result<Constraint, Error> {
    let fields = fields_of(value).map_err(Error::Malformed)?;
    Ok(Rule::Label(text(&fields, "label")?).into())
}

impl From<Rule> for Constraint {
    fn from(rule: Rule) -> Self {
        Self { failure_message: String::new(), rule }
    }
}

// Recursion ends at serde_json's limit on nesting.
fn constraint(fields: &Map<String, Value>) -> Result<Constraint, Error> {
    const FIELDS: [&str; 7] = ["failureMessage", "gvk", "package", "all", "any", "not", "cel"];
    only(fields, &FIELDS)?;
    let failure_message = text(fields, "failureMessage")?;
    // All are read before one is chosen, so that none is wrong unseen.
    let rules = [
        object(fields, "gvk", &["group", "kind", "version"])?.map(|gvk| {
            let (group, version) = (text(gvk, "group")?, text(gvk, "version")?);
            Ok(Rule::Gvk { group, version, kind: text(gvk, "kind")? })
        }),
        object(fields, "package", &["packageName", "versionRange"])?.map(|package| {
            let name = text(package, "packageName")?;
            Ok(Rule::Package { name, range: text(package, "versionRange")? })
        }),
        compound(fields, "all", Rule::All)?,
        compound(fields, "any", Rule::Any)?,
        compound(fields, "not", Rule::Not)?,
        object(fields, "cel", &["rule"])?.map(|cel| Ok(Rule::Cel(text(cel, "rule")?))),
    ];
    let rules = rules.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    let rule = rules.into_iter().next().ok_or(Error::Nothing)?;
    Ok(Constraint { failure_message, rule })
}

type Found = Option<Result<Rule, Error>>;

fn compound(
    fields: &Map<String, Value>,
    name: &str,
    rule: impl FnOnce(Vec<Constraint>) -> Rule,
) -> Result<Found, Error> {
    let Some(compound) = object(fields, name, &["constraints"])? else { return Ok(None) };
    let items = match field_of(compound, "constraints") {
        None => &[],
        Some(Value::Array(items)) => items.as_slice(),
        Some(other) => return Err(mismatch("constraints", other, "a list")),
    };
    let constraints = items.iter().map(|item| match item {
        Value::Object(fields) => constraint(fields),
        other => Err(mismatch("constraints", other, "a list of mappings")),
    });
    Ok(Some(constraints.collect::<Result<_, _>>().map(rule)))
}

fn object<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    known: &[&str],
) -> Result<Option<&'a Map<String, Value>>, Error> {
    match field_of(fields, name) {
        None => Ok(None),
        Some(Value::Object(inner)) => only(inner, known).map(|()| Some(inner)),
        Some(other) => Err(mismatch(name, other, "a mapping")),
    }
}

fn only(fields: &Map<String, Value>, known: &[&str]) -> Result<(), Error> {
    let is_known = |key: &&String| known.iter().any(|name| crate::typed::is_folded(key, name));
    match fields.keys().find(|key| !is_known(key)) {
        Some(key) => Err(Error::UnknownField(key.clone())),
        None => Ok(()),
    }
}

fn text(fields: &Map<String, Value>, name: &str) -> Result<String, Error> {
    text_of(fields, name).map_err(Error::Malformed)
}

fn mismatch(name: &str, found: &Value, expected: &str) -> Error {
    Error::Malformed(format!("`{name}` is {}, not {expected}", noun(found)))
}

#[cfg(test)]
mod tests;
