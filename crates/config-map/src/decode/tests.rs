use super::*;
use crate::{
    encode::{Options, encode},
    mark::{ANNOTATIONS, DIGEST, FILES, FORMAT, METADATA, NAMES},
    object::Bytes,
};

fn content() -> Content {
    let file = |directory, name: &str, bytes: &[u8]| File {
        directory,
        name: name.to_owned(),
        bytes: bytes.to_vec(),
    };
    let files = vec![
        file(Directory::Manifests, "csv é.yaml", b"kind: A\n"),
        file(Directory::Manifests, "latin", b"\xe9"),
        file(Directory::Metadata, "dependencies.yaml", b"dependencies: []\n"),
    ];
    let annotations = BTreeMap::from([("a".to_owned(), "1".to_owned())]);
    Content::from_parts(annotations, files, &Limits::default()).unwrap()
}

fn encoded(encoding: Encoding) -> ConfigMap {
    let attempt = Some("7".to_owned());
    let source_image = Some("image".to_owned());
    let options = Options { encoding, source_image, attempt, ..Options::default() };
    encode(&content(), &options).unwrap().remove(0)
}

fn error(config_map: ConfigMap) -> String {
    decode(&[config_map], &Limits::default()).unwrap_err().to_string()
}

fn unmarked(annotations: &[(&str, &str)]) -> ConfigMap {
    let mut config_map = ConfigMap::new("a", "");
    let own = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
    config_map.metadata.annotations = annotations.iter().map(own).collect();
    config_map.data = BTreeMap::from([("a.yaml".to_owned(), "data".to_owned())]);
    // GzipBase64Encode([]byte("hello")) of operator-registry 1.73.0.
    let value = b"H4sIAAAAAAAA/8pIzcnJBwQAAP//hqYQNgUAAAA=".to_vec();
    config_map.binary_data = BTreeMap::from([("b.yaml".to_owned(), Bytes(value))]);
    config_map
}

#[test]
fn encoded_content_decodes_to_the_same_content() {
    for encoding in [Encoding::Plain, Encoding::Gzip] {
        let decoded = decode(&[encoded(encoding)], &Limits::default()).unwrap();
        assert_eq!(decoded.content, content());
        assert_eq!(decoded.encoding, encoding);
        assert_eq!(decoded.digest, Some(content().digest()));
        assert_eq!(decoded.attempt.as_deref(), Some("7"));
        assert_eq!(decoded.source_image.as_deref(), Some("image"));
        // Upstream's loader reads only `data` of a plain ConfigMap.
        let unread = if encoding == Encoding::Plain { &["latin"][..] } else { &[] };
        let reported: Vec<_> = decoded.findings.iter().map(|it| it.subject.as_str()).collect();
        assert_eq!(reported, unread);
    }
}

#[test]
fn findings_in_the_annotation_are_decoded_and_a_forged_one_is_reported() {
    let findings = vec![Finding::new(Reason::ReservedAnnotation, "olm.managed", "left out")];
    let options = Options { findings: findings.clone(), ..Options::default() };
    let mut config_map = encode(&content(), &options).unwrap().remove(0);
    let decoded = decode(&[config_map.clone()], &Limits::default()).unwrap();
    assert_eq!(decoded.findings, findings);
    assert_eq!(decoded.digest, Some(content().digest()), "the findings are no content");

    config_map.metadata.annotations.insert(mark::FINDINGS.to_owned(), "forged".to_owned());
    let decoded = decode(&[config_map], &Limits::default()).unwrap();
    assert_eq!(decoded.content, content());
    assert_eq!(decoded.findings[0].reason, Reason::Omitted);
}

#[test]
fn one_config_map_holds_a_bundle() {
    assert!(matches!(decode(&[], &Limits::default()), Err(Error::Missing)));
    let two = [encoded(Encoding::Plain), encoded(Encoding::Plain)];
    assert!(matches!(decode(&two, &Limits::default()), Err(Error::Several { count: 2 })));
}

