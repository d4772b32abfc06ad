use std::fs;

use serde_json::{Value, json};

use crate::{
    bundle::{Bundle, CSV},
    image,
    run::{piped, unlade},
};

const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{9b}31m\r\u{202e}";

fn filled() -> Value {
    let bundle = Bundle::new();
    let text = unlade(["unpack", bundle.argument(), "-o", "json"]).success();
    serde_json::from_str(&text).unwrap()
}

fn exits(input: impl Into<Vec<u8>>, code: i32) -> String {
    piped(["load"], input).failure(code)
}

/// `encoding/json` does the same, and the digest is that of the last value.
#[test]
fn of_two_equal_keys_the_last_is_read_and_verified() {
    let good = filled();
    let csv = "tea.clusterserviceversion.yaml";
    let evil = CSV.replace("tea-operator", "evil");
    let data = good["data"].to_string();
    let mut other = good["data"].clone();
    other[csv] = evil.clone().into();
    let text = |first: &str, second: &str| {
        let mut rest = good.clone();
        rest.as_object_mut().unwrap().remove("data");
        let rest = rest.to_string();
        format!("{{\"data\":{first},\"data\":{second},{}", rest.strip_prefix('{').unwrap())
    };
    let shown = piped(["load"], text(&other.to_string(), &data)).success();
    assert!(shown.contains("tea-operator.v1.2.3") && !shown.contains("evil"), "{shown}");
    let stderr = exits(text(&data, &other.to_string()), 3);
    assert!(stderr.contains("digest"), "{stderr}");
    // The same within the map.
    let member = |value: &str| format!("{}:{}", json!(csv), json!(value));
    let inner = data.trim_start_matches('{').trim_end_matches('}');
    let twice = |first: &str, last: &str| format!("{{{first},{inner},{last}}}");
    piped(["load"], text("{}", &twice(&member(&evil), &member(CSV)))).success();
    let stderr = exits(text("{}", &twice(&member(CSV), &member(&evil))), 3);
    assert!(stderr.contains("digest"), "{stderr}");
}

/// The parser library panics at the comma.
#[test]
fn a_panic_of_the_yaml_parser_is_reported_as_an_error_of_the_input() {
    let stderr = exits("kind: ConfigMap\ndata: [!a, b]\n", 3);
    assert!(stderr.starts_with("error: ") && !stderr.contains("panicked"), "{stderr}");
}

#[test]
fn deep_json_and_lists_in_lists_are_errors() {
    let config_map = filled().to_string();
    let list = r#"{"kind":"List","apiVersion":"v1","items":["#;
    let lists = |n: usize| format!("{}{config_map}{}", list.repeat(n), "]}".repeat(n));
    piped(["load"], lists(20)).success();
    for deep in [
        "[".repeat(100_000),
        "{\"a\":".repeat(100_000),
        format!("{{\"kind\":\"ConfigMap\",\"data\":{}", "[".repeat(100_000)),
        lists(2_000),
    ] {
        let finished = piped(["load"], deep);
        assert!(matches!(finished.code, Some(3 | 4)), "{finished:?}");
        assert!(finished.stderr.starts_with("error: "), "{finished:?}");
        assert!(finished.stderr.len() < 2_000, "{} bytes", finished.stderr.len());
    }
}

#[test]
fn text_from_a_config_map_is_escaped_on_a_terminal() {
    let changed = |pointer: &str, value: Value| {
        let mut config_map = filled();
        *config_map.pointer_mut(pointer).unwrap() = value;
        config_map
    };
    let annotated = |key: &str, value: &str| {
        let mut config_map = filled();
        config_map["metadata"]["annotations"][key] = value.into();
        config_map
    };
    let mut unmarked = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": format!("n{ESCAPES}"),
            "annotations": {"olm.contentEncoding": format!("zip{ESCAPES}")},
        },
        "data": {"a.yaml": "kind: A\n"},
        "binaryData": {format!("unread{ESCAPES}"): ""},
    });
    let mut inputs = vec![
        annotated("unlade.dev/format", ESCAPES),
        annotated("unlade.dev/files", ESCAPES),
        annotated("unlade.dev/digest", ESCAPES),
        annotated("unlade.dev/names", &json!({"teas.crd.yaml": ESCAPES}).to_string()),
        annotated("unlade.dev/names", &json!({ESCAPES: "x"}).to_string()),
        annotated("unlade.dev/annotations", &json!([ESCAPES]).to_string()),
        annotated("olm.contentEncoding", ESCAPES),
        annotated("olm.sourceImage", ESCAPES),
        changed("/metadata/name", ESCAPES.into()),
        changed("/data", json!({ESCAPES: "x"})),
        changed("/data", json!({"a": {ESCAPES: 1}})),
        changed("/kind", ESCAPES.into()),
        unmarked.clone(),
    ];
    unmarked["data"] = json!({format!("k{ESCAPES}"): "kind: A\n"});
    inputs.push(unmarked);
    for input in inputs {
        for output in ["summary", "json", "yaml"] {
            let finished = piped(["load", "-o", output], input.to_string());
            let shown = format!("{}{}", finished.stdout, finished.stderr);
            let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!shown.contains(raw), "{finished:?}");
            assert!(!shown.is_empty());
        }
    }
}

