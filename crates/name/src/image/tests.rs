use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// The results of `reference.ParseNormalizedNamed` of github.com/distribution/reference 0.6.0, in a
/// Go program that imports SHA-256 and SHA-512. A reference that it refuses has no parts.
const RECORDED: &str = include_str!("tests.jsonl");

/// That library treats it as a repository without a registry, from which nobody can pull.
const DIFFERS: &str = "my_host.example/a";

#[test]
fn references_are_those_of_the_library_that_the_kubelet_uses() {
    let mut taken = 0;
    for line in RECORDED.lines() {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let text = recorded["text"].as_str().unwrap();
        let parsed = ImageReference::parse(text);
        if text == DIFFERS || recorded.get("registry").is_none() {
            assert!(parsed.is_err(), "{text:?} is {parsed:?}");
            continue;
        }
        let parsed = parsed.unwrap();
        assert_eq!(parsed.as_str(), text);
        assert_eq!(parsed.registry(), recorded["registry"].as_str().unwrap(), "{text}");
        assert_eq!(parsed.repository(), recorded["repository"].as_str().unwrap(), "{text}");
        assert_eq!(parsed.tag(), recorded["tag"].as_str(), "{text}");
        assert_eq!(parsed.digest(), recorded["digest"].as_str(), "{text}");
        taken += 1;
    }
    assert_eq!((RECORDED.lines().count(), taken), (121, 48));
}

#[test]
fn short_and_full_references_of_an_image_are_the_same() {
    let digest = format!("etcd:v1@sha256:{}", "0a".repeat(32));
    let full = format!("docker.io/library/{digest}");
    for (short, full) in [
        ("etcd", "docker.io/library/etcd:latest"),
        ("etcd:v1", "docker.io/library/etcd:v1"),
        ("me/etcd", "docker.io/me/etcd:latest"),
        ("index.docker.io/etcd", "docker.io/library/etcd:latest"),
        ("localhost/etcd", "localhost/etcd:latest"),
        ("registry.example:5000/etcd", "registry.example:5000/etcd:latest"),
        (&digest, &full),
    ] {
        assert_eq!(ImageReference::parse(short).unwrap().normalized(), full);
        assert_eq!(ImageReference::parse(full).unwrap().normalized(), full);
    }
}

#[test]
fn the_default_registry_has_a_host_of_another_name() {
    for (text, host) in [
        ("etcd", "registry-1.docker.io"),
        ("docker.io/me/etcd", "registry-1.docker.io"),
        ("registry.example:5000/etcd", "registry.example:5000"),
        ("[::1]:5000/etcd", "[::1]:5000"),
    ] {
        assert_eq!(ImageReference::parse(text).unwrap().host(), host, "{text}");
    }
}

#[test]
fn a_digest_names_the_content_also_beside_a_tag() {
    let digest = format!("sha256:{}", "0a".repeat(32));
    for (text, is_digest) in [
        ("registry.example/etcd".to_owned(), false),
        ("registry.example/etcd:1".to_owned(), false),
        (format!("registry.example/etcd@{digest}"), true),
        (format!("registry.example/etcd:1@{digest}"), true),
    ] {
        assert_eq!(ImageReference::parse(&text).unwrap().is_digest(), is_digest, "{text}");
    }
}

#[test]
fn the_message_says_what_is_wrong() {
    for (text, words) in [
        ("", "\"\" is not a valid image reference: it is empty"),
        ("a b", "it contains whitespace"),
        ("etcd\n", "it contains whitespace or a control character"),
        ("https://registry.example/etcd", "it must not begin with the scheme https://"),
        (&"ab".repeat(32), "it is the ID of an image on one machine"),
        ("registry.example:x/etcd", "its registry \"registry.example:x\" is not a host"),
        ("registry.example/Etcd:1", "its repository \"Etcd\" has uppercase letters"),
        ("registry.example/a//b", "its repository \"a//b\" may only have"),
        (
            &format!("registry.example/{}", "a".repeat(256)),
            "is 256 bytes long; at most 255 are allowed",
        ),
        ("etcd:-1", "its tag \"-1\" may only have"),
        (
            "etcd@sha256:12",
            "its digest \"sha256:12\" must be sha256:, sha384: or sha512:, followed by 64",
        ),
    ] {
        let message = ImageReference::parse(text).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn messages_are_short_however_long_the_text_is() {
    for text in ["é".repeat(5_000), format!("a:{}", "b".repeat(5_000)), "a".repeat(5_000)] {
        let message = ImageReference::parse(&text).unwrap_err().to_string();
        assert!(message.len() < 1_000, "{} bytes", message.len());
    }
}

proptest! {
    #[test]
    fn an_accepted_text_is_kept_as_written(text in ".*") {
        if let Ok(reference) = ImageReference::parse(&text) {
            prop_assert_eq!(reference.as_str(), text);
        }
    }

    #[test]
    fn the_parts_of_a_reference_are_parsed(
        registry in r"[a-zA-Z0-9]{1,8}(-[a-z0-9]{1,8}){0,2}\.[a-z]{2,8}(:[0-9]{1,5})?",
        repository in r"[a-z0-9]{1,8}((\.|_|__|-{1,3})[a-z0-9]{1,8}){0,2}(/[a-z0-9]{1,8}){0,3}",
        tag in proptest::option::of(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}"),
        digest in proptest::option::of(r"sha256:[0-9a-f]{64}"),
    ) {
        let tagged = tag.as_ref().map(|tag| format!(":{tag}")).unwrap_or_default();
        let digested = digest.as_ref().map(|digest| format!("@{digest}")).unwrap_or_default();
        let text = format!("{registry}/{repository}{tagged}{digested}");
        let reference = ImageReference::parse(&text).unwrap();
        prop_assert_eq!(reference.registry(), registry);
        prop_assert_eq!(reference.repository(), repository);
        prop_assert_eq!(reference.tag(), tag.as_deref());
        prop_assert_eq!(reference.digest(), digest.as_deref());
    }
}
