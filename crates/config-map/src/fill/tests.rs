use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use unlade_bundle::{
    Content, Finding, Limits, Reason,
    annotation::{CHANNELS, CONTENT_ENCODING, LEGACY_SOURCE_IMAGE, PACKAGE, SOURCE_IMAGE},
};

use crate::{
    Encoding, decode,
    encode::{Options, encode},
};

fn encoded(annotations: &[(&str, &str)], encoding: Encoding) -> ConfigMap {
    let annotations =
        annotations.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect();
    let content = Content::from_parts(annotations, Vec::new(), &Limits::default()).unwrap();
    encode(&content, &Options { encoding, ..Options::default() }).unwrap().remove(0)
}

fn existing(annotations: &[(&str, &str)]) -> ConfigMap {
    let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
    ConfigMap::from_json(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "name",
            "namespace": "namespace",
            "resourceVersion": "5",
            "labels": {"theirs": "1", "olm.managed": "false"},
            "ownerReferences": [{"name": "owner"}],
            "annotations": annotations,
        },
        "data": {"old": "1"},
        "binaryData": {"older": "AA=="},
    }))
    .unwrap()
}

#[test]
fn metadata_of_others_is_kept() {
    let filled = fill(
        existing(&[("theirs", "1"), ("kubectl.kubernetes.io/last-applied-configuration", "{}")]),
        &encoded(&[("ours", "2")], Encoding::Plain),
    )
    .unwrap();
    assert_eq!(filled.metadata.name, "name");
    assert_eq!(filled.metadata.rest["resourceVersion"], "5");
    assert_eq!(filled.metadata.rest["ownerReferences"], json!([{"name": "owner"}]));
    assert_eq!(filled.metadata.labels["theirs"], "1");
    assert_eq!(filled.metadata.labels["olm.managed"], "true");
    assert_eq!(filled.metadata.annotations["theirs"], "1");
    assert_eq!(filled.metadata.annotations["ours"], "2");
    assert!(
        filled
            .metadata
            .annotations
            .contains_key("kubectl.kubernetes.io/last-applied-configuration")
    );
    assert!(filled.data.is_empty() && filled.binary_data.is_empty(), "values are replaced");
}

#[test]
fn annotations_of_an_earlier_filling_are_removed() {
    let first = encoded(&[("a", "1"), ("b", "1"), (PACKAGE, "p")], Encoding::Gzip);
    let filled = fill(existing(&[("theirs", "1")]), &first).unwrap();
    let second = encoded(&[("b", "2")], Encoding::Plain);
    let refilled = fill(filled, &second).unwrap();
    let expected = fill(existing(&[("theirs", "1")]), &second).unwrap();
    assert_eq!(refilled, expected);
}

#[test]
fn annotations_that_upstream_wrote_are_removed() {
    let upstream = existing(&[
        (PACKAGE, "p"),
        (CHANNELS, "c"),
        (SOURCE_IMAGE, "i"),
        (LEGACY_SOURCE_IMAGE, "i"),
        (CONTENT_ENCODING, "gzip+base64"),
    ]);
    let encoded = encoded(&[(PACKAGE, "q")], Encoding::Plain);
    let filled = fill(upstream, &encoded).unwrap();
    assert_eq!(filled.metadata.annotations, encoded.metadata.annotations);
}

#[test]
fn a_record_cannot_remove_reserved_annotations() {
    let record = r#"["a", "olm.other", "x.kubernetes.io/a", "unlade.dev/other"]"#;
    let theirs = [("olm.other", "1"), ("x.kubernetes.io/a", "1"), ("unlade.dev/other", "1")];
    let mut annotations = vec![("a", "1"), (mark::ANNOTATIONS, record)];
    annotations.extend(theirs);
    let filled = fill(existing(&annotations), &encoded(&[], Encoding::Plain)).unwrap();
    assert!(!filled.metadata.annotations.contains_key("a"));
    for (key, _) in theirs {
        assert!(filled.metadata.annotations.contains_key(key), "{key}");
    }
    let garbage = existing(&[("a", "1"), (mark::ANNOTATIONS, "{[")]);
    let filled = fill(garbage, &encoded(&[], Encoding::Plain)).unwrap();
    assert_eq!(filled.metadata.annotations["a"], "1");
}

#[test]
fn an_annotation_of_someone_else_is_not_overwritten() {
    let encoded = encoded(&[("a", "1"), ("b", "1"), ("c", "1")], Encoding::Plain);
    let error = fill(existing(&[("a", "2"), ("b", "1"), ("c", "2")]), &encoded).unwrap_err();
    assert!(matches!(error, Error::Conflict { keys, .. } if keys == ["a", "c"]));
    assert!(fill(existing(&[("b", "1")]), &encoded).is_ok());
    let filled = fill_over(existing(&[("a", "2"), ("theirs", "3")]), &encoded).unwrap();
    let annotations = &filled.metadata.annotations;
    assert_eq!((annotations["a"].as_str(), annotations["theirs"].as_str()), ("1", "3"));
}

