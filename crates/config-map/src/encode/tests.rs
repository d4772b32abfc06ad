use proptest::prelude::*;

use super::*;
use unlade_bundle::{File, Limits, Reason};

use crate::decode;

fn file(directory: Directory, name: &str, bytes: impl Into<Vec<u8>>) -> File {
    File { directory, name: name.to_owned(), bytes: bytes.into() }
}

fn manifest(bytes: impl Into<Vec<u8>>) -> Content {
    content(vec![file(Directory::Manifests, "a", bytes)])
}

fn content(files: Vec<File>) -> Content {
    Content::from_parts(BTreeMap::new(), files, &Limits::default()).unwrap()
}

fn encoded(content: &Content, encoding: Encoding) -> Result<ConfigMap, Error> {
    let options = Options { encoding, ..Options::default() };
    encode(content, &options).map(|mut config_maps| config_maps.remove(0))
}

fn is_gzip(config_map: &ConfigMap) -> bool {
    config_map.metadata.annotations.contains_key(CONTENT_ENCODING)
}

/// Returns incompressible bytes from a xorshift generator.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let step = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    std::iter::repeat_with(step).take(length).collect()
}

#[test]
fn the_object_is_marked() {
    let content = content(vec![
        file(Directory::Manifests, "a b.yaml", "x"),
        file(Directory::Metadata, "dependencies.yaml", "dependencies: []\n"),
    ]);
    let options = Options {
        name: "name".to_owned(),
        namespace: "namespace".to_owned(),
        encoding: Encoding::Gzip,
        source_image: Some("image".to_owned()),
        attempt: Some("7".to_owned()),
        findings: vec![Finding::new(Reason::ReservedAnnotation, "olm.managed", "left out")],
        metadata_as_upstream: false,
        without_marks: false,
    };
    let config_map = encode(&content, &options).unwrap().remove(0);
    assert_eq!(config_map.metadata.name, "name");
    assert_eq!(config_map.metadata.namespace, "namespace");
    assert_eq!(config_map.metadata.labels["olm.managed"], "true");
    let expected = [
        ("olm.contentEncoding", "gzip+base64"),
        ("olm.sourceImage", "image"),
        ("unlade.dev/annotations", "[]"),
        ("unlade.dev/attempt", "7"),
        ("unlade.dev/digest", &content.digest()),
        ("unlade.dev/files", "2"),
        (
            "unlade.dev/findings",
            r#"[{"reason":"reservedAnnotation","subject":"olm.managed","message":"left out"}]"#,
        ),
        ("unlade.dev/format", "1"),
        ("unlade.dev/metadata", r#"["dependencies.yaml"]"#),
        ("unlade.dev/names", r#"{"a-b.yaml":"a b.yaml"}"#),
    ];
    let found = &config_map.metadata.annotations;
    assert!(found.iter().map(|(key, value)| (key.as_str(), value.as_str())).eq(expected));
}

#[test]
fn metadata_is_where_upstream_does_not_read_it_as_an_object() {
    let content = content(vec![
        file(Directory::Metadata, "dependencies.yaml", "dependencies: []\n"),
        file(Directory::Metadata, "nil.yaml", "# nothing\n---\nkind: A\n"),
        file(Directory::Metadata, "object.yaml", "kind: ClusterServiceVersion\n"),
    ]);
    let keys = |map: BTreeMap<String, _>| map.into_keys().collect::<Vec<_>>();
    let plain = encoded(&content, Encoding::Plain).unwrap();
    assert_eq!(plain.binary_data["object.yaml"].0, b"kind: ClusterServiceVersion\n");
    assert_eq!(keys(plain.data), ["dependencies.yaml"]);
    let gzip = encoded(&content, Encoding::Gzip).unwrap();
    let value = gzip.data["object.yaml"].as_bytes();
    assert_eq!(gzip::decode(value, 100, 100).unwrap(), b"kind: ClusterServiceVersion\n");
    assert_eq!(gzip.binary_data.into_keys().collect::<Vec<_>>(), ["dependencies.yaml"]);
}

#[test]
fn metadata_is_where_upstream_writes_it_on_request() {
    let object = file(Directory::Metadata, "object.yaml", "kind: ClusterServiceVersion\n");
    let content = content(vec![object]);
    for encoding in [Encoding::Plain, Encoding::Gzip] {
        let options = Options { encoding, metadata_as_upstream: true, ..Options::default() };
        let config_map = encode(&content, &options).unwrap().remove(0);
        let fields = [config_map.data.len(), config_map.binary_data.len()];
        let upstreams = if encoding == Encoding::Plain { [1, 0] } else { [0, 1] };
        assert_eq!(fields, upstreams, "{encoding}");
        assert!(config_map.metadata.annotations[mark::METADATA].contains("object.yaml"));
    }
}

#[test]
fn auto_is_plain_while_the_object_fits_with_room_to_spare() {
    let room = object_size(&encoded(&manifest(""), Encoding::Plain).unwrap());
    let most = VALUES_SIZE - ROOM - room;
    assert!(!is_gzip(&encoded(&manifest("x".repeat(most)), Encoding::Auto).unwrap()));
    assert!(is_gzip(&encoded(&manifest("x".repeat(most + 1)), Encoding::Auto).unwrap()));
}

#[test]
fn auto_is_gzip_where_upstream_would_not_read_a_manifest() {
    assert!(is_gzip(&encoded(&manifest(b"\xff"), Encoding::Auto).unwrap()));
    let metadata = content(vec![file(Directory::Metadata, "a", b"\xff")]);
    assert!(!is_gzip(&encoded(&metadata, Encoding::Auto).unwrap()));
}

#[test]
fn auto_is_plain_for_what_only_fits_so() {
    assert!(!is_gzip(&encoded(&manifest(noise(VALUES_SIZE)), Encoding::Auto).unwrap()));
    let error = encoded(&manifest(noise(VALUES_SIZE + 1)), Encoding::Auto).unwrap_err();
    assert!(matches!(error, Error::TooLarge { encoding: Encoding::Gzip, .. }));
}

#[test]
fn an_oversized_bundle_is_refused_and_its_largest_files_are_named() {
    assert!(encoded(&manifest("x".repeat(VALUES_SIZE)), Encoding::Plain).is_ok());
    let mut files: Vec<_> = (0..9)
        .map(|n| file(Directory::Manifests, &format!("file {n}"), vec![0; 1000 + n]))
        .collect();
    files.push(file(Directory::Manifests, "a", vec![0; VALUES_SIZE]));
    let error = encoded(&content(files), Encoding::Plain).unwrap_err();
    assert!(error.hint().is_some());
    assert_eq!(
        error.to_string(),
        "the files are 1057612 bytes in plain encoding, but a ConfigMap allows 1048576; the largest: \
         manifests/a (1048576), manifests/file 8 (1008), manifests/file 7 (1007), \
         manifests/file 6 (1006), manifests/file 5 (1005)"
    );
}

#[test]
fn names_count_to_the_size_of_annotations() {
    let name = |n| format!("{}{n:04}", "é".repeat(240));
    let files = (0..500).map(|n| file(Directory::Manifests, &name(n), "")).collect();
    let error = encoded(&content(files), Encoding::Plain).unwrap_err();
    assert!(matches!(error, Error::Annotations(annotation::Error::TooLarge { .. })));
}

fn contents() -> impl Strategy<Value = Content> {
    let name = prop_oneof!["[a-z.]{1,6}", "[^/\0]{1,12}", Just("dependencies.yaml".to_owned())];
    let bytes = prop_oneof![
        any::<Vec<u8>>(),
        any::<String>().prop_map(String::into_bytes),
        Just(b"kind: A\n".to_vec()),
    ];
    let directory = prop_oneof![Just(Directory::Manifests), Just(Directory::Metadata)];
    let file = (directory, name, bytes).prop_map(|(directory, name, bytes)| File {
        directory,
        name,
        bytes,
    });
    let annotations = prop::collection::btree_map("[a-z]{1,5}", any::<String>(), 0..5);
    (annotations, prop::collection::vec(file, 0..8))
        .prop_filter_map("files of one key", |(annotations, files)| {
            Content::from_parts(annotations, files, &Limits::default()).ok()
        })
}

proptest! {
    #[test]
    fn content_survives_every_encoding(content in contents()) {
        for encoding in [Encoding::Auto, Encoding::Plain, Encoding::Gzip] {
            let config_map = encoded(&content, encoding).unwrap();
            let json = serde_json::to_vec(&config_map).unwrap();
            let decoded =
                decode(&[ConfigMap::parse_json(&json).unwrap()], &Limits::default()).unwrap();
            prop_assert_eq!(decoded.digest, Some(content.digest()));
            prop_assert_eq!(&decoded.content, &content);
            prop_assert_eq!(encoded(&content, encoding).unwrap(), config_map);
        }
    }

    #[test]
    fn the_order_of_files_changes_nothing(content in contents()) {
        let mut files = content.files().to_vec();
        files.reverse();
        let other =
            Content::from_parts(content.annotations().clone(), files, &Limits::default()).unwrap();
        prop_assert_eq!(other.digest(), content.digest());
        prop_assert_eq!(other, content);
    }
}
