//! The rules of deprecations.

use std::collections::{BTreeSet, HashSet};

use unlade_text::excerpt;

use crate::{
    BUNDLE, CHANNEL, PACKAGE,
    problem::{Place, Problem, Problems},
    record::Deprecations,
    rule::Rule,
};

/// Checks the deprecations of a package that exists. `names` are those of its channels and bundles,
/// or `None` if the catalog is incomplete.
pub(crate) fn check(
    deprecations: &Deprecations,
    names: Option<(&BTreeSet<&str>, &BTreeSet<&str>)>,
    problems: &mut Problems,
) {
    let Deprecations { package, entries, place } = deprecations;
    // A name can be megabytes long, and each entry can have a message.
    let shown_package = excerpt::shorten(package);
    let mut seen = HashSet::new();
    for (index, entry) in entries.iter().enumerate() {
        let place = place.item("entries", index);
        let mut add = |rule, place: Place, message: String| {
            let problem = Problem::new(rule, place, message).package(package);
            problems.push(match entry.schema.as_str() {
                CHANNEL => problem.channel(&entry.name),
                BUNDLE => problem.bundle(&entry.name),
                _ => problem,
            });
        };
        let reference = place.field("reference");
        let name = &entry.name;
        let shown = excerpt::shorten(name);
        let problem = match entry.schema.as_str() {
            "" => Some("the deprecation has no schema".to_owned()),
            PACKAGE if !name.is_empty() => Some(format!(
                "the deprecation of the package has the name {shown}, but must not have a name"
            )),
            CHANNEL if names.is_some_and(|(channels, _)| !channels.contains(name.as_str())) => {
                Some(format!(
                    "the deprecated channel {shown} does not exist in the package {shown_package}"
                ))
            }
            BUNDLE if names.is_some_and(|(_, bundles)| !bundles.contains(name.as_str())) => {
                Some(format!(
                    "the deprecated bundle {shown} does not exist in the package {shown_package}"
                ))
            }
            PACKAGE | CHANNEL | BUNDLE => None,
            other => {
                let schema = excerpt::shorten(other);
                Some(format!("a document with the schema {schema} cannot be deprecated"))
            }
        };
        let is_known = problem.is_none();
        if let Some(problem) = problem {
            add(Rule::DeprecationReference, reference, problem);
        } else if !seen.insert((&entry.schema, name)) {
            add(
                Rule::DeprecationReference,
                reference,
                "another deprecation has the same reference".to_owned(),
            );
        }
        if is_known && entry.message.is_empty() {
            add(Rule::DeprecationMessage, place, "the deprecation has no message".to_owned());
        }
    }
}
