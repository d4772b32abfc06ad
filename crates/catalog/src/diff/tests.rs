use std::sync::Mutex;

use super::*;
use crate::{File, Limits};

const OLD: &str = r"
schema: olm.package
name: tea
defaultChannel: stable
description: hot
---
schema: olm.channel
package: tea
name: stable
entries: [{name: tea.v1, replaces: tea.v0, skips: [a, b]}, {name: tea.v0, skipRange: <1.0.0}]
---
schema: olm.channel
package: tea
name: old
entries: [{name: tea.v0}]
---
schema: olm.bundle
package: tea
name: tea.v1
image: registry.example/tea:1
properties:
- {type: olm.package, value: {packageName: tea, version: 1.0.0}}
- {type: olm.gvk, value: {group: g, kind: K, version: v1}}
relatedImages: [{name: a, image: registry.example/a}]
---
schema: olm.deprecations
package: tea
entries: [{reference: {schema: olm.channel, name: old}, message: gone}]
---
schema: my.schema
package: tea
name: x
value: 1
";

fn snapshot(text: &str) -> Snapshot {
    let snapshot = Mutex::new(Snapshot::default());
    File::read_each("c.yaml", text.as_bytes(), &Limits::default(), |meta, place| {
        snapshot.lock().unwrap().add(&meta, place);
    });
    snapshot.into_inner().unwrap()
}

#[test]
fn only_one_entry_without_a_name_is_compared() {
    let channel = |entries: &str| {
        let channel = "schema: olm.channel\npackage: tea\nname: stable\nentries:";
        format!("{channel} [{{replaces: tea.v0}}{entries}]\n")
    };
    let changed = channel(", {name: tea.v1}, {replaces: a}");
    let expected = ["stable/: ~ head:  -> , tea.v1", "stable/tea.v1: + entry"];
    assert_eq!(changes(&channel(""), &changed), expected);
}

/// Returns the changes as `channel/bundle: sign change`.
fn changes(old: &str, new: &str) -> Vec<String> {
    let line = |change: &Change| {
        let sign = match (&change.old, &change.new) {
            (None, _) => '+',
            (_, None) => '-',
            _ => '~',
        };
        let Change { channel, bundle, subject, name, old, new, .. } = change;
        let subject = [subject.describe(), name].join(" ");
        let values: Vec<_> = [old, new].into_iter().flatten().map(String::as_str).collect();
        let line =
            format!("{channel}/{bundle}: {sign} {}: {}", subject.trim(), values.join(" -> "));
        line.trim_end_matches(": ").to_owned()
    };
    compare(&snapshot(old), &snapshot(new)).unwrap().iter().map(line).collect()
}

#[test]
fn the_first_entry_of_a_name_is_compared_and_others_are_reported() {
    let channel = |replaced: &str| {
        format!(
            "schema: olm.channel\npackage: tea\nname: stable\n\
             entries: [{{name: a, replaces: {replaced}}}, {{name: a}}]\n"
        )
    };
    assert_eq!(changes(&channel("v"), &channel("w")), ["stable/a: ~ replaces: v -> w"]);
    let duplicates = snapshot(&channel("v"));
    let expected = ["entry \"a\" of the channel stable of the package tea"];
    assert_eq!(duplicates.duplicates().collect::<Vec<_>>(), expected);
}

#[test]
fn a_property_with_the_value_null_is_compared() {
    let changed = OLD.replace("properties:\n", "properties:\n- {type: my.type, value: null}\n");
    assert_eq!(changes(OLD, &changed), ["/tea.v1: + property my.type: null"]);
}

#[test]
fn every_field_that_differs_is_a_change() {
    for (old, new, expected) in [
        ("defaultChannel: stable", "defaultChannel: old", "/: ~ default channel: stable -> old"),
        ("description: hot", "description: cold", "/: ~ field description: hot -> cold"),
        ("description: hot", "properties: []", "/: - field description: hot"),
        ("replaces: tea.v0,", "", "stable/tea.v1: - replaces: tea.v0"),
        ("skips: [a, b]", "skips: [b]", "stable/tea.v1: - skips: a"),
        ("skips: [a, b]", "skips: [b, a, c]", "stable/tea.v1: + skips: c"),
        ("skipRange: <1.0.0", "skipRange: <2.0.0", "stable/tea.v0: ~ skipRange: <1.0.0 -> <2.0.0"),
        ("[{name: tea.v1", "[{name: tea.v2}, {name: tea.v1", "stable/tea.v2: + entry"),
        (", {name: tea.v0, skipRange: <1.0.0}", "", "stable/tea.v0: - entry: skipRange <1.0.0"),
        ("name: old\n", "name: new\n", "new/: + channel: tea.v0"),
        (
            "image: registry.example/tea:1",
            "image: x",
            "/tea.v1: ~ image: registry.example/tea:1 -> x",
        ),
        ("version: 1.0.0", "version: 1.0.1", "/tea.v1: ~ version: 1.0.0 -> 1.0.1"),
        (
            "kind: K, version: v1",
            "kind: K, version: v2",
            r#"/tea.v1: ~ property olm.gvk: {"group":"g","kind":"K","version":"v1"} -> {"group":"g","kind":"K","version":"v2"}"#,
        ),
        ("image: registry.example/a", "image: b", "/tea.v1: + related image: a b"),
        (
            "name: tea.v1\nimage",
            "name: tea.v3\nimage",
            "/tea.v3: + bundle: 1.0.0 registry.example/tea:1",
        ),
        ("message: gone", "message: soon", "/: ~ deprecation of olm.channel old: gone -> soon"),
        ("value: 1\n", "value: 2\n", "/: ~ meta my.schema x: "),
    ] {
        let changed = OLD.replace(old, new);
        let found = changes(OLD, &changed);
        assert!(found.iter().any(|line| line.starts_with(expected)), "{old}: {found:#?}");
        assert!(!changes(&changed, OLD).is_empty());
    }
    assert!(changes(OLD, OLD).is_empty());
}

