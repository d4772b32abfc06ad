use proptest::prelude::*;

use super::*;

fn image(text: &str) -> ImageReference {
    ImageReference::parse(text).unwrap()
}

/// Changing any of these names orphans existing objects on clusters.
#[test]
fn derived_names_never_change() {
    let digest = format!("registry.example/bundles/etcd@sha256:{}", "0a".repeat(32));
    let both = format!("registry.example/bundles/etcd:0.9.4@sha256:{}", "0a".repeat(32));
    let long =
        format!("registry.example/{}:{}", "long-name-".repeat(9) + "end", "1.2.3-".repeat(9));
    for (text, encoding, name) in [
        // printf registry.example/bundles/etcd:0.9.4 | sha256sum
        ("registry.example/bundles/etcd:0.9.4", Encoding::Auto, "etcd-0-9-4-e1d7adc1aa359aeac13f"),
        // printf 'registry.example/bundles/etcd:0.9.4\0encoding=gzip' | sha256sum
        ("registry.example/bundles/etcd:0.9.4", Encoding::Gzip, "etcd-0-9-4-fb10273675db6893c0c1"),
        ("registry.example/bundles/etcd:0.9.4", Encoding::Plain, "etcd-0-9-4-7c680d2e62356a24568e"),
        ("etcd", Encoding::Auto, "etcd-c38cbd92fce41312f3fb"),
        (
            "registry.example:5000/a/b_c--d.e:V1.0__x-",
            Encoding::Auto,
            "b-c-d-e-v1-0-x-ddba5b367dbc8f10ff56",
        ),
        ("etcd:___", Encoding::Auto, "etcd-68931c605fe784909ea9"),
        (&digest, Encoding::Auto, "etcd-871191046a5b69af6dd9"),
        (&both, Encoding::Auto, "etcd-0-9-4-e9c1796eb5ff50f272f6"),
        (&long, Encoding::Auto, "long-name-l-1-2-3-1-2-3-1-2-3-1-c2dc9734e03079f2b7eb"),
    ] {
        assert_eq!(derived(&image(text), encoding), name, "{text} {encoding}");
    }
}

#[test]
fn other_images_and_encodings_have_other_names() {
    let names = [
        derived(&image("registry.example/etcd:1"), Encoding::Auto),
        derived(&image("registry.example/etcd:1"), Encoding::Plain),
        derived(&image("registry.example/etcd:1"), Encoding::Gzip),
        derived(&image("registry.example/etcd:2"), Encoding::Auto),
        derived(&image("mirror.example/etcd:1"), Encoding::Auto),
    ];
    let different: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
}

#[test]
fn generated_names_differ_each_time() {
    let image = image("registry.example/etcd:1");
    let names: std::collections::BTreeSet<_> = (0..100).map(|_| generated(&image)).collect();
    assert_eq!(names.len(), 100);
    assert!(names.iter().all(|name| name.starts_with("etcd-1-") && given(name).is_ok()));
}

#[test]
fn a_given_name_is_a_label_with_room_for_suffixes() {
    for name in ["a", "0", "etcd-0-9-4", &"a".repeat(52)] {
        assert_eq!(given(name).unwrap(), name);
    }
    for name in ["", "-a", "a-", "A", "a.b", "a_b", "é", "a b", &"a".repeat(53)] {
        let error = given(name).unwrap_err().to_string();
        assert!(error.contains(&format!("{name:?} is not a valid name")), "{error}");
    }
}

#[test]
fn the_number_of_an_attempt_is_read_from_the_name_of_its_job() {
    for (job, attempt) in [
        ("etcd-1-1", Some(1)),
        ("etcd-1-10", Some(10)),
        ("etcd-1-4294967295", Some(u32::MAX)),
        ("etcd-1-4294967296", None),
        ("etcd-1", None),
        ("etcd-1-", None),
        ("etcd-1-0", None),
        ("etcd-1-01", None),
        ("etcd-1-+1", None),
        ("etcd-1-1-1", None),
        ("etcd-11", None),
        ("redis-1", None),
    ] {
        assert_eq!(attempt_number("etcd-1", job), attempt, "{job}");
    }
}

proptest! {
    #[test]
    fn every_name_is_a_label_and_leaves_room_for_suffixes(
        repository in r"[a-z0-9]{1,30}((\.|_|__|-{1,9})[a-z0-9]{1,30}){0,3}(/[a-z0-9]{1,60}){0,2}",
        tag in proptest::option::of(r"[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127}"),
        attempt in 1..u32::MAX,
    ) {
        let tag = tag.map(|tag| format!(":{tag}")).unwrap_or_default();
        let image = image(&format!("registry.example/{repository}{tag}"));
        for name in [derived(&image, Encoding::Auto), generated(&image)] {
            prop_assert!(check_label(&name, MAX_LENGTH).is_ok(), "{}", name);
            prop_assert!(given(&name).is_ok());
            let job = job_name(&name, attempt);
            prop_assert!(check_label(&job, unlade_name::MAX_LABEL).is_ok(), "{}", job);
            prop_assert_eq!(attempt_number(&name, &job), Some(attempt));
        }
    }
}
