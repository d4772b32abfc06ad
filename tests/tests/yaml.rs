//! YAML over the corpus: Go's recorded answers, all of them.

use serde::Deserialize;
use unlade_tests::corpus;
use unlade_yaml::{Limits, decode_unstructured, to_json};

/// Cases that are known to differ, each with its reason. At most a dozen; a case that no longer
/// differs must leave the list.
const DIFFERENT: [(&str, &str); 6] = [
    ("deep-flow-seq-1000", TOO_DEEP),
    ("deep-flow-seq-9999", TOO_DEEP),
    ("deep-flow-seq-10000", TOO_DEEP),
    ("deep-flow-map-1000", TOO_DEEP),
    ("deep-flow-map-9999", TOO_DEEP),
    ("deep-flow-map-10000", TOO_DEEP),
];

const TOO_DEEP: &str = "flow collections nest at most 128 deep";

#[derive(Deserialize)]
struct Case {
    name: String,
    yaml: Option<String>,
    yaml_base64: Option<String>,
    json: Option<String>,
    #[serde(default)]
    alternatives: Vec<String>,
    #[serde(default)]
    null: bool,
    #[serde(rename = "objectName")]
    object_name: Option<String>,
    kind: Option<String>,
}

impl Case {
    #[expect(clippy::unwrap_used, reason = "a broken corpus must fail the test")]
    fn input(&self) -> Vec<u8> {
        match (&self.yaml, &self.yaml_base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, text) => {
                use base64::Engine as _;
                base64::engine::general_purpose::STANDARD.decode(text.as_ref().unwrap()).unwrap()
            }
        }
    }
}

#[test]
fn to_json_answers_as_go_on_every_case() {
    check("yaml/cases.jsonl", 836, |case| {
        let answer = to_json(&case.input(), &Limits::default()).ok();
        match answer {
            // Keys of different types, but one text: Go takes one of them at random.
            Some(json) if !case.alternatives.is_empty() => case.alternatives.contains(&json),
            answer => answer == case.json,
        }
    });
}

#[test]
fn decode_answers_as_go_on_every_case() {
    check("yaml/decode.jsonl", 133, |case| {
        let Ok(read) = decode_unstructured(&case.input(), &Limits::default()) else {
            return case.json.is_none() && !case.null;
        };
        let Some(object) = read.object else { return case.null };
        let root = object.root();
        let kind = root.get("kind").and_then(|kind| kind.as_str());
        let name = root.get("metadata").and_then(|metadata| metadata.get("name"));
        let name = name.and_then(|name| name.as_str()).unwrap_or("");
        let named = case.object_name.as_deref().unwrap_or("") == name;
        let json = Some(root.to_json() + "\n");
        json == case.json && kind == case.kind.as_deref() && named
    });
}

/// Checks each of the `n_cases` in `file`.
fn check(file: &str, n_cases: usize, is_equal: impl Fn(&Case) -> bool) {
    let cases: Vec<Case> = corpus::lines(file);
    assert_eq!(cases.len(), n_cases, "cases in {file}");
    let known = |case: &Case| DIFFERENT.iter().any(|(name, _)| *name == case.name);
    let wrong = cases.iter().filter(|case| is_equal(case) == known(case));
    let wrong: Vec<&str> = wrong.map(|case| case.name.as_str()).collect();
    assert!(
        wrong.is_empty(),
        "of {} cases differ, or are listed and do not: {wrong:?}",
        cases.len()
    );
}
