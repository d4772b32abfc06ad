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
fn the_login_does_not_depend_on_the_order_of_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let [empty, login] = ["empty.json", "login.json"].map(|name| folder.path().join(name));
    std::fs::write(&empty, "{}").unwrap();
    let entry = r#"{"auths": {"registry.example": {"auth": "dXNlcjpwYXNz"}}}"#;
    std::fs::write(&login, entry).unwrap();
    let missing = folder.path().join("missing.json");
    for files in [vec![missing.clone(), empty.clone(), login.clone()], vec![login, empty, missing]]
    {
        let stored = Stored { files, is_required: false };
        let found = stored.find(&image("registry.example/etcd"), &Limits::default()).unwrap();
        let Found { identity, origin } = found.unwrap();
        assert!(matches!(identity, Identity::Password(login) if login.user() == "user"));
        assert!(origin.ends_with("login.json"), "{origin}");
    }
}