#[test]
fn every_change_of_a_filled_config_map_is_an_error() {
    let changed = |change: fn(&mut ConfigMap)| {
        let mut config_map = encoded(Encoding::Plain);
        change(&mut config_map);
        error(config_map)
    };
    for message in [
        changed(|c| c.data.insert("dependencies.yaml".to_owned(), "x".to_owned()).map_or((), drop)),
        changed(|c| c.data.get_mut("csv--.yaml").unwrap().push('x')),
        changed(|c| c.binary_data.get_mut("latin").unwrap().0.push(0)),
        changed(|c| c.metadata.annotations.get_mut("a").unwrap().push('x')),
        changed(|c| c.metadata.annotations.remove(NAMES).map_or((), drop)),
        changed(|c| c.metadata.annotations.remove(METADATA).map_or((), drop)),
    ] {
        assert!(message.contains("digest"), "{message}");
    }
    let missing = changed(|c| c.data.remove("csv--.yaml").map_or((), drop));
    assert_eq!(missing, "the ConfigMap contains 2 files, but 3 were written");
    let further = changed(|c| c.data.insert("x".to_owned(), String::new()).map_or((), drop));
    assert_eq!(further, "the ConfigMap contains 4 files, but 3 were written");
    let annotation = changed(|c| c.metadata.annotations.remove("a").map_or((), drop));
    assert!(annotation.contains("\"a\""), "{annotation}");
}

/// Moves a value to the other field.
fn move_value(config_map: &mut ConfigMap, key: &str) {
    let ConfigMap { data, binary_data, .. } = config_map;
    if let Some(text) = data.remove(key) {
        binary_data.insert(key.to_owned(), Bytes(text.into_bytes()));
    } else {
        let Bytes(bytes) = binary_data.remove(key).unwrap();
        data.insert(key.to_owned(), String::from_utf8(bytes).unwrap());
    }
}

#[test]
fn a_value_in_the_field_that_upstream_does_not_read_is_an_error() {
    for (encoding, found) in [(Encoding::Plain, "binaryData"), (Encoding::Gzip, "data")] {
        let mut config_map = encoded(encoding);
        move_value(&mut config_map, "csv--.yaml");
        let message = error(config_map);
        assert!(message.contains(&format!("\"csv--.yaml\" is in {found}")), "{message}");
    }
}

#[test]
fn a_file_of_metadata_that_upstream_reads_as_an_object_is_noticed() {
    let files = [("object.yaml", "{kind: ClusterServiceVersion}\n"), ("text.yaml", "- a\n")];
    let files = files.map(|(name, text)| File {
        directory: Directory::Metadata,
        name: name.to_owned(),
        bytes: text.into(),
    });
    let content = Content::from_parts(BTreeMap::new(), files.into(), &Limits::default()).unwrap();
    for encoding in [Encoding::Plain, Encoding::Gzip] {
        let encoded = |metadata_as_upstream| {
            let options = Options { encoding, metadata_as_upstream, ..Options::default() };
            encode(&content, &options).unwrap().remove(0)
        };
        let exposes = |config_map: &ConfigMap| {
            let decoded = decode(std::slice::from_ref(config_map), &Limits::default()).unwrap();
            decoded.exposes_metadata()
        };
        assert!(!exposes(&encoded(false)), "{encoding}");
        assert!(exposes(&encoded(true)), "{encoding}");
        let mut config_map = encoded(false);
        move_value(&mut config_map, "object.yaml");
        assert!(exposes(&config_map), "{encoding}");
        let mut config_map = encoded(false);
        move_value(&mut config_map, "text.yaml");
        assert!(!exposes(&config_map), "{encoding}");
    }
}

#[test]
fn an_annotation_of_upstream_that_the_bundle_does_not_have_is_an_error() {
    for key in UPSTREAM {
        let mut config_map = encoded(Encoding::Plain);
        config_map.metadata.annotations.insert(key.to_owned(), "forged".to_owned());
        assert!(error(config_map).contains(key));
    }
}

#[test]
fn a_config_map_without_all_required_marks_is_refused() {
    for mark in [FORMAT, FILES, DIGEST, ANNOTATIONS] {
        let mut config_map = encoded(Encoding::Gzip);
        config_map.metadata.annotations.remove(mark);
        assert!(error(config_map).contains(mark));
    }
    assert!(error(unmarked(&[(mark::ATTEMPT, "7")])).contains(FORMAT));
}

