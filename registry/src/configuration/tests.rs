use std::path::Path;

use super::*;

fn rules(text: &str) -> Result<Rules, Error> {
    let mut rules = Rules::default();
    rules.parse(text, Path::new("test.conf"))?;
    Ok(rules)
}

fn endpoints(rules: &Rules, image: &str) -> Vec<(String, bool, bool)> {
    let endpoints = rules.endpoints(&image.parse().unwrap()).unwrap();
    endpoints.into_iter().map(|it| (it.image.to_string(), it.insecure, it.is_mirror)).collect()
}

fn names(rules: &Rules, image: &str) -> Vec<String> {
    endpoints(rules, image).into_iter().map(|(name, ..)| name).collect()
}

#[test]
fn the_longest_prefix_decides() {
    let rules = rules(
        r#"
        [[registry]]
        location = "a.example"
        [[registry]]
        prefix = "a.example/team"
        location = "b.example/x"
        [[registry]]
        prefix = "a.example/team/app"
        location = "c.example/app"
        [[registry]]
        prefix = "*.d.example"
        location = "e.example/d"
        insecure = true
        [[registry]]
        prefix = "*.f.example"
        [[registry]]
        prefix = "*.a.d.example"
        location = "g.example/a"
        [[registry]]
        prefix = "*.f.example/secret"
        location = "h.example"
        "#,
    )
    .unwrap();
    for (image, expected) in [
        ("a.example/other:v1", "a.example/other:v1"),
        ("a.example/team/x:v1", "b.example/x/x:v1"),
        ("a.example/teams/x:v1", "a.example/teams/x:v1"),
        ("a.example/team/app:v1", "c.example/app:v1"),
        ("a.example/team/application", "b.example/x/application"),
        ("x.d.example/y:v1", "e.example/d/y:v1"),
        ("x.y.d.example/y:v1", "e.example/d/y:v1"),
        ("x.a.d.example/y:v1", "g.example/a/y:v1"),
        ("d.example/y:v1", "d.example/y:v1"),
        ("a.example:5000/team/x", "a.example:5000/team/x"),
        ("x.f.example/y", "x.f.example/y"),
        ("x.f.example/secret/y:v1", "h.example/y:v1"),
        ("x.f.example/secrets/y", "x.f.example/secrets/y"),
        ("other.example/x.f.example/secret/y", "other.example/x.f.example/secret/y"),
    ] {
        assert_eq!(names(&rules, image), [expected], "{image}");
    }
    assert!(endpoints(&rules, "x.d.example/y:v1")[0].1);
    // A push goes to the registry itself.
    let destination = rules.destination(&"x.d.example/y:v1".parse().unwrap()).unwrap();
    assert_eq!((destination.image.as_str(), destination.insecure), ("x.d.example/y:v1", true));
}

#[test]
fn rules_of_one_registry_must_agree() {
    let twice = |first: &str, second: &str| {
        rules(&format!(
            "[[registry]]\nlocation = \"a.example\"\n{first}\n\
             [[registry]]\nprefix = \"b.example\"\nlocation = \"a.example\"\n{second}"
        ))
    };
    twice("blocked = true", "blocked = true").unwrap();
    for (first, second) in [("blocked = true", ""), ("", "insecure = true")] {
        let error = twice(first, second).unwrap_err();
        assert!(error.to_string().contains("conflicting values"), "{error}");
    }
}

#[test]
fn a_name_without_a_registry_is_that_of_docker_hub() {
    let rules = rules("[[registry]]\nprefix = \"docker.io\"\nlocation = \"hub.example\"").unwrap();
    assert_eq!(names(&rules, "etcd:v1"), ["hub.example/library/etcd:v1"]);
    assert_eq!(names(&rules, "index.docker.io/a/b"), ["hub.example/a/b"]);
}

