//! `unlade catalog add` and `unlade catalog deprecate`.

use std::fs;

use super::{VALID, write};
use crate::{
    bundle::{ANNOTATIONS, Bundle},
    run::unlade,
};

const IMAGE: &str = "registry.example/tea-operator:1.2.3";

fn add(catalog: &str, bundle: &Bundle, more: &[&str]) -> crate::finished::Finished {
    let arguments = ["catalog", "add", catalog, bundle.argument(), "--image", IMAGE, "--migrate"];
    unlade([&arguments[..], more].concat())
}

#[test]
fn a_bundle_is_added_with_its_edges_and_everything_else_keeps_its_text() {
    let text = VALID
        .replace("- name: tea.v1\n", "# the first\n- name: tea.v1 # hot\n\n# the end\n")
        .replace("entries:", "entries: # all");
    let catalog = write(&text);
    let path = catalog.path().to_str().unwrap();
    let edges = ["-c", "stable", "--replaces", "tea.v1", "--skips", ""];
    let finished = add(path, &Bundle::new(), &edges);
    let expected = format!(
        "package tea\n  ~ channel stable: head: tea.v1 -> tea-operator.v1.2.3\n  + channel stable, entry \
         tea-operator.v1.2.3: replaces tea.v1, skipRange >=1.0.0 <1.2.3\n  + bundle \
         tea-operator.v1.2.3: 1.2.3 {IMAGE}\n"
    );
    assert_eq!(finished.stdout, expected);
    assert_eq!(finished.stderr, "changed: catalog.yaml\n");
    let changed = fs::read_to_string(catalog.path().join("catalog.yaml")).unwrap();
    let entry = "- name: tea-operator.v1.2.3\n  replaces: tea.v1\n  skipRange: '>=1.0.0 <1.2.3'\n";
    let start = text.replace("# hot\n", &format!("# hot\n{entry}"));
    let bundle = changed.strip_prefix(&start).unwrap();
    assert!(bundle.starts_with(&format!("---\nimage: {IMAGE}\n")), "{bundle}");
    unlade(["catalog", "validate", path]).success();

    // The same bundle again changes nothing, and a further channel gets only an entry.
    assert_eq!(add(path, &Bundle::new(), &edges).success(), "");
    let more = ["-c", "fast", "--create", "--replaces=", "--skips="];
    add(path, &Bundle::new(), &more).success();
    let more = fs::read_to_string(catalog.path().join("catalog.yaml")).unwrap();
    let channel = more.strip_prefix(&changed).unwrap();
    assert_eq!(channel.matches("---").count(), 1, "{channel}");
    assert!(channel.contains("name: fast\n"), "{channel}");

    let other = Bundle::new().without("metadata/dependencies.yaml");
    let stderr = add(path, &other, &edges).failure(1);
    assert!(
        stderr.contains("already contains another bundle with the name tea-operator.v1.2.3"),
        "{stderr}"
    );
    let stderr = add(path, &Bundle::new(), &["-c", "stable", "--replaces="]).failure(1);
    assert!(stderr.contains("with other edges"), "{stderr}");
}

#[test]
fn a_new_package_takes_its_channels_from_the_bundle() {
    let catalog = tempfile::tempdir().unwrap();
    let path = catalog.path().to_str().unwrap();
    let stderr = add(path, &Bundle::new(), &[]).failure(1);
    assert!(stderr.contains("package tea does not exist"), "{stderr}");
    assert!(stderr.contains("hint: use --create to create it"), "{stderr}");
    let finished = add(path, &Bundle::new(), &["--create", "--dry-run"]);
    assert_eq!(finished.stderr, "would be changed: tea/catalog.yaml\n");
    assert_eq!(fs::read_dir(catalog.path()).unwrap().count(), 0);
    add(path, &Bundle::new(), &["--create"]).success();
    let rows = unlade(["catalog", "list", "channels", path, "--no-headers"]).success();
    assert!(rows.contains("beta") && rows.contains("stable"), "{rows}");
    let row = unlade(["catalog", "list", "packages", path, "--no-headers"]).success();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["tea", "stable"]);
}