#[test]
fn the_order_of_documents_and_of_lists_is_not_a_change() {
    let mut documents: Vec<_> = OLD.split("---\n").map(str::trim).collect();
    documents.reverse();
    let reversed = documents.join("\n---\n").replace("[a, b]", "[b, a]");
    assert_eq!(changes(OLD, &reversed), [""; 0]);
}

#[test]
fn a_new_head_is_a_change_of_the_channel() {
    let new = OLD.replace("[{name: tea.v1,", "[{name: tea.v2, replaces: tea.v1}, {name: tea.v1,");
    assert_eq!(
        changes(OLD, &new),
        ["stable/: ~ head: tea.v1 -> tea.v2", "stable/tea.v2: + entry: replaces tea.v1"]
    );
}

#[test]
fn a_package_that_was_added_is_listed_with_its_channels_and_bundles() {
    let package = "{schema: olm.package, name: p, defaultChannel: c}";
    let channel = "{schema: olm.channel, package: p, name: c, entries: [{name: b, replaces: a}]}";
    let bundle = "{schema: olm.bundle, package: p, name: b, image: i}";
    let text = format!("---\n{package}\n---\n{channel}\n---\n{bundle}");
    let expected = ["/: + package: c", "c/: + channel: b", "/b: + bundle: i"];
    assert_eq!(changes("", &text), expected);
    assert_eq!(changes(&text, ""), expected.map(|line| line.replace('+', "-")));
}

#[test]
fn the_first_of_several_duplicates_is_compared() {
    let text = "---\n{schema: olm.bundle, package: p, name: b, image: one}\n---\n\
                {schema: olm.bundle, package: p, name: b, image: two}";
    assert_eq!(changes("", text), ["/b: + bundle: one"]);
    let expected = ["olm.bundle b of the package p"];
    assert_eq!(snapshot(text).duplicates().collect::<Vec<_>>(), expected);
}

#[test]
fn long_values_are_digests() {
    let long = OLD.replace("hot", &"long".repeat(90));
    let found = changes(OLD, &long);
    assert!(found[0].starts_with("/: ~ field description: hot -> sha256:"), "{found:?}");
    assert!(found[0].ends_with(" (360 bytes)"), "{found:?}");
}

#[test]
fn long_keys_are_compared_in_the_order_of_their_digests() {
    let catalog =
        |key: &str| format!("{{schema: olm.package, name: tea, {key}: 1, {}: x}}", "z".repeat(301));
    assert_eq!(changes(&catalog("t"), &catalog("u")), ["/: - field t: 1", "/: + field u: 1"]);
}

#[test]
fn a_repeated_deprecation_is_reported_once() {
    let entry = "- {reference: {schema: olm.bundle, name: b}, message: m}\n";
    let entries = entry.repeat(1_000);
    let text = format!("schema: olm.deprecations\npackage: tea\nentries:\n{entries}");
    let expected = ["deprecation of olm.bundle b of the package tea"];
    assert_eq!(snapshot(&text).duplicates().collect::<Vec<_>>(), expected);
}

#[test]
fn changes_do_not_repeat_long_names() {
    let [package, channel] = ["p", "c"].map(|name| name.repeat(10_000));
    let catalog = |entry: &str| {
        format!(
            "{{schema: olm.channel, package: {package}, name: {channel}, entries: [{{name: {entry}}}]}}"
        )
    };
    let changes =
        compare(&snapshot(&catalog("a")), &snapshot(&catalog(&"b".repeat(10_000)))).unwrap();
    assert_eq!(changes.len(), 3, "{changes:?}");
    for change in changes {
        let Change { package, channel, bundle, .. } = &change;
        assert!([package, channel, bundle].iter().all(|it| it.len() < 100), "{change:?}");
        assert!(channel.ends_with(" (10000 bytes)"), "{change:?}");
    }
}

#[test]
fn many_changes_are_counted_and_not_listed() {
    let catalog = |letter: &str| {
        let skips: Vec<_> = (0..60_000).map(|n| format!("{letter}{n}")).collect();
        format!(
            "{{schema: olm.channel, package: tea, name: c, entries: [{{name: a, skips: [{}]}}]}}",
            skips.join(",")
        )
    };
    let changes = compare(&snapshot(&catalog("a")), &snapshot(&catalog("b"))).unwrap();
    assert_eq!(changes.len(), MAX_CHANGES + 1);
    let last = changes.last().unwrap();
    assert_eq!((last.subject, last.new.as_deref()), (Subject::Others, Some("20000")));
}

#[test]
fn changes_with_long_names_are_counted_and_not_listed() {
    let name = "n".repeat(300);
    let catalog = |letter: &str| {
        let skips: Vec<_> = (0..30_000).map(|n| format!("{letter}{n}")).collect();
        format!(
            "{{schema: olm.channel, package: {name}, name: {name}, entries: [{{name: {name}, skips: \
             [{}]}}]}}",
            skips.join(",")
        )
    };
    let changes = compare(&snapshot(&catalog("a")), &snapshot(&catalog("b"))).unwrap();
    let n_listed = changes.len() - 1;
    assert!((18_000..20_000).contains(&n_listed), "{n_listed}");
    let n_others = changes.last().unwrap().new.as_ref().unwrap().parse::<usize>();
    assert_eq!(n_listed + n_others.unwrap(), 60_000);
}
