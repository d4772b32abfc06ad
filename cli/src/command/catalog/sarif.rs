//! Writes problems as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format).

use std::fmt::Write as _;

use serde_json::{Value, json};
use unlade_catalog::{Problem, Rule, Severity};

/// Formats one run with all rules and all problems.
pub(super) fn format(problems: &[Problem]) -> Value {
    let rule = |rule: Rule| {
        json!({
            "id": rule.name(),
            "shortDescription": {"text": format!("{}.", rule.summary())},
            "help": {"text": format!("{}.", rule.remedy())},
            "defaultConfiguration": {"level": level(rule.severity())},
        })
    };
    let result = |problem: &Problem| {
        let place = &problem.place;
        let mut location = json!({"artifactLocation": {"uri": to_uri(&place.file)}});
        if let (1.., Some(fields)) = (place.line, location.as_object_mut()) {
            fields.insert("region".to_owned(), json!({"startLine": place.line}));
        }
        json!({
            "ruleId": problem.rule.name(),
            "level": level(problem.severity),
            "message": {"text": problem.message},
            "locations": [{"physicalLocation": location}],
        })
    };
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "unlade",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": Rule::all().map(rule).collect::<Vec<_>>(),
            }},
            "results": problems.iter().map(result).collect::<Vec<_>>(),
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Returns a relative path as a URI.
fn to_uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_escaped_in_a_uri() {
        assert_eq!(to_uri("a/b c:é.yaml"), "a/b%20c%3A%C3%A9.yaml");
    }
}