#[test]
fn immutable_is_an_error_with_a_hint() {
    let mut immutable = existing(&[]);
    immutable.rest.insert("immutable".to_owned(), true.into());
    let error = fill(immutable, &encoded(&[], Encoding::Plain)).unwrap_err();
    assert!(matches!(error, Error::Immutable { .. }) && error.hint().is_some());
}

#[test]
fn annotations_of_others_count_to_the_limit() {
    let large = "x".repeat(annotation::SIZE - 1000);
    let encoded = encoded(&[("a", &"y".repeat(1000))], Encoding::Plain);
    let error = fill(existing(&[("theirs", &large)]), &encoded).unwrap_err();
    assert!(matches!(error, Error::Annotations { .. }));
}

#[test]
fn findings_are_omitted_if_annotations_of_others_need_the_space() {
    let findings = (0..100).map(|at| Finding::new(Reason::NoCsv, "", format!("{at} is noticed")));
    let content = Content::from_parts(BTreeMap::new(), Vec::new(), &Limits::default()).unwrap();
    let options = Options { findings: findings.collect(), ..Options::default() };
    let encoded = encode(&content, &options).unwrap().remove(0);
    let size = encoded.metadata.annotations[mark::FINDINGS].len();
    for (others, is_kept) in [(annotation::SIZE / 2, true), (annotation::SIZE - size, false)] {
        let filled = fill(existing(&[("theirs", &"x".repeat(others))]), &encoded).unwrap();
        assert_eq!(filled.metadata.annotations.contains_key(mark::FINDINGS), is_kept);
        assert!(decode(&[filled], &Limits::default()).is_ok());
    }
}

#[test]
fn filling_twice_is_filling_once() {
    for encoding in [Encoding::Plain, Encoding::Gzip] {
        let encoded = encoded(&[("a", "1"), ("b", "1")], encoding);
        let once = fill(existing(&[("b", "1"), (PACKAGE, "p")]), &encoded).unwrap();
        assert_eq!(fill(once.clone(), &encoded).unwrap(), once);
        assert!(decode(&[once], &Limits::default()).is_ok());
    }
}

/// Generates annotations, some of them with keys of a bundle or of an earlier fill.
fn annotations() -> impl Strategy<Value = BTreeMap<String, String>> {
    let key = prop_oneof![
        "[a-d]",
        Just(PACKAGE.to_owned()),
        Just(SOURCE_IMAGE.to_owned()),
        Just("a.kubernetes.io/b".to_owned()),
    ];
    let record = prop::collection::vec("[a-d]|a.kubernetes.io/b", 0..4);
    let other = prop::collection::btree_map(key, "[12]?", 0..6);
    (other, prop::option::of(record)).prop_map(|(mut annotations, record)| {
        if let Some(record) = record {
            annotations.insert(mark::ANNOTATIONS.to_owned(), json!(record).to_string());
        }
        annotations
    })
}

proptest! {
    #[test]
    fn filling_is_idempotent_and_complete(
        theirs in annotations(),
        ours in prop::collection::btree_map("[a-d]", "[12]?", 0..4),
    ) {
        let content = Content::from_parts(ours, Vec::new(), &Limits::default()).unwrap();
        let encoded = encode(&content, &Options::default()).unwrap().remove(0);
        let mut existing = existing(&[]);
        existing.metadata.annotations = theirs.clone();
        if let Ok(once) = fill(existing, &encoded) {
            prop_assert_eq!(&fill(once.clone(), &encoded).unwrap(), &once);
            prop_assert_eq!(decode(std::slice::from_ref(&once), &Limits::default()).unwrap().content, content);
            let reserved = "a.kubernetes.io/b";
            prop_assert_eq!(once.metadata.annotations.get(reserved), theirs.get(reserved));
        }
    }
}

#[test]
fn clearing_the_content_keeps_what_others_wrote_alone() {
    let filled = fill(existing(&[("theirs", "1")]), &encoded(&[("ours", "2")], Encoding::Plain));
    let mut filled = filled.unwrap();
    filled.data.insert("csv.yaml".into(), "kind: A".into());
    let cleared = clear_content(filled).unwrap();
    let annotations: Vec<_> = cleared.metadata.annotations.keys().map(String::as_str).collect();
    assert_eq!(annotations, ["theirs"]);
    assert!(cleared.data.is_empty() && cleared.binary_data.is_empty());
}
