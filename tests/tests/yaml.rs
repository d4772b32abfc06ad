//! YAML over the corpus: Go's recorded answers, all of them.

use serde::Deserialize;
use unlade_tests::corpus::{self, Sample};
use unlade_yaml::{Limits, Reader};

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
    check("yaml/cases.jsonl", 836, |case, reader| {
        let answer = reader.to_json(&case.input()).ok();
        match answer {
            // Keys of different types, but one text: Go takes one of them at random.
            Some(json) if !case.alternatives.is_empty() => case.alternatives.contains(&json),
            answer => answer == case.json,
        }
    });
}

#[test]
fn decode_answers_as_go_on_every_case() {
    check("yaml/decode.jsonl", 133, |case, reader| {
        let Ok(read) = reader.decode_unstructured(&case.input()) else {
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

/// Checks each of the `n_cases` in `file`, with the composer of the block style and without it.
fn check(file: &str, n_cases: usize, is_equal: impl Fn(&Case, &Reader) -> bool) {
    let cases: Vec<Case> = corpus::lines(file);
    assert_eq!(cases.len(), n_cases, "cases in {file}");
    let known = |case: &Case| DIFFERENT.iter().any(|(name, _)| *name == case.name);
    for reader in [Reader::new, Reader::with_library_only] {
        let is_wrong = |case: &&Case| is_equal(case, &reader(&Limits::default())) == known(case);
        let wrong = cases.iter().filter(is_wrong);
        let wrong: Vec<&str> = wrong.map(|case| case.name.as_str()).collect();
        assert!(
            wrong.is_empty(),
            "of {} cases differ, or are listed and do not: {wrong:?}",
            cases.len()
        );
    }
}

#[test]
fn every_file_of_a_crafted_bundle_means_the_same_to_the_library() {
    compare_with_library(&corpus::crafted());
}

#[test]
#[ignore = "needs the published bundles"]
fn every_file_of_a_published_bundle_means_the_same_to_the_library() {
    compare_with_library(&corpus::published());
}

/// Checks that the library alone reads every file of the bundles with the same result and the same
/// work.
fn compare_with_library(samples: &[Sample]) {
    for sample in samples {
        for file in sample.files() {
            let [ours, expected] = [Reader::new, Reader::with_library_only].map(|new| {
                let reader = new(&Limits::default());
                let read = reader.decode_unstructured(&file.bytes).map(|read| {
                    let json = read.object.map(|object| object.root().to_json());
                    (json, read.unread.map(|unread| unread.line))
                });
                (read.map_err(|error| error.to_string()), reader.work())
            });
            assert!(ours == expected, "{} {}", sample.name, file.name);
        }
    }
}