#[test]
fn mirrors_come_in_their_order_and_by_the_kind_of_reference() {
    let text = r#"
        [[registry]]
        location = "a.example"
        insecure = true
        [[registry.mirror]]
        location = "all.example/a"
        [[registry.mirror]]
        location = "digest.example/"
        pull-from-mirror = "digest-only"
        insecure = true
        [[registry.mirror]]
        location = "tag.example"
        pull-from-mirror = "tag-only"
        "#;
    let parsed = rules(text).unwrap();
    let digest = format!("@sha256:{}", "0a".repeat(32));
    let by_digest = endpoints(&parsed, &format!("a.example/x:v1{digest}"));
    assert_eq!(
        by_digest,
        [
            (format!("all.example/a/x:v1{digest}"), false, true),
            (format!("digest.example/x:v1{digest}"), true, true),
            (format!("a.example/x:v1{digest}"), true, false),
        ]
    );
    let by_tag = names(&parsed, "a.example/x:v1");
    assert_eq!(by_tag, ["all.example/a/x:v1", "tag.example/x:v1", "a.example/x:v1"]);
    let text = text.replacen("insecure", "mirror-by-digest-only = true\ninsecure", 1);
    let error = rules(&text).unwrap_err();
    assert!(error.to_string().contains("mirror-by-digest-only"), "{error}");
    let text = text.lines().filter(|line| !line.contains("pull-from")).collect::<Vec<_>>();
    let parsed = rules(&text.join("\n")).unwrap();
    assert_eq!(names(&parsed, "a.example/x:v1"), ["a.example/x:v1"]);
    assert_eq!(names(&parsed, &format!("a.example/x{digest}")).len(), 4);
}

#[test]
fn a_blocked_registry_is_an_error_that_names_the_file() {
    let rules = rules("[[registry]]\nlocation = \"a.example/bad\"\nblocked = true").unwrap();
    let blocked = "a.example/bad/x:v1".parse().unwrap();
    for error in [rules.endpoints(&blocked).unwrap_err(), rules.destination(&blocked).unwrap_err()]
    {
        assert_eq!(error.to_string(), "the registry a.example/bad is blocked in test.conf");
    }
    assert_eq!(names(&rules, "a.example/good"), ["a.example/good"]);
}

#[test]
fn invalid_files_are_refused_with_their_names() {
    for (text, problem) in [
        ("[[registry]]", "neither a prefix nor a location"),
        ("[[registry]]\nprefix = \"a.example\"", "it has no location"),
        ("[[registry]]\nlocation = \"https://a.example\"", "it must not begin with a scheme"),
        ("[[registry]]\nlocation = \"a.example\"\n[[registry.mirror]]", "a mirror has no location"),
        ("[[registry]]\nlocation = \"a.example\"\npull-from-mirror = \"all\"", "of a mirror"),
        ("[registries.search]\nregistries = []", "version 1"),
        ("[[registry]]\nlocation = 1", "is not a valid registries.conf"),
        ("[[registry", "is not a valid registries.conf"),
    ] {
        let error = rules(text).unwrap_err();
        let message = unlade_text::chain(&error);
        assert!(message.contains(problem) && message.contains("test.conf"), "{text}: {message}");
    }
    let rules = rules("[[registry]]\nprefix = \"a.example\"\nlocation = \"B C\"").unwrap();
    let error = rules.endpoints(&"a.example/x".parse().unwrap()).unwrap_err();
    assert!(matches!(error, Error::Name { .. }), "{error}");
}

#[test]
fn later_files_replace_rules_with_the_same_prefix() {
    let directory = tempfile::tempdir().unwrap();
    let drop_in = directory.path().join("registries.conf.d");
    std::fs::create_dir(&drop_in).unwrap();
    let rule = |to: &str| format!("[[registry]]\nprefix = \"a.example\"\nlocation = \"{to}\"\n");
    let main = directory.path().join("registries.conf");
    let search = "unqualified-search-registries = [\"s.example\"]\n";
    std::fs::write(&main, format!("{search}{}", rule("main.example"))).unwrap();
    let read = || Configuration::file(&main).with_directory(&drop_in).read();
    assert_eq!(names(&read().unwrap(), "a.example/x"), ["main.example/x"]);
    std::fs::write(drop_in.join("2.conf"), rule("two.example")).unwrap();
    std::fs::write(drop_in.join("1.conf"), rule("one.example")).unwrap();
    std::fs::write(drop_in.join("3.txt"), "not read").unwrap();
    let rules = read().unwrap();
    assert_eq!(names(&rules, "a.example/x"), ["two.example/x"]);
    assert_eq!(rules.unqualified_search_registries(), ["s.example"]);
    let missing = Configuration::file(directory.path().join("none")).read().unwrap_err();
    assert!(missing.to_string().contains("none"), "{missing}");
    assert_eq!(Configuration::default().read().unwrap(), Rules::default());
}
