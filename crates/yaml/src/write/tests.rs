use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Limits, to_json};

fn reread(value: &Value) -> Value {
    let text = write(value);
    let json = to_json(text.as_bytes(), &Limits::default())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    serde_json::from_str(&json).unwrap()
}

fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "a", "yes", "0", "1.5", "-", ":", "#", " ", "\t", "\n", "\r", "\\", "\"", "'", "é",
        "\u{85}", "\u{2028}", "\u{feff}", "\u{1b}", "\u{7f}", "\u{9b}", "😀", "---", "{", "[", "|",
        ">", "%", "@", "`", "!", "&", "*", "?", ",", "=", "<<", "~", "0x1F", "e", ".", "_",
        "\u{a0}", "\u{fffd}", "\u{202e}", "/", "null",
    ]);
    prop_oneof![
        prop::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(text(), inner, 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(value in value()) {
        prop_assert_eq!(reread(&value), value);
    }

    #[test]
    fn text_is_read_again(text in text()) {
        let value = json!({"a": {"b": [text.clone(), [text.clone()], {"c": text}]}});
        prop_assert_eq!(reread(&value), value);
    }

    #[test]
    fn no_control_character_is_written_raw(value in value()) {
        let written = write(&value);
        prop_assert!(!written.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    }
}

#[test]
fn a_config_map_is_written_readably() {
    let value = json!({
        "apiVersion": "v1",
        "data": {"a.yaml": "x: 1\ny:\n- 2\n", "b": "  indented\n", "c": "one\ntwo", "d": "end\n\n\n"},
        "list": [{"a": 1, "b": [true, null]}, [[]], {}, "4.12.0"],
        "version": "4.10",
    });
    let expected = "\
apiVersion: v1
data:
  a.yaml: |
    x: 1
    y:
    - 2
  b: |2
      indented
  c: |-
    one
    two
  d: |+
    end


list:
- a: 1
  b:
  - true
  - null
- - []
- {}
- 4.12.0
version: \"4.10\"
";
    assert_eq!(write(&value), expected);
}

#[test]
fn strings_that_a_reader_may_read_as_another_type_are_quoted() {
    for text in [
        "",
        "y",
        "Yes",
        "off",
        "NULL",
        "~",
        "1",
        "1e3",
        "0x1F",
        "0o7",
        "1:30",
        "1_000",
        "1e400",
        "2001-12-14",
        ".inf",
        "<<",
        "=",
        "- a",
        "a: b",
        "a #b",
        "a:",
        " a",
        "a ",
        "@a",
        "---",
        "5d",
    ] {
        let written = write(&json!([text]));
        assert!(written.starts_with("- \"") || written.starts_with("- '"), "{written}");
    }
    for text in [
        "a",
        "10Gi",
        "1.2.3",
        "example.com/a/b:v1@sha256:0",
        "a b",
        "/etc",
        "=a".trim_start_matches('='),
    ] {
        assert_eq!(write(&json!([text])), format!("- {text}\n"));
    }
}

#[test]
fn deep_values_do_not_fill_the_file_with_indentation() {
    let mut value = json!(1);
    for _ in 0..1000 {
        value = json!({ "a": value });
    }
    let written = write(&value);
    assert!(written.len() < 30_000, "{}", written.len());
}

#[test]
fn long_keys_are_read_again() {
    let long = "k".repeat(3000);
    let value = json!({long.clone(): {long.clone(): [1, {long: "x"}]}});
    assert_eq!(reread(&value), value);
}

#[test]
fn pieces_are_the_whole() {
    let item = serde_json::json!({"text": "a\nb\n".repeat(1_000), "list": [[], {"k": "v"}]});
    let value = serde_json::Value::Array(vec![item; 40]);
    let mut text = Vec::new();
    write_to(&value, &mut text).unwrap();
    assert!(text.len() > 2 * super::PIECE);
    assert_eq!(String::from_utf8(text).unwrap(), write(&value));
}
