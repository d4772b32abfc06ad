use super::*;

fn file(path: &str, bytes: &str) -> File {
    let (directory, name) = path.split_once('/').unwrap();
    let directory = match directory {
        "manifests" => Directory::Manifests,
        _ => Directory::Metadata,
    };
    File { directory, name: name.to_owned(), bytes: bytes.into() }
}

fn assemble(files: &[(&str, &str)]) -> Result<Reading, Error> {
    let files = files.iter().map(|(path, bytes)| file(path, bytes)).collect();
    Content::assemble(files, &Limits::default())
}

fn message(files: &[(&str, &str)]) -> String {
    assemble(files).unwrap_err().to_string()
}

#[test]
fn files_are_sorted_by_directory_and_name_and_entries_by_key() {
    let content =
        assemble(&[("metadata/b.yaml", ""), ("manifests/é.yaml", ""), ("manifests/c.yaml", "")])
            .unwrap()
            .content;
    let paths: Vec<_> = content.files().iter().map(File::path).collect();
    assert_eq!(paths, ["manifests/c.yaml", "manifests/é.yaml", "metadata/b.yaml"]);
    let keys: Vec<_> = content.entries().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["-.yaml", "b.yaml", "c.yaml"]);
}

#[test]
fn all_problems_of_names_are_reported_together() {
    let long = format!("manifests/{}", "n".repeat(254));
    let message = message(&[
        ("metadata/a-b", ""),
        ("manifests/a:b", ""),
        ("manifests/a b", ""),
        ("manifests/..data", ""),
        ("manifests/same", ""),
        ("metadata/same", ""),
        (&long, ""),
    ]);
    for part in [
        "manifests/a b and manifests/a:b and metadata/a-b have the same ConfigMap key a-b",
        "manifests/same and metadata/same",
        "manifests/..data: ",
        "254 characters",
    ] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
}

#[test]
fn limits_are_kept() {
    let limits =
        |files, file_size, total_size| Limits { files, file_size, total_size, ..Limits::default() };
    let files = vec![file("manifests/a", "12"), file("manifests/b", "345")];
    let assemble = |limits: Limits| Content::assemble(files.clone(), &limits);
    assert!(assemble(limits(2, 3, 5)).is_ok());
    assert!(matches!(assemble(limits(1, 3, 5)), Err(Error::TooManyFiles { files: 2, limit: 1 })));
    assert!(matches!(
        assemble(limits(2, 2, 5)),
        Err(Error::FileTooLarge { path, size: 3, limit: 2 }) if path == "manifests/b"
    ));
    assert!(matches!(assemble(limits(2, 3, 4)), Err(Error::TooLarge { size: 5, limit: 4 })));
}

#[test]
fn a_missing_annotations_file_is_a_finding_even_if_a_yml_file_exists() {
    let reading = assemble(&[("metadata/annotations.yml", "annotations: {a: b}")]).unwrap();
    assert!(reading.content.annotations().is_empty());
    assert_eq!(reading.content.files().len(), 1);
    assert_eq!(reading.findings[0].reason, Reason::AnnotationsFile);
    assert!(reading.findings[0].message.contains("does not exist"));
}

#[test]
fn the_annotations_file_of_metadata_wins() {
    let reading = assemble(&[
        ("metadata/annotations.yaml", "annotations: {a: metadata}"),
        ("manifests/annotations.yaml", "annotations: {a: manifests, b: manifests}"),
    ])
    .unwrap();
    assert_eq!(reading.content.annotations()["a"], "metadata");
    assert!(!reading.content.annotations().contains_key("b"));
    assert!(reading.content.files().is_empty(), "it is no file of the bundle");
    assert_eq!(reading.findings[0].subject, "manifests/annotations.yaml");
}

#[test]
fn an_annotations_file_in_manifests_is_used_and_reported() {
    let reading = assemble(&[("manifests/annotations.yaml", "annotations: {a: b}")]).unwrap();
    assert_eq!(reading.content.annotations()["a"], "b");
    assert!(reading.findings[0].message.contains("manifests/"));
}

