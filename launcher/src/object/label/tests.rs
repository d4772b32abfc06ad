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
fn what_kubernetes_refuses_is_an_error_that_names_the_key() {
    let (good, none) = (one("example.com/Team", "Blue_1.x-y"), BTreeMap::new());
    assert_eq!(check(&good, &none), Ok(()));
    assert_eq!(check_node_selector(&good), Ok(()));
    for (key, value) in [("a b", "a"), ("Example.com/a", "a"), ("a", "-a")] {
        let error = label(key, value).unwrap_err().to_string();
        assert!(error.starts_with(&format!("the label {key:?} is invalid: its ")), "{error}");
        let error = check_node_selector(&one(key, value)).unwrap_err().to_string();
        assert!(error.starts_with("the node selector"), "{error}");
    }
    assert_eq!(annotation("Example.COM/Name", "any\nvalue ä"), Ok(()));
    let error = annotation("a b", "").unwrap_err().to_string();
    assert!(error.starts_with("the annotation \"a b\" is invalid: its name "), "{error}");
}

#[test]
fn annotations_that_are_too_large_are_an_error() {
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
    let records = [
        unlade_config_map::protocol::record::IMAGE,
        unlade_config_map::protocol::record::SPEC_HASH,
    ];
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
