use super::*;

const DIGEST: &str = "sha256:6c3c624b58dbbcd3c0dd82b4c53f04194d1247c6eebdaab7c610cf7d66709b3b";

fn image(text: &str) -> Reference {
    match text.parse() {
        Ok(Source::Image(reference)) => reference,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn transports_are_distinguished_and_written_back() {
    let digest = format!("oci:some/dir@{DIGEST}");
    for (text, transport, path, select) in [
        ("oci:dir", Transport::Oci, "dir", None),
        ("oci:/a/dir:v1", Transport::Oci, "/a/dir", Some(Select::Name("v1".into()))),
        ("oci:dir:@2", Transport::Oci, "dir", Some(Select::Index(2))),
        (&digest, Transport::Oci, "some/dir", Some(Select::Digest(DIGEST.parse().unwrap()))),
        ("oci-archive:a.tar", Transport::OciArchive, "a.tar", None),
        (
            "oci-archive:a.tar:registry.example:5000/etcd:v1",
            Transport::OciArchive,
            "a.tar",
            Some(Select::Name("registry.example:5000/etcd:v1".into())),
        ),
        (
            "docker-archive:a.tar:etcd:v1",
            Transport::DockerArchive,
            "a.tar",
            Some(Select::Name("etcd:v1".into())),
        ),
        (
            "docker-archive:a.tar:my__app:1",
            Transport::DockerArchive,
            "a.tar",
            Some(Select::Name("my__app:1".into())),
        ),
        ("docker-archive:a.tar:@0", Transport::DockerArchive, "a.tar", Some(Select::Index(0))),
        ("dir:a/b", Transport::Dir, "a/b", None),
        ("dir:a:v1@2", Transport::Dir, "a:v1@2", None),
    ] {
        let reference = image(text);
        assert_eq!(reference, Reference { transport, path: path.into(), select }, "{text}");
        assert_eq!(reference.to_string(), text);
    }
}

#[test]
fn a_path_may_hold_an_at_sign() {
    assert_eq!(image("oci:a@b").path, Path::new("a@b"));
    assert_eq!(image("oci:a@b:v1").path, Path::new("a@b"));
    assert_eq!(image("docker-archive:a@b").path, Path::new("a@b"));
}

#[test]
fn an_empty_name_selects_the_only_image() {
    assert_eq!(image("oci:dir:").select, None);
}

#[test]
fn text_without_a_transport_is_a_path() {
    for text in ["bundle", "./bundle", "/a/b.tar", "registry.example/etcd:v1", "x:y"] {
        assert_eq!(text.parse(), Ok(Source::Path(text.into())));
    }
}

#[test]
fn registries_and_stores_are_refused_with_a_hint() {
    let slashes = "docker:registry.example/etcd:v1".parse::<Source>().unwrap_err();
    assert!(slashes.hint().unwrap().contains("docker://registry.example/etcd:v1"));
    for text in ["docker-daemon:etcd:v1", "containers-storage:etcd"] {
        let error = text.parse::<Source>().unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{text}");
        assert!(error.hint().unwrap().contains(&format!("skopeo copy {text} ")), "{text}");
    }
}

#[test]
fn texts_that_do_not_name_an_image_are_refused() {
    let with_digest = format!("docker-archive:f:a@{DIGEST}");
    // A digest with an unknown algorithm is part of a path.
    for text in [
        "oci:d:a b",
        "oci:d:a//b",
        "oci:d:-a",
        "oci:d:@",
        "oci:d:@x",
        "oci:d:@9:9",
        "docker-archive:f:a@b:c",
        "docker-archive:f:App:1",
        "docker-archive:f:a+b",
        "oci:d:my__app:1",
        &with_digest,
    ] {
        assert!(matches!(text.parse::<Source>(), Err(Error::Select { .. })), "{text}");
    }
    for text in ["", "oci:", "oci::v1", "docker-archive:", "dir:"] {
        assert!(matches!(text.parse::<Source>(), Err(Error::NoPath { .. })), "{text}");
    }
}

#[test]
fn an_image_needs_a_transport() {
    let error = "image.tar".parse::<Reference>().unwrap_err();
    assert_eq!(error, Error::NoTransport { text: "image.tar".to_owned() });
    assert!(error.hint().unwrap().contains("oci-archive:image.tar"));
    assert_eq!("oci:x:v1".parse::<Reference>().unwrap().to_string(), "oci:x:v1");
}

#[test]
fn an_image_in_a_registry_is_named_with_two_slashes() {
    let source: Source = "docker://registry.example/etcd:v1".parse().unwrap();
    assert!(matches!(&source, Source::Remote(image) if image.registry() == "registry.example"));
    assert_eq!(source.to_string(), "docker://registry.example/etcd:v1");
    assert!(matches!("docker://Etcd/X".parse::<Source>(), Err(Error::Name(_))));
}
