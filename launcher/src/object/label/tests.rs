use super::*;

fn one(key: &str, value: &str) -> BTreeMap<String, String> {
    [(key.to_owned(), value.to_owned())].into()
}

fn label(key: &str, value: &str) -> Result<(), Error> {
    check(&one(key, value), &BTreeMap::new())
}

fn annotation(key: &str, value: &str) -> Result<(), Error> {
    check(&BTreeMap::new(), &one(key, value))
}

#[test]
fn labels_are_those_that_kubernetes_accepts() {
    let long = "a".repeat(63);
    let longer = "a".repeat(64);
    let prefix = |length: usize| format!("{}/a", "p".repeat(length));
    for (key, value) in [
        ("a", ""),
        ("A_b-c.D", "x"),
        ("example.com/Team", "Blue_1.x-y"),
        (long.as_str(), long.as_str()),
        (&prefix(253), "1"),
        ("kubernetes.io/a", "b"),
    ] {
        assert_eq!(label(key, value), Ok(()), "{key}={value}");
        assert_eq!(check_node_selector(&one(key, value)), Ok(()), "{key}={value}");
    }
    for (key, value) in [
        ("", "a"),
        ("/a", "a"),
        ("a/", "a"),
        ("a/b/c", "a"),
        ("Example.com/a", "a"),
        ("a..b/c", "a"),
        ("-a", "a"),
        ("a.", "a"),
        ("a b", "a"),
        ("ä", "a"),
        (longer.as_str(), "a"),
        (&prefix(254), "a"),
        ("a", "-a"),
        ("a", "a_"),
        ("a", "a/b"),
        ("a", "a b"),
        ("a", "ä"),
        ("a", longer.as_str()),
    ] {
        let error = label(key, value).unwrap_err();
        assert!(matches!(&error, Error::Invalid { kind: "label", .. }), "{key}={value}: {error}");
        let error = check_node_selector(&one(key, value)).unwrap_err().to_string();
        assert!(error.starts_with("the node selector"), "{error}");
    }
}

#[test]
fn annotations_are_those_that_kubernetes_accepts() {
    for key in ["a", "Example.COM/Name", "cluster-autoscaler.kubernetes.io/safe-to-evict"] {
        assert_eq!(annotation(key, "any\nvalue ä"), Ok(()), "{key}");
    }
    for key in ["", "a b", "a/b/c", "-a", "ä"] {
        let error = annotation(key, "").unwrap_err();
        assert!(matches!(error, Error::Invalid { kind: "annotation", .. }), "{key}: {error}");
    }
    assert_eq!(annotation("a", &"x".repeat(annotation::SIZE - 1)), Ok(()));
    let error = annotation("a", &"x".repeat(annotation::SIZE)).unwrap_err();
    assert_eq!(error, Error::TooLarge { size: annotation::SIZE + 1 });
}

#[test]
fn reserved_labels_and_annotations_are_errors() {
    let ours = ours("etcd");
    let labels = ours.keys().map(String::as_str).chain(JOB_LABELS);
    for key in labels.chain([ISTIO.0, "unlade.dev/spec-hash", "unlade.dev/x"]) {
        let error = label(key, "true").unwrap_err();
        assert!(matches!(error, Error::Reserved { kind: "label", .. }), "{key}: {error}");
    }
    let marks = unlade_config_map::mark::ALL.into_iter().chain(annotation::UPSTREAM);
    let records = [unlade_config_map::record::IMAGE, unlade_config_map::record::SPEC_HASH];
    let others = [ISTIO.0, LINKERD.0, annotation::SOURCE_IMAGE, "Unlade.dev/format"];
    for key in marks.chain(records).chain(others) {
        let error = annotation(key, "x").unwrap_err();
        assert!(matches!(error, Error::Reserved { kind: "annotation", .. }), "{key}: {error}");
    }
}

#[test]
fn our_own_labels_are_valid_and_select_our_objects() {
    let name = "a".repeat(crate::name::MAX_LENGTH);
    let labels = ours(&name);
    assert_eq!(check_node_selector(&labels), Ok(()));
    assert!(is_ours(Some(&labels)));
    assert!(!is_ours(None) && !is_ours(Some(&one(MANAGED_BY, "helm"))));
    for selector in [SELECTOR.to_owned(), selector(&name)] {
        for part in selector.split(',') {
            let (key, value) = part.split_once('=').unwrap();
            assert_eq!(labels.get(key).map(String::as_str), Some(value), "{selector}");
        }
    }
}