#[test]
fn marks_of_another_form_are_refused() {
    for (mark, text) in [
        (FORMAT, "2"),
        (FILES, "three"),
        (ANNOTATIONS, "a"),
        (ANNOTATIONS, r#"["olm.sourceImage"]"#),
        (NAMES, "[]"),
        (NAMES, r#"{"csv--.yaml": "other"}"#),
        (NAMES, r#"{"other": "other"}"#),
        (NAMES, r#"{"csv--.yaml": "../a"}"#),
        (METADATA, "{}"),
        (METADATA, r#"["other"]"#),
        (CONTENT_ENCODING, "zip"),
    ] {
        let mut config_map = encoded(Encoding::Plain);
        config_map.metadata.annotations.insert(mark.to_owned(), text.to_owned());
        let message = error(config_map);
        assert!(!message.contains("digest"), "{mark} {text}: {message}");
    }
}

#[test]
fn unmarked_config_maps_are_read_as_upstream_reads_them() {
    for (encoding, field, path, bytes) in [
        (gzip::ENCODING, "data", "manifests/b.yaml", "hello"),
        ("gzip", "binaryData", "manifests/a.yaml", "data"),
    ] {
        let decoded = decode(
            &[unmarked(&[
                (CONTENT_ENCODING, encoding),
                (LEGACY_SOURCE_IMAGE, "old"),
                (unlade_bundle::annotation::PACKAGE, "p"),
                ("other", "x"),
            ])],
            &Limits::default(),
        )
        .unwrap();
        assert_eq!(decoded.source_image.as_deref(), Some("old"));
        assert_eq!(decoded.digest, None);
        let annotations: Vec<_> = decoded.content.annotations().iter().collect();
        assert_eq!(
            annotations,
            [(&unlade_bundle::annotation::PACKAGE.to_owned(), &"p".to_owned())]
        );
        let files: Vec<_> =
            decoded.content.files().iter().map(|f| (f.path(), f.bytes.clone())).collect();
        assert_eq!(files, [(path.to_owned(), bytes.as_bytes().to_vec())]);
        let unread = decoded.findings.iter().find(|f| f.reason == Reason::UnreadKey).unwrap();
        assert!(unread.message.contains(field), "{unread}");
        let unknown = decoded.findings.iter().any(|f| f.reason == Reason::UnknownEncoding);
        assert_eq!(unknown, encoding == "gzip");
    }
}

#[test]
fn metadata_files_of_unmarked_config_maps_are_known_by_name() {
    let mut config_map = ConfigMap::new("a", "");
    for key in ["dependencies.yaml", "properties.yaml", "other.yaml", "a~b"] {
        config_map.data.insert(key.to_owned(), String::new());
    }
    let content = decode(&[config_map], &Limits::default()).unwrap().content;
    let paths: Vec<_> = content.files().iter().map(File::path).collect();
    assert_eq!(
        paths,
        [
            "manifests/a~b",
            "manifests/other.yaml",
            "metadata/dependencies.yaml",
            "metadata/properties.yaml"
        ]
    );
}

#[test]
fn limits_hold_for_decoded_bytes() {
    for encoding in [Encoding::Plain, Encoding::Gzip] {
        let config_map = encoded(encoding);
        let decode = |set: fn(&mut Limits)| {
            let mut limits = Limits::default();
            set(&mut limits);
            decode(std::slice::from_ref(&config_map), &limits).map(drop)
        };
        assert!(decode(|l| (l.files, l.file_size, l.total_size) = (3, 17, 26)).is_ok());
        assert!(matches!(
            decode(|l| l.files = 2),
            Err(Error::Content(content::Error::TooManyFiles { .. }))
        ));
        assert!(matches!(
            decode(|l| l.file_size = 16),
            Err(Error::Value { key, source: gzip::Error::TooLarge { limit: 16 } })
                if key == "dependencies.yaml"
        ));
        assert!(matches!(decode(|l| l.total_size = 25), Err(Error::TooLarge { limit: 25, .. })));
    }
}

#[test]
fn more_annotations_than_kubernetes_accepts_are_refused() {
    let mut config_map = ConfigMap::new("large", "");
    config_map.metadata.annotations.insert("a".to_owned(), "x".repeat(annotation::SIZE - 1));
    assert!(decode(std::slice::from_ref(&config_map), &Limits::default()).is_ok());
    config_map.metadata.annotations.insert("b".to_owned(), String::new());
    let error = decode(&[config_map], &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Content(content::Error::Annotations(_))), "{error}");
}
