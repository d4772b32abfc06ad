use super::*;

fn yaml(json: &str) -> String {
    from_json(json, &Limits::default()).unwrap()
}

/// The expected texts are the output of `yaml.JSONToYAML` of `sigs.k8s.io/yaml` 1.6.0.
#[test]
fn values_are_written_as_go_writes_them() {
    for (json, expected) in [
        ("{}", "{}\n"),
        (r#"{"a":[],"b":{},"c":null,"d":true}"#, "a: []\nb: {}\nc: null\nd: true\n"),
        (r#"{"a":[[1,[2]],{"x":1,"y":[3]}]}"#, "a:\n- - 1\n  - - 2\n- x: 1\n  \"y\":\n  - 3\n"),
        (
            r#"{"a":1e21,"b":1e-7,"c":0.000001,"d":-0,"e":1234567.5}"#,
            "a: 1e+21\nb: 1e-07\nc: 1e-06\nd: 0\ne: 1.2345675e+06\n",
        ),
        (
            r#"{"a":9223372036854776000,"b":18446744073709552000}"#,
            "a: 9223372036854776000\nb: 1.8446744073709552e+19\n",
        ),
        (
            r#"{"a":["y","1.0","0o7","2001-12-14","12:30","=","<<","NaN",""]}"#,
            "a:\n- \"y\"\n- \"1.0\"\n- \"0o7\"\n- \"2001-12-14\"\n- \"12:30\"\n- =\n- <<\n- NaN\n- \"\"\n",
        ),
        (
            r##"{"a":["# x","a: b","- a","-a","?a","a #b","@a"]}"##,
            "a:\n- '# x'\n- 'a: b'\n- '- a'\n- -a\n- ?a\n- 'a #b'\n- '@a'\n",
        ),
        (
            r#"{"a":["x\ny","x\n"," x\n","x\n\n","\n"," \n"],"b":"x \ny"}"#,
            "a:\n- |-\n  x\n  y\n- |\n  x\n- |2\n   x\n- |+\n  x\n\n- |2+\n\n- \" \\n\"\nb: \"x \\ny\"\n",
        ),
        (
            "{\"a\":\"\u{1f600}\",\"b\":\"\\t\",\"c\":\"\\u2028\",\"d\":\"it's: \"}",
            "a: \"\\U0001F600\"\nb: \"\\t\"\nc: '\u{2028}'\nd: 'it''s: '\n",
        ),
        (r#"{"a10":1,"a2":2,"B":3,"1":4}"#, "\"1\": 4\nB: 3\na2: 2\na10: 1\n"),
    ] {
        assert_eq!(yaml(json), expected, "{json}");
    }
}

#[test]
fn long_scalars_are_folded_after_80_columns() {
    let words = "word ".repeat(40).trim().to_owned();
    let text = yaml(&format!(r#"{{"a":"{words}","b":["{words}:"],"c":"\"{words}\t"}}"#));
    assert!(text.lines().all(|line| line.len() < 90), "{text}");
    let document = crate::read(text.as_bytes(), Scalars::Resolved, &Limits::default()).unwrap();
    assert_eq!(document.tree.root().get("a").unwrap().as_str(), Some(words.as_str()));
}

#[test]
fn a_long_key_has_a_question_mark() {
    let key = "k".repeat(129);
    assert_eq!(yaml(&format!(r#"{{"{key}":[1]}}"#)), format!("? {key}\n: - 1\n"));
}

/// The crafted catalog `json-escapes`: Go does not escape U+007F in JSON, and YAML refuses it.
#[test]
fn characters_that_yaml_refuses_are_errors() {
    let error = from_json("{\"a\":\"\u{7f}\"}", &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Encoding { .. } | Error::Syntax { .. }), "{error}");
}

#[test]
fn indentation_does_not_exceed_the_limit_of_the_output() {
    let (begin, end) = ("{\"a\":[".repeat(4_000), "]}".repeat(4_000));
    let json = format!("{begin}{}0{end}", "0,".repeat(100_000));
    let limits = Limits { output: 1 << 20, tree: 1 << 30, ..Limits::default() };
    assert!(from_json(&json, &limits).unwrap_err().is_limit());
}

proptest::proptest! {
    #[test]
    fn any_text_reads_back(text in ".{0,200}", key in ".{1,150}") {
        let json = serde_json::json!({key: [text], "other": {"a": text}}).to_string();
        if let Ok(yaml) = from_json(&json, &Limits::default()) {
            let read = crate::to_json(yaml.as_bytes(), &Limits::default()).unwrap();
            let read: serde_json::Value = serde_json::from_str(&read).unwrap();
            let tree = crate::read_json(json.as_bytes(), &Limits::default()).unwrap();
            if is_same_as_yaml(&json, &tree) {
                proptest::prop_assert_eq!(read, serde_json::from_str::<serde_json::Value>(&json).unwrap());
            }
        }
    }
}

#[test]
fn the_lines_of_one_text_do_not_exceed_the_limit_of_the_output() {
    let lines = "x\\n".repeat(1000);
    let json = format!("{{\"a\":{}\"{lines}\"{}}}", "[".repeat(500), "]".repeat(500));
    assert!(yaml(&json).len() > 500_000);
    let tree = crate::read_json(json.as_bytes(), &Limits::default()).unwrap();
    let mut emitter =
        Emitter { out: String::new(), limit: 10_000, column: 0, whitespace: true, indention: true };
    emitter.text(&"x\n".repeat(1000), 1000, false);
    assert!(emitter.out.len() <= 10_000 + 1000, "{}", emitter.out.len());
    let limits = Limits { output: 10_000, ..Limits::default() };
    assert!(emit(tree.root(), &limits).unwrap_err().is_limit());
}
