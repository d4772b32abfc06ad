use ::base64::Engine as _;
use serde_json::Value;

use super::*;

/// Go's answers: `YAMLToJSON` of sigs.k8s.io/yaml v1.6.0 over go.yaml.in/yaml/v2 v2.4.4.
const TO_JSON: &str = include_str!("tests/to_json.jsonl");
/// Go's answers: `NewYAMLOrJSONDecoder(…, 30)` of apimachinery v0.36.3 into `Unstructured`, and
/// its `MarshalJSON`.
const DECODE: &str = include_str!("tests/decode.jsonl");

fn json(text: &str) -> Result<String, Error> {
    to_json(text.as_bytes(), &Limits::default())
}

fn decode(text: &str) -> Result<Unstructured, Error> {
    decode_unstructured(text.as_bytes(), &Limits::default())
}

fn cases(table: &str) -> impl Iterator<Item = (Vec<u8>, Value)> {
    table.lines().map(|line| {
        let case: Value = serde_json::from_str(line).unwrap();
        let input = match &case["yaml_base64"] {
            Value::String(text) => {
                ::base64::engine::general_purpose::STANDARD.decode(text).unwrap()
            }
            _ => case["yaml"].as_str().unwrap().as_bytes().to_vec(),
        };
        (input, case)
    })
}

#[test]
fn to_json_answers_as_go() {
    let mut n_cases = 0;
    for (input, case) in cases(TO_JSON) {
        let answer = to_json(&input, &Limits::default());
        let text = String::from_utf8_lossy(&input);
        match (case["json"].as_str(), answer) {
            (Some(expected), Ok(json)) => assert_eq!(json, expected, "{text:?}"),
            (None, Err(_)) => {}
            (_, answer) => panic!("{text:?}: {answer:?}, Go: {case}"),
        }
        n_cases += 1;
    }
    assert!(n_cases > 200);
}

#[test]
fn decode_answers_as_go() {
    let mut n_cases = 0;
    for (input, case) in cases(DECODE) {
        let answer = decode_unstructured(&input, &Limits::default());
        let answer = answer.map(|read| read.object.map(|tree| tree.root().to_json() + "\n"));
        let text = String::from_utf8_lossy(&input);
        match (case["json"].as_str(), case["null"].as_bool(), answer) {
            (Some(expected), None, Ok(Some(json))) => assert_eq!(json, expected, "{text:?}"),
            (None, Some(true), Ok(None)) | (None, None, Err(_)) => {}
            (.., answer) => panic!("{text:?}: {answer:?}, Go: {case}"),
        }
        n_cases += 1;
    }
    assert!(n_cases > 50);
}

#[test]
fn annotations_keep_their_source_text() {
    let text = b"a: 4.10\nyes: 007\nb: ~\nc:\nd: !!int 0x10\ne: !!binary aGk=\nf: \"1\"\n\
        g: !!str 1.0\nh: &x no\ni: *x\nj: {<<: {k: 1.0}}\nl: >-\n  a\n  b\n";
    let tree = read(text, Scalars::Source, &Limits::default()).unwrap().tree;
    let expected = concat!(
        r#"{"a":"4.10","b":null,"c":null,"d":16,"e":"hi","f":"1","g":"1.0","h":"no","#,
        r#""i":"no","j":{"k":"1.0"},"l":"a b","yes":"007"}"#
    );
    assert_eq!(tree.root().to_json(), expected);
}

