//! Checks the values of properties that `opm` does not check.

use unlade_bundle::{
    constraint,
    property::{CONSTRAINT, GVK, GVK_REQUIRED, PACKAGE_REQUIRED},
};
use unlade_yaml::json::Value;

use super::bundle::range_problem;
use crate::{meta::text, rule::Rule};

/// Returns the rule that a value violates, and how. The types of the fields are right.
pub(super) fn find_problem(kind: &str, value: Value<'_>) -> Option<(Rule, String)> {
    match kind {
        PACKAGE_REQUIRED => {
            let problem = if text(value, "packageName").is_empty() {
                Some("it does not name a package".to_owned())
            } else {
                let range = range_problem(&text(value, "versionRange"));
                range.map(|error| format!("the versionRange is invalid: {error}"))
            };
            problem.map(|problem| (Rule::Requirement, problem))
        }
        GVK | GVK_REQUIRED => {
            let mut names = ["group", "version", "kind"].into_iter();
            let missing = names.find(|name| text(value, name).is_empty())?;
            Some((Rule::Api, format!("the API has no {missing}")))
        }
        CONSTRAINT => {
            let error = constraint::parse(&value.to_float_json()).err()?;
            Some((Rule::Constraint, unlade_text::chain(&error)))
        }
        _ => None,
    }
}