#[test]
fn spaces_around_the_names_of_channels_are_dropped_with_a_warning() {
    let catalog = tempfile::tempdir().unwrap();
    let path = catalog.path().to_str().unwrap();
    let annotations = ANNOTATIONS
        .replace("beta,stable", "'candidate, stable ,stable'")
        .replace("default.v1: stable", "default.v1: 'stable '");
    let bundle = Bundle::new().with("metadata/annotations.yaml", annotations);
    let finished = add(path, &bundle, &["--create"]);
    let warning = "warning: operators.operatorframework.io.bundle.channels.v1";
    assert!(finished.stderr.contains(warning), "{}", finished.stderr);
    finished.success();
    let text = fs::read_to_string(catalog.path().join("tea/catalog.yaml")).unwrap();
    assert!(text.contains("defaultChannel: stable\n"), "{text}");
    for name in ["candidate", "stable"] {
        assert_eq!(text.matches(&format!("\nname: {name}\n")).count(), 1, "{text}");
    }
    assert_eq!(text.matches("schema: olm.channel\n").count(), 2, "{text}");
}

#[test]
fn many_channels_are_added_at_once_and_more_are_refused() {
    let catalog = tempfile::tempdir().unwrap();
    let path = catalog.path().to_str().unwrap();
    let bundle = |n: usize| {
        let channels: Vec<_> = (0..n).map(|n| format!("c{n}")).collect();
        let annotations = ANNOTATIONS.replace("beta,stable", &channels.join(","));
        Bundle::new().with("metadata/annotations.yaml", annotations)
    };
    let more = ["--create", "--replaces=", "--skips="];
    add(path, &bundle(1_000), &more).success();
    let rows = unlade(["catalog", "list", "channels", path, "--no-headers"]).success();
    assert_eq!(rows.lines().count(), 1_000);
    let stderr = add(path, &bundle(20_000), &more).failure(2);
    let message = "the entries for 20000 channels would have more than 1048576 bytes";
    assert!(stderr.contains(message), "{stderr}");
}

#[test]
fn a_change_that_would_make_a_catalog_invalid_is_refused_with_its_problems() {
    let catalog = write(VALID);
    let path = catalog.path().to_str().unwrap();
    // The edges of the bundle do not lead to tea.v1, so the channel would have two heads.
    let stderr = add(path, &Bundle::new(), &["-c", "stable"]).failure(3);
    assert!(stderr.contains("[several-heads]"), "{stderr}");
    let stderr = add(path, &Bundle::new(), &["-c", "slow"]).failure(1);
    assert!(
        stderr.contains("the channel slow of the package tea, which has stable, does not exist")
    );
    let deprecate = ["catalog", "deprecate", path, "tea", "-m", "old"];
    let stderr = unlade([&deprecate[..], &["-b", "tea.v9"]].concat()).failure(3);
    assert!(stderr.contains("tea.v9"), "{stderr}");
    assert_eq!(fs::read_to_string(catalog.path().join("catalog.yaml")).unwrap(), VALID);
    let stderr = unlade(["catalog", "deprecate", path, "milk", "-m", "old"]).failure(1);
    assert!(stderr.contains("package milk"), "{stderr}");
    fs::write(catalog.path().join(".indexignore"), "new.yaml\n").unwrap();
    let stderr = unlade([&deprecate[..], &["--file", "new.yaml"]].concat()).failure(2);
    assert!(stderr.contains("an .indexignore excludes new.yaml"), "{stderr}");
}

