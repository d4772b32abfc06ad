use super::*;

fn image(text: &str) -> ImageReference {
    text.parse().unwrap()
}

#[test]
fn entries_cover_what_podman_and_docker_use_them_for() {
    for (key, length) in [
        ("registry.example:5000", Some(0)),
        ("registry.example:5000/", Some(0)),
        ("registry.example:5000/team", Some(4)),
        ("registry.example:5000/team/etcd", Some(9)),
        ("https://registry.example:5000/v1/", Some(0)),
        ("https://registry.example:5000", Some(0)),
        ("registry.example:5000/tea", None),
        ("registry.example:5000/other", None),
        ("registry.example", None),
        ("example:5000", None),
        ("", None),
    ] {
        assert_eq!(covered(key, &image("registry.example:5000/team/etcd:1")), length, "{key}");
    }
    for key in ["docker.io", "index.docker.io", DOCKER_KEY] {
        assert_eq!(covered(key, &image("etcd")), Some(0), "{key}");
        assert_eq!(covered(key, &image("registry.example/etcd")), None, "{key}");
    }
    assert_eq!(covered("docker.io/library/etcd", &image("etcd")), Some(12));
}

#[test]
fn the_credentials_do_not_depend_on_the_order_of_the_files() {
    let directory = tempfile::tempdir().unwrap();
    let [empty, stored] = ["empty.json", "stored.json"].map(|name| directory.path().join(name));
    std::fs::write(&empty, "{}").unwrap();
    let entry = r#"{"auths": {"registry.example": {"auth": "dXNlcjpwYXNz"}}}"#;
    std::fs::write(&stored, entry).unwrap();
    let missing = directory.path().join("missing.json");
    for files in
        [vec![missing.clone(), empty.clone(), stored.clone()], vec![stored, empty, missing]]
    {
        let stored = Stored { given: Vec::new(), files, is_required: false };
        let found = stored.find(&image("registry.example/etcd"), &Limits::default()).unwrap();
        let Found { identity, origin } = found.unwrap();
        assert!(
            matches!(identity, Identity::Password(credentials) if credentials.user() == "user")
        );
        assert!(origin.ends_with("stored.json"), "{origin}");
    }
}

#[test]
fn a_pull_secret_comes_before_the_files_and_runs_no_helper() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("auth.json");
    let entry = r#"{"auths": {"a.example": {"auth": "ZmlsZTpwYXNz"}}}"#;
    std::fs::write(&path, entry).unwrap();
    let secret = r#"{
        "auths": {"*.example/team": {"username": "wide"}, "a.example/team/e": {"auth": "Zml0OnA="}},
        "credHelpers": {"a.example": "none"}, "credsStore": "none"
    }"#;
    let stored = Stored::file(path).with_pull_secret("Secret x/y", secret.to_owned().into());
    let user = |name: &str| {
        let found = stored.find(&image(name), &Limits::default()).unwrap().unwrap();
        let Identity::Password(credentials) = found.identity else { panic!("a token") };
        (credentials.user().to_owned(), found.origin.contains("Secret x/y"))
    };
    assert_eq!(user("a.example/team/etcd:1"), ("fit".to_owned(), true));
    assert_eq!(user("a.example/team/a:1"), ("wide".to_owned(), true));
    assert_eq!(user("a.example/other:1"), ("file".to_owned(), false));
}

#[test]
fn the_credentials_with_the_longest_path_are_used_whatever_the_notation() {
    let user = |entries: &[(&str, &str)], is_secret: bool| {
        let auths =
            entries.iter().map(|(key, user)| format!(r#""{key}": {{"username": "{user}"}}"#));
        let text = format!(r#"{{"auths": {{{}}}}}"#, auths.collect::<Vec<_>>().join(", "));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("auth.json");
        std::fs::write(&path, if is_secret { "{}" } else { &text }).unwrap();
        let mut stored = Stored::file(path);
        if is_secret {
            stored = stored.with_pull_secret("Secret x/y", text.into());
        }
        let found = stored.find(&image("a.example/team/etcd:1"), &Limits::default()).unwrap();
        let Identity::Password(credentials) = found.unwrap().identity else { panic!("a token") };
        credentials.user().to_owned()
    };
    for is_secret in [false, true] {
        let long = [("https://a.example/v1/", "address"), ("a.example/team", "path")];
        assert_eq!(user(&long, is_secret), "path");
        let same = [("https://a.example/v1/", "address"), ("a.example", "plain")];
        assert_eq!(user(&same, is_secret), "plain");
    }
    let globs = [("https://a.example", "address"), ("*.example", "glob"), ("a.example", "host")];
    assert_eq!(user(&globs, true), "host");
    let path = [("https://a.example/v2/team", "address"), ("a.example", "host")];
    assert_eq!(user(&path, true), "address");
}

#[test]
fn null_is_an_empty_map_or_entry_as_in_go() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("auth.json");
    let find = || {
        let stored = Stored::file(&path);
        stored.find(&image("registry.example/etcd"), &Limits::default()).unwrap()
    };
    std::fs::write(&path, r#"{"auths": null, "credHelpers": null, "credsStore": null}"#).unwrap();
    assert!(find().is_none());
    let entry = r#"{"auths": {"registry.example": {"username": "user"}, "other.example": null},
        "credHelpers": null}"#;
    std::fs::write(&path, entry).unwrap();
    assert!(find().is_some());
}
