//! ConfigMaps that a malicious user with write access to the namespace created.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking, helpers too")]

use std::collections::BTreeMap;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};
use unlade_bundle::{Content, Directory, File, Limits};
use unlade_config_map::{ConfigMap, Decoded, Encoding, decode, encode, encode::Options, mark};

/// Returns a filled ConfigMap with one manifest.
fn filled() -> ConfigMap {
    let file = File {
        directory: Directory::Manifests,
        name: "a.yaml".to_owned(),
        bytes: b"kind: A\n".to_vec(),
    };
    let content = Content::assemble(vec![file], &Limits::default()).unwrap().content;
    encode(&content, &Options::default().with_encoding(Encoding::Plain)).unwrap().remove(0)
}

/// Decodes a ConfigMap with these fields, `kind` and `metadata`, and with the encoding of OLM.
fn read(fields: &Value) -> Result<Decoded, String> {
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "annotations": {"olm.contentEncoding": "gzip+base64"}},
    });
    object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let config_map = ConfigMap::parse_json(object.to_string().as_bytes()).map_err(text)?;
    decode(&[config_map], &Limits::default()).map_err(text)
}

/// Formats an error with its causes.
fn text(error: impl std::error::Error) -> String {
    unlade_text::chain(&error)
}

/// Returns the field `binaryData` with this key and base64 text.
fn value(value: &str) -> Result<Vec<u8>, String> {
    let decoded = read(&json!({"binaryData": {"a.yaml": value}}))?;
    let [file] = decoded.content.files() else { panic!("{decoded:?}") };
    Ok(file.bytes.clone())
}