#[test]
fn a_block_scalar_at_the_end_of_input_gets_a_newline_only_from_the_decoder() {
    for (text, to_json, decoded) in [
        ("kind: A\na: |\n  x", r#"{"a":"x","kind":"A"}"#, r#"{"a":"x\n","kind":"A"}"#),
        ("kind: A\na: |+\n  x\n ", r#"{"a":"x\n","kind":"A"}"#, r#"{"a":"x\n\n","kind":"A"}"#),
        ("kind: A\na: >\n  x\n   ", r#"{"a":"x\n ","kind":"A"}"#, r#"{"a":"x\n \n","kind":"A"}"#),
        ("kind: A\na: |-\n  x", r#"{"a":"x","kind":"A"}"#, r#"{"a":"x","kind":"A"}"#),
        (
            "kind: A\na: |\n  x\u{2028}",
            "{\"a\":\"x\\u2028\",\"kind\":\"A\"}",
            "{\"a\":\"x\\u2028\",\"kind\":\"A\"}",
        ),
    ] {
        assert_eq!(json(text).unwrap(), to_json, "{text:?}");
        let object = decode(text).unwrap().object.unwrap();
        assert_eq!(object.root().to_json(), decoded, "{text:?}");
    }
}

/// `sigs.k8s.io/yaml` 1.6.0 (`YAMLToJSON`) returns the same JSON.
#[test]
fn json_string_with_a_yaml_line_break_has_another_value_as_yaml() {
    for (text, as_yaml) in [
        ("{\"a\": \"b \u{2029}c\"}", "{\"a\":\"b\\u2029c\"}"),
        ("{\"a\": \"b \u{85}c\"}", "{\"a\":\"b c\"}"),
    ] {
        assert_eq!(json(text).unwrap(), as_yaml, "{text:?}");
        let as_json = read_json(text.as_bytes(), &Limits::default()).unwrap().root().to_json();
        assert_ne!(as_json, as_yaml, "{text:?}");
    }
}

#[test]
fn a_merge_overwrites_what_stands_before_it() {
    let text = "a: &x {b: 1}\nc:\n  b: 9\n  <<: *x\nd:\n  !!merge <<: *x\n  b: 9\n";
    assert_eq!(json(text).unwrap(), r#"{"a":{"b":1},"c":{"b":1},"d":{"b":9}}"#);
}

#[test]
fn a_bad_key_or_value_counts_only_if_it_stays() {
    assert_eq!(json("a: {~: 1}\na: 2").unwrap(), r#"{"a":2}"#);
    assert_eq!(json("a: .inf\na: 2").unwrap(), r#"{"a":2}"#);
    assert!(matches!(json("b: 1\na: {~: 1}"), Err(Error::Syntax { line: 2, .. })));
    assert!(matches!(json("b: 1\na: [.nan]"), Err(Error::Syntax { line: 2, .. })));
}

#[test]
fn bytes_that_are_not_text_matter_only_if_they_are_reached() {
    let mut text = b"kind: A\n---\n".to_vec();
    text.resize(2000, b'#');
    text.extend_from_slice(b"\xff\n");
    assert_eq!(to_json(&text, &Limits::default()).unwrap(), r#"{"kind":"A"}"#);
    let error = to_json(b"kind: A\n---\n\xff\n", &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Encoding { line: 3, .. }), "{error}");
}

#[test]
fn errors_name_their_line() {
    for (text, expected) in [
        ("a: 1\nb: [", "line 3: "),
        ("a: 1\nb: *x", "line 2: unknown anchor 'x' referenced"),
        ("a: 1\nb: !!int x", "line 2: cannot decode \"x\" as a !!int"),
        ("a: 1\n\tb: 1", "line 2: "),
        ("a: 1\nb: \u{7}", "line 2: control characters are not allowed"),
    ] {
        let error = json(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn objects_need_a_kind() {
    for text in ["a: 1", "kind: 1", "kind: ''", "Kind: A", "kind: A\napiVersion: a/b/c", "{}"] {
        assert!(matches!(decode(text), Err(Error::NoKind)), "{text}");
    }
    assert!(matches!(decode("[]"), Err(Error::NotAnObject { found: "a sequence" })));
    assert!(matches!(decode(""), Err(Error::Empty)));
    assert!(decode("# c\n").unwrap().object.is_none());
}

#[test]
fn unread_content_is_reported_with_its_line() {
    for (text, expected) in [
        ("kind: A\n---\nkind: B\n", "a further document at line 3"),
        ("# c\n---\nkind: A\n", "a further document at line 3"),
        ("kind: A\n---\n# c\n---\nkind: B", "a further document at line 5"),
        ("kind: A\n...\nb: 1\n", "text after the end of the first document at line 3"),
        ("  kind: A\nb: 2\n", "text after the end of the first document at line 2"),
        ("{kind: A}\n: 1", "text after the end of the first document at line 2"),
        (
            "{\"kind\":\"A\"}\n{\"kind\":\"B\"}",
            "text after the end of the first document at line 2",
        ),
        ("{\"kind\":\"A\"} x", "text after the end of the first document at line 1"),
    ] {
        let unread = decode(text).unwrap().unread.map(|unread| unread.to_string());
        assert_eq!(unread.as_deref(), Some(expected), "{text:?}");
    }
}

#[test]
fn blanks_comments_and_markers_at_the_end_are_not_a_loss() {
    for text in [
        "kind: A",
        "kind: A\n---",
        "kind: A\n---\n",
        "kind: A\n...\n",
        "kind: A\n...\n---\n# c\n\n",
        "---\nkind: A\n--- # c\n",
        "{\"kind\":\"A\"}\n",
        "kind: A\n\n# c\n \n",
        "kind: A\r\n---\r\n",
    ] {
        assert_eq!(decode(text).unwrap().unread, None, "{text:?}");
    }
}

mod hostile;
