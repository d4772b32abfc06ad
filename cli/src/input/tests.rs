use super::*;

fn parse(text: &str) -> Result<Input, Error> {
    super::parse(text.as_bytes(), "input", &yaml::Reader::new(&yaml::Limits::default()))
}

fn names(input: &Input) -> Vec<&str> {
    input.config_maps.iter().map(|config_map| config_map.metadata.name.as_str()).collect()
}

fn config_map(name: &str) -> String {
    format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}}}}"#)
}

#[test]
fn one_config_map_is_one_in_yaml_and_json() {
    let yaml = "# c\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  k: |\n    v\n---\n";
    for text in [yaml, &config_map("a"), &format!("\u{feff}{}\n", config_map("a"))] {
        let input = parse(text).unwrap();
        assert_eq!(names(&input), ["a"], "{text}");
        assert!(!input.is_many, "{text}");
    }
    assert_eq!(parse(yaml).unwrap().config_maps[0].data["k"], "v\n");
}

#[test]
fn lists_and_streams_keep_their_order_and_are_many() {
    let (a, b, c) = (config_map("a"), config_map("b"), config_map("c"));
    let list = |items: &str| format!(r#"{{"kind":"List","apiVersion":"v1","items":[{items}]}}"#);
    for text in [
        list(&format!("{a},{b},{c}")),
        format!("{a}\n{b} {c}"),
        format!("{a}\n---\n{b}\n---\n{c}\n"),
        format!("---\n{}\n---\n{c}", list(&format!("{a},{b}"))),
        format!("kind: List\nitems:\n- {a}\n- {b}\n- {}\n", list(&c)),
    ] {
        let input = parse(&text).unwrap();
        assert_eq!(names(&input), ["a", "b", "c"], "{text}");
        assert!(input.is_many, "{text}");
    }
}

#[test]
fn a_list_of_one_counts_as_several() {
    let input = parse(&format!(r#"{{"kind":"List","items":[{}]}}"#, config_map("a"))).unwrap();
    assert!(input.is_many);
}

#[test]
fn items_of_a_typed_list_need_no_kind() {
    let text = r#"{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}"#;
    assert_eq!(names(&parse(text).unwrap()), ["a"]);
}

#[test]
fn other_objects_are_named() {
    let text =
        format!("{}\n---\nkind: Secret\nmetadata: {{name: s}}\n---\na: 1\n", config_map("a"));
    let input = parse(&text).unwrap();
    let others: Vec<_> = input.others.iter().map(ToString::to_string).collect();
    assert_eq!(others, ["Secret/s", "an object without a kind"]);
    let error = parse("kind: Secret\nmetadata: {name: s}\n").unwrap_err();
    assert_eq!(error.to_string(), "input contains no ConfigMap, only Secret/s");
    for text in ["", "---\n", "null\n", r#"{"kind":"List","items":[]}"#] {
        assert_eq!(parse(text).unwrap_err().to_string(), "input contains no ConfigMap", "{text}");
    }
}

#[test]
fn a_field_of_a_wrong_type_is_named() {
    let error = parse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {b: 4.10}\n");
    let error = error.unwrap_err();
    assert!(error.to_string().contains("ConfigMap/a"), "{error}");
    assert!(error.to_string().contains("data.b"), "{error}");
}

#[test]
fn a_document_that_is_nested_too_deeply_exceeds_a_limit() {
    let block: Vec<_> = (0..140).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
    let block = block.concat();
    let error = parse(&block).unwrap_err();
    assert_eq!(error.to_string(), "document 1 of input is nested more than 127 levels deep");
    let flow = format!("{}1{}", "{\"a\":".repeat(140), "}".repeat(140));
    let error = parse(&flow).unwrap_err();
    assert!(matches!(&error, Error::Yaml { source, .. } if source.is_limit()), "{error:?}");
}

#[test]
fn a_broken_document_is_named_by_its_number() {
    let broken = parse(&format!("{}\n---\na: [\n", config_map("a"))).unwrap_err();
    assert!(broken.to_string().contains("document 2 of input is not YAML"), "{broken}");
    let broken = parse(r#"{"kind": "ConfigMap", "#).unwrap_err();
    assert!(broken.to_string().contains("document 1 of input is not JSON"), "{broken}");
}

#[test]
fn the_values_of_all_documents_need_limited_memory() {
    let maps = "{a: },".repeat(50_000);
    let yaml = format!("apiVersion: v1\nkind: ConfigMap\nx: [{maps}]\n---\n");
    let json = format!(
        "{{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"x\": [{}1]}}\n---\n",
        "{\"a\":0},".repeat(50_000)
    );
    for text in [&yaml, &json] {
        let error = parse(&text.repeat(3)).unwrap_err();
        let limit = "need more than 100663296 bytes of memory (in document 3)";
        assert!(error.to_string().contains(limit), "{error}");
    }
    assert_eq!(parse(&yaml.repeat(2)).unwrap().config_maps.len(), 2);
    let other = yaml.replace("ConfigMap", "Secret");
    assert_eq!(parse(&(yaml + &other.repeat(3))).unwrap().config_maps.len(), 1);
}
