//! [`Constraint`]: a parsed requirement of a bundle on other bundles.

use std::iter;

use serde_json::{Map, Value};
use unlade_text::excerpt;
use unlade_yaml::json::is_folded;

use crate::{
    json::{Malformed, field, parse_fields, text_field},
    property::{Gvk, PackageRequired},
};

/// The maximum size of an `olm.constraint` value, in bytes, as in upstream (operator-framework/api
/// `pkg/constraints/constraint.go`).
pub const MAX_SIZE: usize = 2 << 16;

/// A requirement of a bundle on other bundles.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Constraint {
    /// The message for people if the constraint cannot be satisfied. Empty if the author set none.
    pub failure_message: String,
    /// The condition.
    pub rule: Rule,
}

/// The condition of a constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rule {
    /// A package in a range of versions.
    Package(PackageRequired),
    /// An API.
    Gvk(Gvk),
    /// A bundle with this label.
    Label(String),
    /// A bundle for which this expression of the Common Expression Language is true.
    Cel(String),
    /// All of these constraints hold.
    All(Vec<Constraint>),
    /// At least one of these constraints holds.
    Any(Vec<Constraint>),
    /// None of these constraints holds.
    Not(Vec<Constraint>),
}

/// An error that prevents a value from being parsed as a constraint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value is too large.
    #[error("the constraint is {0} bytes long, but the limit is {MAX_SIZE}")]
    TooLarge(usize),
    /// The value is not a JSON object, is nested too deeply (about 40 levels), or contains a value
    /// of the wrong type.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The value has an unknown field.
    #[error("{:?} is not a field of a constraint", excerpt::shorten(.0))]
    UnknownField(String),
    /// The value contains no rule.
    #[error("the constraint has none of the fields gvk, package, all, any, not and cel")]
    Nothing,
}

/// Parses the value of an `olm.constraint`. If it has several rules, the first one counts, in
/// upstream's order: gvk, package, all, any, not, cel.
///
/// # Errors
///
/// Returns an error if `value` is larger than [`MAX_SIZE`], or is not a valid constraint. Upstream
/// limits nesting only by the size. Here, serde_json's limit of 128 levels applies.
pub fn parse(value: &str) -> Result<Constraint, Error> {
    if value.len() > MAX_SIZE {
        return Err(Error::TooLarge(value.len()));
    }
    constraint(&parse_fields(value)?)
}

impl Constraint {
    /// Returns all packages that the constraint names, at any depth. The order is not specified.
    pub fn packages(&self) -> impl Iterator<Item = &PackageRequired> {
        let mut open = vec![self];
        iter::from_fn(move || {
            while let Some(Self { rule, .. }) = open.pop() {
                match rule {
                    Rule::Package(package) => return Some(package),
                    Rule::All(inner) | Rule::Any(inner) | Rule::Not(inner) => open.extend(inner),
                    Rule::Gvk(_) | Rule::Label(_) | Rule::Cel(_) => {}
                }
            }
            None
        })
    }
}

impl From<Rule> for Constraint {
    fn from(rule: Rule) -> Self {
        Self { failure_message: String::new(), rule }
    }
}

// The nesting limit of serde_json bounds the recursion.
fn constraint(fields: &Map<String, Value>) -> Result<Constraint, Error> {
    const FIELDS: [&str; 7] = ["failureMessage", "gvk", "package", "all", "any", "not", "cel"];
    check_known(fields, &FIELDS)?;
    let failure_message = text_field(fields, "failureMessage")?;
    // All rules are parsed before one is chosen, so that an error in another one is not missed.
    let rules = [
        object(fields, "gvk", &["group", "kind", "version"])?
            .map(|gvk| Ok(Rule::Gvk(Gvk::from_fields(gvk)?))),
        object(fields, "package", &["packageName", "versionRange"])?.map(|package| {
            Ok(Rule::Package(PackageRequired::from_fields(package, "versionRange")?))
        }),
        compound(fields, "all", Rule::All)?,
        compound(fields, "any", Rule::Any)?,
        compound(fields, "not", Rule::Not)?,
        object(fields, "cel", &["rule"])?.map(|cel| Ok(Rule::Cel(text_field(cel, "rule")?))),
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
    let items = match field(compound, "constraints") {
        None => &[],
        Some(Value::Array(items)) => items.as_slice(),
        Some(other) => return Err(Malformed::field("constraints", other, "a list").into()),
    };
    let constraints = items.iter().map(|item| match item {
        Value::Object(fields) => constraint(fields),
        other => Err(Malformed::field("constraints", other, "a list of mappings").into()),
    });
    Ok(Some(constraints.collect::<Result<_, _>>().map(rule)))
}

fn object<'a>(
    fields: &'a Map<String, Value>,
    name: &str,
    known: &[&str],
) -> Result<Option<&'a Map<String, Value>>, Error> {
    match field(fields, name) {
        None => Ok(None),
        Some(Value::Object(inner)) => check_known(inner, known).map(|()| Some(inner)),
        Some(other) => Err(Malformed::field(name, other, "a mapping").into()),
    }
}

fn check_known(fields: &Map<String, Value>, known: &[&str]) -> Result<(), Error> {
    let is_known = |key: &&String| known.iter().any(|name| is_folded(key, name));
    match fields.keys().find(|key| !is_known(key)) {
        Some(key) => Err(Error::UnknownField(key.clone())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
