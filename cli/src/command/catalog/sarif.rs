//! Writes problems as SARIF 2.1.0 (OASIS, Static Analysis Results Interchange Format).

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use unlade_catalog::{Problem, Rule, Severity};

/// A log with one run.
#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
struct Run<'a> {
    tool: Value,
    results: Results<'a>,
}

/// Problems, of which only one at a time is a value in memory.
struct Results<'a> {
    problems: &'a [Problem],
    /// The directory that the paths of the problems are relative to.
    base: &'a Path,
}

/// Formats one run with all rules and all problems. The paths begin with that of the catalog if it
/// is on disk, because code review systems resolve them from the root of the repository.
pub(super) fn format<'a>(problems: &'a [Problem], catalog: &'a Path) -> impl Serialize + use<'a> {
    let base = match catalog {
        directory if directory.is_dir() => directory,
        file if file.is_file() => file.parent().unwrap_or(Path::new("")),
        _ => Path::new(""),
    };
    let rule = |rule: Rule| {
        json!({
            "id": rule.name(),
            "shortDescription": {"text": format!("{}.", rule.summary())},
            "help": {"text": format!("{}.", rule.remedy())},
            "defaultConfiguration": {"level": level(rule.severity())},
        })
    };
    let tool = json!({"driver": {
        "name": "unlade",
        "version": env!("CARGO_PKG_VERSION"),
        "informationUri": env!("CARGO_PKG_REPOSITORY"),
        "rules": Rule::all().map(rule).collect::<Vec<_>>(),
    }});
    Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run { tool, results: Results { problems, base } }],
    }
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.problems.iter().map(|problem| {
            let place = &problem.place;
            let uri = to_uri(&self.base.join(&*place.file));
            let mut location = json!({"artifactLocation": {"uri": uri}});
            if let (1.., Some(fields)) = (place.line, location.as_object_mut()) {
                fields.insert("region".to_owned(), json!({"startLine": place.line}));
            }
            json!({
                "ruleId": problem.rule.name(),
                "level": level(problem.severity),
                "message": {"text": problem.message},
                "locations": [{"physicalLocation": location}],
            })
        }))
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// Returns a relative path as a relative URI, and an absolute one as a URI with the scheme `file`.
fn to_uri(path: &Path) -> String {
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    let mut uri = if path.is_absolute() { "file://".to_owned() } else { String::new() };
    for byte in path.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(byte) {
            uri.push(char::from(*byte));
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
        for (path, uri) in [
            ("a/b c:é.yaml", "a/b%20c%3A%C3%A9.yaml"),
            ("./a.yaml", "a.yaml"),
            ("../a.yaml", "../a.yaml"),
            ("/a/b.yaml", "file:///a/b.yaml"),
        ] {
            assert_eq!(to_uri(path.as_ref()), uri);
        }
    }
}