#[test]
fn deprecations_are_added_and_their_messages_replaced() {
    let catalog = write(&format!("# Tea\n{VALID}"));
    let path = catalog.path().to_str().unwrap();
    let deprecate = |more: &[&str]| {
        unlade([&["catalog", "deprecate", path, "tea"], more].concat()).success();
        fs::read_to_string(catalog.path().join("catalog.yaml")).unwrap()
    };
    let text = deprecate(&["-m", "Use pot."]);
    let entry = "- message: Use pot.\n  reference:\n    schema: olm.package\n";
    let end = "package: tea\nschema: olm.deprecations\n";
    assert_eq!(text, format!("# Tea\n{VALID}---\nentries:\n{entry}{end}"));
    let text = deprecate(&["-b", "tea.v1", "-c", "stable", "-m", "Old: slow"]);
    let more = ["olm.channel", "olm.bundle"].map(|schema| {
        let name = if schema == "olm.bundle" { "tea.v1" } else { "stable" };
        format!("- message: 'Old: slow'\n  reference:\n    name: {name}\n    schema: {schema}\n")
    });
    let entries = format!("{entry}{}", more.concat());
    assert_eq!(text, format!("# Tea\n{VALID}---\nentries:\n{entries}{end}"));
    let text = deprecate(&["-m", "Use cup."]);
    assert_eq!(
        text,
        format!("# Tea\n{VALID}---\nentries:\n{}{end}", entries.replace("pot", "cup"))
    );
    // opm ignores a name of the document.
    let named = text.replace("package: tea\nschema: olm.d", "name: x\npackage: tea\nschema: olm.d");
    assert_ne!(text, named);
    fs::write(catalog.path().join("catalog.yaml"), &named).unwrap();
    assert_eq!(deprecate(&["-m", "Use pot."]), named.replace("cup", "pot"));
}

#[test]
fn a_catalog_that_cannot_be_changed_in_place_is_refused() {
    for (name, message) in [
        ("-", "standard input cannot be changed in place"),
        ("registry.example/catalog:v1", "v1 is an image, which cannot be changed in place"),
        ("oci:nowhere", "oci:nowhere is an image, which cannot be changed in place"),
        ("nowhere", "the catalog nowhere does not exist"),
    ] {
        let stderr = unlade(["catalog", "deprecate", name, "tea", "-m", "old"]).failure(2);
        assert!(stderr.contains(message), "{stderr}");
    }
    // The entries of the channel are an alias of YAML, so there is no place for another one.
    let text = VALID.replace("entries:\n- name: tea.v1\n", "x: &e\n- name: tea.v1\nentries: *e\n");
    let catalog = write(&text);
    let path = catalog.path().to_str().unwrap();
    let stderr = add(path, &Bundle::new(), &["-c", "stable", "--replaces", "tea.v1"]).failure(1);
    assert!(stderr.contains("cannot be changed in place"), "{stderr}");
    let hint = "hint: write the entries as a block list, one item on each line";
    assert!(stderr.contains(hint), "{stderr}");
}

#[test]
fn names_that_are_given_twice_count_once() {
    let catalog = write(VALID);
    let path = catalog.path().to_str().unwrap();
    let edges = ["--replaces=", "--skips=", "--create"];
    add(path, &Bundle::new(), &[&edges[..], &["-c", "fast,fast", "-c", "fast"]].concat()).success();
    let text = fs::read_to_string(catalog.path().join("catalog.yaml")).unwrap();
    assert_eq!(text.matches("name: fast\n").count(), 1, "{text}");
    let deprecate = ["catalog", "deprecate", path, "tea", "-m", "old"];
    unlade([&deprecate[..], &["-c", "fast,fast", "--file", "./catalog.yaml"]].concat()).success();
    let text = fs::read_to_string(catalog.path().join("catalog.yaml")).unwrap();
    assert_eq!(text.matches("message: old\n").count(), 1, "{text}");
    for option in ["--channel=", "--bundle=a,"] {
        unlade([&deprecate[..], &[option]].concat()).failure(2);
    }
}
