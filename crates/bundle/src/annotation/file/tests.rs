use super::*;
use crate::annotation::{CHANNELS, PACKAGE};

fn file(text: &str) -> Result<AnnotationsFile, Error> {
    read("metadata/annotations.yaml", text.as_bytes(), &Limits::default(), Illegal::Refused)
}

/// Returns the annotations that have a value.
fn values(text: &str) -> Vec<(String, String)> {
    let annotations = file(text).unwrap().annotations;
    assert!(UPSTREAM.iter().all(|&key| annotations.contains_key(key)), "the six are there");
    annotations.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

fn value(key: &str, text: &str) -> String {
    file(&format!("annotations:\n  {key}: {text}\n")).unwrap().annotations[key].clone()
}

#[test]
fn values_are_their_source_text() {
    for (text, expected) in [
        ("4.10", "4.10"),
        ("007", "007"),
        ("yes", "yes"),
        ("1_000", "1_000"),
        ("0x1F", "0x1F"),
        ("2020-01-01", "2020-01-01"),
        ("12345678901234567890", "12345678901234567890"),
        ("'4.10'", "4.10"),
        ("~", ""),
        ("null", ""),
        ("", ""),
        ("''", ""),
    ] {
        assert_eq!(value(CHANNELS, text), expected, "{text}");
        assert_eq!(value("other", text), expected, "{text}");
    }
}

#[test]
fn keys_are_matched_as_go_matches_them() {
    assert_eq!(
        values(
            "Annotations:
  Operators.operatorframework.io.bundle.Package.v1: cased
  operators.operatorframework.io.bundle.channels.v1: one
  operators.operatorframework.io.bundle.channels.v1: two
  Com.Redhat.OpenShift.Versions: v4.6
  com.redhat.openshift.versions: v4.7
"
        ),
        [
            ("Com.Redhat.OpenShift.Versions", "v4.6"),
            ("com.redhat.openshift.versions", "v4.7"),
            (CHANNELS, "two"),
            (PACKAGE, "cased"),
        ]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
    );
    // Null keeps the value of an earlier spelling, and U+212A is a k in Go.
    let package = |text: &str| file(text).unwrap().annotations[PACKAGE].clone();
    let upper = PACKAGE.replace("package", "Package");
    assert_eq!(package(&format!("annotations: {{{PACKAGE}: a, {upper}: b}}")), "a");
    assert_eq!(package(&format!("annotations: {{{PACKAGE}: ~, {upper}: b}}")), "b");
    assert_eq!(package(&format!("annotations: {{{}: b}}", PACKAGE.replace('k', "\u{212a}"))), "b");
    assert_eq!(package(&format!("annotations: {{}}\nAnnotations: {{{PACKAGE}: a}}")), "a");
}

#[test]
fn a_key_in_two_spellings_is_found() {
    let upper = PACKAGE.replace("package", "Package");
    let file = file(&format!("annotations: {{{PACKAGE}: a, {upper}: b}}")).unwrap();
    assert!(
        file.findings.clone().into_vec()[0].message.contains("uses the latter"),
        "{:?}",
        file.findings
    );
}

#[test]
fn missing_annotations_are_a_finding_and_not_an_error() {
    for text in ["", "# nothing\n", "~", "annotations:\n", "annotations: {}\n", "other: {}\n"] {
        assert_eq!(values(text), [], "{text:?}");
        let found = file(text).unwrap().findings;
        assert_eq!(found.count() == 0, text == "annotations: {}\n", "{text:?}: {found:?}");
    }
}

#[test]
fn annotations_that_are_not_a_mapping_are_an_error() {
    for text in ["text", "- a", "5", "annotations: text", "annotations: [a]", "annotations: 5"] {
        assert!(matches!(file(text), Err(Error::NotMapping { .. })), "{text}");
    }
    assert!(matches!(file("a: [").unwrap_err(), Error::Yaml { .. }));
}

#[test]
fn all_bad_entries_are_named() {
    let error = file("annotations: {list: [], map: {}, a b: x, good: x}").unwrap_err().to_string();
    for part in ["\"list\": the value is a list", "\"map\": the value is a m", "\"a b\": its name"]
    {
        assert!(error.contains(part), "{error}");
    }
    assert!(!error.contains("good"));
    let six = file(&format!("annotations: {{{PACKAGE}: {{}}}}")).unwrap_err();
    assert!(matches!(six, Error::Entries { problems, .. } if problems[0].key == PACKAGE));
}

#[test]
fn reserved_keys_are_reported_and_not_copied() {
    let file = file("annotations: {olm.sourceImage: evil, a.k8s.io/b: [], c: d}").unwrap();
    assert!(!file.annotations.contains_key("olm.sourceImage"));
    assert_eq!(file.annotations["c"], "d");
    let found = file.findings.into_vec();
    let found: Vec<_> = found.iter().map(|f| (f.reason, f.subject.as_str())).collect();
    assert_eq!(
        found,
        [
            (Reason::ReservedAnnotation, "a.k8s.io/b"),
            (Reason::ReservedAnnotation, "olm.sourceImage")
        ]
    );
}

#[test]
fn other_top_keys_are_reported() {
    let file = file("annotations: {}\nother: {a: b}\n").unwrap();
    assert!(file.findings.clone().into_vec()[0].message.contains("other"));
    assert!(!file.annotations.contains_key("a"));
}

#[test]
fn annotations_that_no_object_can_hold_are_refused() {
    let six: usize = UPSTREAM.iter().map(|key| key.len()).sum();
    let text = |length| format!("annotations: {{a: {}}}", "x".repeat(length));
    assert!(file(&text(SIZE - six - 1)).is_ok());
    assert!(matches!(
        file(&text(SIZE - six)).unwrap_err(),
        Error::TooLarge { size } if size == SIZE + 1
    ));
}

#[test]
fn content_after_the_first_document_is_reported() {
    let file = file("annotations: {a: b}\n---\nannotations: {c: d}\n").unwrap();
    assert!(file.annotations.contains_key("a") && !file.annotations.contains_key("c"));
    let [finding] = &file.findings.clone().into_vec()[..] else { panic!("{:?}", file.findings) };
    assert_eq!(finding.message, "a further document at line 3 is dropped");
}

#[test]
fn file_without_end_is_refused_before_it_is_parsed() {
    let text = "annotations: {}\n#".to_owned() + &"x".repeat(1 << 20);
    assert!(matches!(file(&text), Err(Error::Yaml { source: yaml::Error::TooLarge { .. }, .. })));
}

#[test]
fn illegal_entries_except_upstreams_six_are_dropped_on_request() {
    let read = |text: &str| {
        read("metadata/annotations.yaml", text.as_bytes(), &Limits::default(), Illegal::LeftOut)
    };
    let text = format!("annotations:\n  a/b/c: 1\n  list: [1]\n  map: {{a: 1}}\n  {PACKAGE}: p\n");
    let file = read(&text).unwrap();
    assert_eq!(file.annotations.len(), UPSTREAM.len());
    assert_eq!(file.annotations[PACKAGE], "p");
    let findings = file.findings.into_vec();
    let subjects: Vec<_> = findings.iter().map(|finding| finding.subject.as_str()).collect();
    assert_eq!(subjects, ["a/b/c", "list", "map"]);
    assert!(read(&format!("annotations:\n  {PACKAGE}: [p]\n")).is_err());
}

#[test]
fn attempts_to_read_the_file_are_bounded_together() {
    let text = |colons| {
        format!(
            "annotations:\n  a: b\nx:\n{}y: [{}z]\n",
            "- a\n".repeat(100_000),
            "a:,".repeat(colons)
        )
    };
    assert!(file(&text(1)).is_ok());
    let error = file(&text(16)).unwrap_err();
    assert!(error.is_limit(), "{error}");
}