/// Returns a gzip stream whose header has a file name and a comment of this length.
fn member(text: &[u8], comment: usize) -> Vec<u8> {
    let builder = GzBuilder::new().filename(vec![b'n'; comment]).comment(vec![b'c'; comment]);
    let mut encoder = builder.write(Vec::new(), Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Encodes `stream` as a value of `binaryData`, which is base64 of base64.
fn twice(stream: &[u8]) -> String {
    STANDARD.encode(STANDARD.encode(stream))
}

#[test]
fn marks_that_do_not_fit_the_content_are_errors() {
    assert!(decode(&[filled()], &Limits::default()).is_ok());
    let digest = "0".repeat(64);
    for (mark, value) in [
        (mark::FORMAT, "2"),
        (mark::FORMAT, ""),
        (mark::FORMAT, "1\u{1b}[2J"),
        (mark::FILES, "99"),
        (mark::FILES, "-1"),
        (mark::FILES, "99999999999999999999999"),
        (mark::FILES, "1\u{1b}[2J"),
        (mark::DIGEST, ""),
        (mark::DIGEST, &format!("sha256:{digest}")),
        (mark::DIGEST, &digest),
        (mark::DIGEST, "sha256:\u{1b}[2J"),
        (mark::NAMES, r#"{"a.yaml": "../../x"}"#),
        (mark::NAMES, r#"{"a.yaml": "a/yaml"}"#),
        (mark::NAMES, r#"{"unknown.yaml": "unknown.yaml"}"#),
        (mark::NAMES, &"[".repeat(200_000)),
        (mark::METADATA, &"[".repeat(200_000)),
        (mark::ANNOTATIONS, &"[".repeat(200_000)),
        (mark::ANNOTATIONS, r#"["olm.sourceImage"]"#),
        (mark::ANNOTATIONS, r#"["unlade.dev/digest"]"#),
        (mark::ANNOTATIONS, r#"["kubectl.kubernetes.io/x"]"#),
    ] {
        let mut config_map = filled();
        config_map.metadata.annotations.insert(mark.to_owned(), value.to_owned());
        let shown: String = value.chars().take(60).collect();
        assert!(decode(&[config_map], &Limits::default()).is_err(), "{mark}: {shown}");
    }
    for mark in [mark::FORMAT, mark::FILES, mark::DIGEST, mark::ANNOTATIONS] {
        let mut config_map = filled();
        config_map.metadata.annotations.remove(mark);
        assert!(decode(&[config_map], &Limits::default()).is_err(), "without {mark}");
    }
}

#[test]
fn a_key_in_both_fields_is_an_error() {
    let mut config_map = filled();
    config_map.binary_data.insert("a.yaml".to_owned(), unlade_config_map::object::Bytes(vec![]));
    // A user who adds a key can also correct the number of files.
    config_map.metadata.annotations.insert(mark::FILES.to_owned(), "2".to_owned());
    let error = text(decode(&[config_map], &Limits::default()).unwrap_err());
    assert!(error.contains("a.yaml"), "{error}");
}

#[test]
fn keys_that_no_api_server_accepts_are_errors() {
    for key in ["..", ".", "", "a/b", "../a", "a\0", "a\u{1b}[2J", &"a".repeat(254)] {
        let error = read(&json!({"binaryData": {key: twice(&member(b"x", 0))}})).unwrap_err();
        assert!(error.contains("key"), "{key:?}: {error}");
        let mut config_map = filled();
        config_map.data.insert(key.to_owned(), String::new());
        config_map.metadata.annotations.insert(mark::FILES.to_owned(), "2".to_owned());
        assert!(decode(&[config_map], &Limits::default()).is_err(), "{key:?}");
    }
}

#[test]
fn invalid_base64_is_an_error_and_line_ends_are_ignored() {
    let good = twice(&member(b"kind: A\n", 0));
    assert_eq!(value(&good).unwrap(), b"kind: A\n");
    let (head, tail) = good.split_at(8);
    assert_eq!(value(&format!("{head}\r\n{tail}\n")).unwrap(), b"kind: A\n");
    for bad in ["", "!!!", " ", "=", "====", &format!("{head} {tail}"), &format!("{good}!")] {
        assert!(value(bad).is_err(), "{bad:?}");
    }
    // The same applies to the inner text, which is the base64 of the gzip stream.
    for bad in ["!!!", " ", "="] {
        assert!(value(&STANDARD.encode(bad)).is_err(), "{bad:?}");
    }
}

#[test]
fn members_of_gzip_are_one_text_and_nothing_may_follow_them() {
    let empty = member(b"", 0);
    let mut stream = empty.repeat(30_000);
    stream.extend(member(b"kind: A\n", 0));
    assert_eq!(value(&twice(&stream)).unwrap(), b"kind: A\n");
    for garbage in [&b"\0"[..], b"garbage", b"\x1f\x8b", &empty[..10]] {
        let stream = [&stream[..], garbage].concat();
        assert!(value(&twice(&stream)).is_err(), "{garbage:?}");
    }
    let mut lying = member(b"kind: A\n", 0);
    *lying.iter_mut().rev().nth(3).unwrap() ^= 1;
    assert!(value(&twice(&lying)).is_err(), "another length than it says");
}

#[test]
fn long_fields_in_a_header_of_gzip_are_an_error() {
    assert_eq!(value(&twice(&member(b"kind: A\n", 1_000))).unwrap(), b"kind: A\n");
    for length in [70_000, 700_000] {
        let error = value(&twice(&member(b"kind: A\n", length))).unwrap_err();
        assert!(error.len() < 1_000, "{} bytes", error.len());
    }
    // A file name without an end.
    let mut stream = member(b"kind: A\n", 10);
    stream.retain(|&byte| byte != 0);
    stream.resize(100_000, b'n');
    assert!(value(&twice(&stream)).is_err());
}

#[test]
fn bombs_of_gzip_stop_at_the_limits() {
    let limit = Limits::default().file_size;
    let bomb = |size: usize| member(&vec![b'a'; size], 0);
    assert!(value(&twice(&bomb(limit))).is_ok());
    assert!(value(&twice(&bomb(limit + 1))).is_err());
    let large = twice(&bomb(limit - 1));
    let values: BTreeMap<_, _> = (0..10).map(|n| (format!("{n}.yaml"), large.clone())).collect();
    assert!(10 * (limit - 1) > Limits::default().total_size);
    assert!(read(&json!({"binaryData": values})).is_err());
}

#[test]
fn more_keys_than_files_are_allowed_are_an_error() {
    let most = Limits::default().files;
    let values = |n: usize| -> BTreeMap<_, _> {
        let value = twice(&member(b"", 0));
        (0..n).map(|n| (format!("{n}.yaml"), value.clone())).collect()
    };
    assert!(read(&json!({"binaryData": values(most)})).is_ok());
    assert!(read(&json!({"binaryData": values(most + 1)})).is_err());
}