#[test]
fn an_annotations_file_that_is_not_used_must_still_be_readable() {
    let message = message(&[
        ("metadata/annotations.yaml", "annotations: {a: b}"),
        ("manifests/annotations.yaml", "annotations: []"),
    ]);
    assert!(message.contains("manifests/annotations.yaml"), "{message}");
}

#[test]
fn the_digest_is_that_of_the_documented_bytes() {
    // python3: s=lambda b: len(b).to_bytes(8,'big')+b; n=lambda i: i.to_bytes(8,'big')
    // sha256(s(b'unlade.dev/content/1')+n(0)+n(2)+s(b'manifests')+s(b'a b')+s(b'x')
    //        +s(b'metadata')+s(b'c')+s(b'')).hexdigest()
    let content = assemble(&[("metadata/c", ""), ("manifests/a b", "x")]).unwrap().content;
    assert_eq!(
        content.digest(),
        "sha256:85d336626129c8d49f3f71c02409282b41822e08a880c37d040921df51feda1b"
    );
}

#[test]
fn different_contents_have_different_digests() {
    let digest = |files: &[(&str, &str)]| assemble(files).unwrap().content.digest();
    let digests = [
        digest(&[]),
        digest(&[("manifests/a", "")]),
        digest(&[("metadata/a", "")]),
        digest(&[("manifests/a", "b")]),
        digest(&[("manifests/ab", "")]),
        digest(&[("manifests/a b", "")]),
        digest(&[("manifests/a-b", "")]),
    ];
    for (place, one) in digests.iter().enumerate() {
        assert!(!digests[..place].contains(one), "{place}");
    }
    assert_eq!(
        digest(&[("manifests/a", "1"), ("manifests/b", "2")]),
        digest(&[("manifests/b", "2"), ("manifests/a", "1")])
    );
}

#[test]
fn as_upstream_the_last_file_of_a_key_stays_and_illegal_ones_go() {
    let files: Vec<_> = [
        ("metadata/a b", "last"),
        ("manifests/a-b", "second"),
        ("manifests/a b", "first"),
        ("manifests/..c", "no key"),
        ("manifests/d", "d"),
        ("metadata/annotations.yaml", "annotations: {a/b/c: x}"),
    ]
    .map(|(path, text)| file(path, text))
    .into();
    assert!(Content::assemble(files.clone(), &Limits::default()).is_err());
    let Reading { content, findings } =
        Content::assemble_as_upstream(files, &Limits::default()).unwrap();
    let entries: Vec<_> =
        content.entries().map(|(key, file)| (key.as_str(), file.bytes.as_slice())).collect();
    assert_eq!(entries, [("a-b", b"last".as_slice()), ("d", b"d")]);
    let subjects: Vec<_> = findings.iter().map(|finding| finding.subject.as_str()).collect();
    assert_eq!(subjects, ["manifests/..c", "manifests/a b", "manifests/a-b", "a/b/c"]);
}

#[test]
fn as_upstream_more_annotations_than_an_object_can_hold_are_read_and_can_be_dropped() {
    let text = format!("annotations: {{{}: p, a: {}}}", annotation::PACKAGE, "x".repeat(300_000));
    let files = vec![file("metadata/annotations.yaml", &text)];
    let error = Content::assemble(files.clone(), &Limits::default()).unwrap_err();
    assert!(error.is_limit(), "{error}");
    let mut content = Content::assemble_as_upstream(files, &Limits::default()).unwrap().content;
    assert_eq!(content.annotations().len(), 7);
    assert_eq!(content.keep_upstream_annotations(), 1);
    assert_eq!(content.annotations()[annotation::PACKAGE], "p");
    assert_eq!(content.annotations().len(), 6);
}

#[test]
fn reserved_annotations_are_no_parts_of_a_content() {
    let from_key = |key: &str| {
        let annotations = BTreeMap::from([(key.to_owned(), String::new())]);
        Content::from_parts(annotations, Vec::new(), &Limits::default())
    };
    assert!(from_key(annotation::PACKAGE).is_ok());
    assert_eq!(
        from_key(annotation::CONTENT_ENCODING).unwrap_err().to_string(),
        "the annotation \"olm.contentEncoding\" is reserved for Kubernetes, OLM or unlade"
    );
}