#[test]
fn an_unknown_encoding_and_keys_that_are_not_read_are_reported() {
    let config_map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "a", "annotations": {"olm.contentEncoding": "zip\u{1b}[2J"}},
        "data": {"csv.yaml": CSV},
        "binaryData": {"unread.yaml": ""},
    });
    let finished = piped(["load"], config_map.to_string());
    let shown = format!("{}{}", finished.stdout, finished.stderr);
    assert!(shown.contains("warning: ") && shown.contains("unread.yaml"), "{finished:?}");
    assert!(shown.contains(r"zip\u{1b}[2J"), "{finished:?}");
}

#[test]
fn text_from_the_index_of_an_image_is_escaped_on_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    image::layout(Bundle::new().path(), directory.path());
    let path = directory.path().join("index.json");
    let index: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let changed = |key: &str, value: Value| {
        let mut manifest = index["manifests"][0].clone();
        manifest[key] = value;
        manifest
    };
    let other = |digit: &str, key: &str, value: Value| {
        let mut manifest = changed(key, value);
        manifest["digest"] = format!("sha256:{}", digit.repeat(64)).into();
        manifest
    };
    let name = |name: &str| {
        let text = format!("{name}{ESCAPES}");
        other(name, "annotations", json!({"org.opencontainers.image.ref.name": text}))
    };
    // The name of a platform can contain only ASCII characters.
    let platform = |name: &str| {
        let architecture: String =
            name.chars().chain(ESCAPES.chars()).filter(char::is_ascii).collect();
        other(name, "platform", json!({"os": "linux", "architecture": architecture}))
    };
    for manifests in [
        vec![name("a"), name("b")],
        vec![platform("a"), platform("b")],
        vec![changed("mediaType", json!(ESCAPES))],
    ] {
        fs::write(&path, json!({"schemaVersion": 2, "manifests": manifests}).to_string()).unwrap();
        let stderr = unlade(["unpack", directory.path().to_str().unwrap()]).failure(3);
        assert!(stderr.contains("owned"), "{manifests:?}: {stderr:?}");
        let raw = |c: char| c == '\u{202e}' || c.is_control() && c != '\n';
        assert!(!stderr.contains(raw), "{manifests:?}: {stderr:?}");
    }
}

#[test]
fn arguments_that_lead_to_the_system_are_refused_and_quote_nothing_of_it() {
    let digest = "0".repeat(64);
    for source in [
        "oci:../../x",
        "oci:/etc:x@y",
        "oci:/proc/self",
        "oci-archive:/dev/zero",
        "oci-archive:/proc/self/mem",
        "docker-archive:/etc/passwd",
        "/dev/zero",
        "/etc/passwd",
        "oci:/tmp@sha256:../../../etc/passwd",
        &format!("oci:/tmp@sha256:{digest}/../../x"),
        "oci:/tmp:@99999999999999999999",
    ] {
        let finished = unlade(["unpack", source]);
        assert!(matches!(finished.code, Some(1..=4)), "{source}: {finished:?}");
        assert!(finished.stderr.starts_with("error: "), "{source}: {finished:?}");
        assert!(!format!("{finished:?}").contains("root:"), "{source}: {finished:?}");
    }
    for file in ["/etc/passwd", "/proc/self/environ", "/proc/self/mem", "/etc"] {
        let finished = unlade(["load", file]);
        assert!(matches!(finished.code, Some(1..=4)), "{file}: {finished:?}");
        let shown = format!("{finished:?}");
        assert!(!shown.contains("root:") && !shown.contains("TERM="), "{file}: {shown}");
    }
    let stderr = unlade(["load", "/dev/zero", "--max-input-size", "1Mi"]).failure(4);
    assert!(stderr.contains("hint: raise the limit with --max-input-size"), "{stderr}");
}

#[test]
fn invalid_names_of_kubernetes_objects_are_refused() {
    let bundle = Bundle::new();
    for name in ["../x", "a/b", "a?b", "a#b", "a%2fb", "a\r\nb", "A", "", "\u{1b}[2J", "a b"] {
        for option in ["--name", "--namespace"] {
            let stderr = unlade(["unpack", bundle.argument(), option, name]).failure(2);
            let raw = |c: char| c.is_control() && c != '\n';
            assert!(!stderr.contains(raw), "{name:?}: {stderr:?}");
        }
    }
}

/// A line of a list is always an image and never an option.
#[test]
fn a_list_of_images_cannot_contain_options() {
    let launch =
        ["launch", "-f", "-", "--dry-run", "-o=name", "-n=a", "--tool-image=r.example/t:1"];
    for line in ["--as=system:admin", "-o json", "--kubeconfig=/tmp/x", "--name=x", "-"] {
        let list = format!("r.example/a:1\n{line}\n");
        let finished = piped(launch, list);
        let stderr = finished.failure(2);
        let error = format!("error: standard input:2: {line:?} is not a valid image reference: ");
        assert!(stderr.starts_with(&error), "{stderr}");
    }
}
