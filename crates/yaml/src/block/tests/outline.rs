//! The outline of an object is a part of the whole object, and costs the same.

use proptest::prelude::*;

use super::{TOKENS, small_limits};
use crate::{
    Limits, Outline, Part, Reader,
    json::{Kind, Value},
};

const OUTLINE: Outline = Outline::new(
    &["Whole"],
    &[
        Part::with("metadata", &[Part::whole("name")]),
        Part::with("spec", &[Part::whole("a"), Part::with("list", &[Part::whole("b")])]),
    ],
);

/// Returns the JSON of what [`OUTLINE`] keeps of an object.
fn kept(root: Value<'_>, parts: &[Part], is_root: bool) -> String {
    let keeps = |name: &str| parts.iter().find(|part| part.name == name);
    match root.kind() {
        Kind::Array => {
            let items: Vec<_> = root.items().map(|item| kept(item, parts, false)).collect();
            format!("[{}]", items.join(","))
        }
        Kind::Object => {
            let fields = root.entries().filter_map(|(name, value)| {
                let json = match keeps(name) {
                    _ if is_root && matches!(name, "apiVersion" | "kind") => value.to_json(),
                    Some(part) if part.parts.is_empty() => value.to_json(),
                    Some(part) => kept(value, part.parts, false),
                    None => return None,
                };
                Some(format!("{name:?}:{json}"))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        _ => root.to_json(),
    }
}

/// Reads a text as a whole and in outline, each with its own reader, and checks that both have the
/// same result, unread content and work. Returns whether the outline omits anything.
fn is_partial(text: &str, limits: &Limits) -> bool {
    let [whole, outline] = [Reader::new(limits), Reader::new(limits)];
    let expected = whole.read_file(text.as_bytes());
    let found = outline.read_outlined_file(text.as_bytes(), &OUTLINE);
    assert_eq!(whole.work(), outline.work(), "{text:?}");
    let (expected, found) = match (expected, found) {
        (Ok(expected), Ok(found)) => (expected, found),
        (expected, found) => {
            let [expected, found] = [expected, found].map(|it| format!("{:?}", it.map(|_| ())));
            assert_eq!(expected, found, "{text:?}");
            return false;
        }
    };
    assert_eq!(format!("{:?}", expected.unread), format!("{:?}", found.unread), "{text:?}");
    assert_eq!(format!("{:?}", expected.error), format!("{:?}", found.error), "{text:?}");
    let [expected, found] = [expected, found].map(|file| file.document);
    let (Some(expected), Some(found)) = (&expected, &found) else {
        assert_eq!(expected.is_none(), found.is_none(), "{text:?}");
        return false;
    };
    let [expected, found] = [expected.root(), found.root()];
    if expected.to_json() == found.to_json() {
        return false;
    }
    let kind = expected.get("kind").and_then(|kind| kind.as_str()).unwrap_or_default();
    assert!(!kind.is_empty() && kind != "Whole", "{text:?}");
    // More than the parts may be kept, but not less, and nothing else.
    let [expected, found] = [expected, found].map(|root| kept(root, OUTLINE.parts, true));
    assert_eq!(expected, found, "{text:?}");
    true
}

#[test]
fn parts_are_kept_and_the_rest_is_omitted() {
    let limits = Limits::default();
    for text in [
        "kind: A\nmetadata:\n  name: b\n  labels:\n    c: d\n",
        "kind: A\nspec:\n  list:\n  - b: 1\n    c: 2\n  - c: 3\n  -\n  - text\n  a:\n    d: e\n",
        "spec:\n  x: y\nkind: A\n",
        "kind: A\nother: [1, two, 'three']\nmore: {a: 1, b: [}\n",
        "kind: A\nother:\n  - |\n    text\n  - 'it''s'\n  - \"\\n\"\n  - ~\n  - 1.5\n  -\n",
        "kind: A\nother: text\n---\nkind: B\n",
        "kind: A\nmetadata: {name: b, labels: c}\nother: []\n",
        "kind: A\nx: 1\nx: 2\n",
        "kind: Whole\nkind: A\nx: 1\nmetadata:\n  x: 1\n",
        "---\n# comment\nkind: A\ny: 1\n",
    ] {
        let expected = !matches!(text, _ if text.contains("[}") || text.contains("Whole"));
        let is_whole = text.contains("kind: Whole\nkind: A");
        assert_eq!(is_partial(text, &limits), expected && !is_whole, "{text:?}");
    }
}

#[test]
fn objects_that_must_be_whole_are_whole() {
    let limits = Limits::default();
    for text in [
        "kind: Whole\nspec:\n  x: y\n",
        "spec:\n  x: y\nkind: Whole\n",
        "spec:\n  x: y\nkind: 'Whole'\n",
        "kind:\n  Whole\nspec:\n  x: y\n",
        "kind: A\nspec:\n  x: y\nkind: Whole\n",
        "a: b\n",
        "kind:\na: b\n",
        "kind: 1\na: b\n",
        "kind: A\napiVersion: a/b/c\nx: y\n",
        "- a\n",
        "{\"kind\": \"A\", \"x\": \"y\"}",
        "kind: A\nx: &a y\nz: *a\n",
        "kind: A\nx: .inf\n",
        "kind: A\n~: y\n",
        "kind: A\nx: y\n  z: a\n",
        "",
        "# comment\n",
    ] {
        assert!(!is_partial(text, &limits), "{text:?}");
    }
}

#[test]
fn limits_are_those_of_the_whole_object() {
    let text = "kind: A\nx:\n- {b: c}\n- [1, 2]\n- d: 'e'\n  d: f\n  g: |\n    text\nh: i\n";
    let mut n_partial = 0;
    for limits in small_limits() {
        n_partial += usize::from(is_partial(text, &limits));
    }
    assert!(n_partial > 5_000, "{n_partial}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn random_objects_have_an_outline(
        tokens in prop::collection::vec(prop::sample::select(&TOKENS[..]), 1..24),
        at in 0_usize..5,
    ) {
        let tokens = tokens.concat();
        let texts = [
            format!("kind: A\nx: {tokens}\n"),
            format!("kind: A\nspec:\n  list:\n  - b: {tokens}\n    c: {tokens}\n"),
            format!("x: {tokens}\nkind: A\nmetadata:\n  name: {tokens}\n"),
            format!("spec:\n  x:\n  - {tokens}\nkind: Whole\n"),
            format!("kind: A\nx: y\n{tokens}"),
        ];
        is_partial(&texts[at], &Limits::default());
    }
}
