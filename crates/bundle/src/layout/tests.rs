use super::*;

fn layout(key: &str, path: &str) -> Result<Layout, Error> {
    let text = format!("annotations:\n  {key}: {path}\n");
    read(Some(text.as_bytes()), &Limits::default())
}

#[test]
fn paths_are_cleaned_and_lie_beneath_the_root() {
    for (path, manifests) in [
        ("manifests/", "manifests"),
        ("/manifests", "manifests"),
        ("./a//b/.", "a/b"),
        ("//deploy/", "deploy"),
        ("a..b/...", "a..b/..."),
        ("''", "manifests"),
        ("metadata/a", "metadata/a"),
    ] {
        let layout = layout(MANIFESTS, path).unwrap();
        assert_eq!(layout.manifests, manifests, "{path}");
        assert_eq!(layout.findings, [], "{path}");
    }
}

#[test]
fn paths_that_leave_the_bundle_are_refused() {
    for path in ["..", "../manifests", "a/../b", "/..", "\"a\\0\""] {
        assert!(matches!(layout(MANIFESTS, path), Err(Error::Path { .. })), "{path}");
    }
    for path in ["metadata", "/metadata/", "./metadata/."] {
        assert!(matches!(layout(MANIFESTS, path), Err(Error::Metadata)), "{path}");
    }
}

#[test]
fn a_path_to_the_root_is_ignored_and_reported() {
    for path in ["/", ".", "./"] {
        let layout = layout(MANIFESTS, path).unwrap();
        assert_eq!(layout.manifests, "manifests");
        assert_eq!(layout.findings[0].reason, Reason::PathIgnored, "{path}");
    }
}

#[test]
fn another_path_of_metadata_is_reported() {
    for (path, found) in [
        ("metadata/", false),
        ("/metadata", false),
        ("''", false),
        ("other/", true),
        ("/", true),
        ("../metadata", true),
    ] {
        assert_eq!(!layout(METADATA, path).unwrap().findings.is_empty(), found, "{path}");
    }
}

#[test]
fn a_missing_manifests_directory_falls_back_to_the_default_and_is_reported() {
    let layout = layout(MANIFESTS, "deploy/").unwrap();
    let fallback = layout.fallback().unwrap();
    assert_eq!(fallback.manifests, "manifests");
    assert_eq!(fallback.findings[0].reason, Reason::PathIgnored);
    assert!(fallback.findings[0].message.contains("deploy"));
    assert_eq!(fallback.fallback(), None);
}
