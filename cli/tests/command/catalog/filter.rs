//! `unlade catalog filter`.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;

use super::{VALID, write};
use crate::finished::Finished;
use crate::run::unlade;

/// Returns a catalog with two versions, a second channel and a second package.
fn catalog() -> tempfile::TempDir {
    let bundle = "---\nschema: olm.bundle\nname: tea.v2\npackage: tea\nimage: \
                  registry.example/tea:2\nproperties:\n- type: olm.package\n  value: \
                  {packageName: tea, version: 2.0.0}\n";
    let channel = "---\nschema: olm.channel\nname: fast\npackage: tea\nentries:\n\
                   - {name: tea.v2, replaces: tea.v1}\n- {name: tea.v1}\n";
    write(
        &[VALID, bundle, channel, &VALID.replace("tea", "pot")]
            .join("---\n")
            .replace("---\n---", "---"),
    )
}

#[test]
fn a_part_of_a_catalog_is_written_and_valid() {
    let catalog = catalog();
    let path = catalog.path().to_str().unwrap();
    let finished =
        unlade(["catalog", "filter", path, "--package", "tea:fast@>=2.0.0", "-o", "yaml"]);
    assert_eq!(
        finished.stdout,
        "---\ndefaultChannel: fast\nname: tea\nschema: olm.package\n\
         ---\nentries:\n- name: tea.v2\n  replaces: tea.v1\nname: fast\npackage: tea\nschema: \
         olm.channel\n\
         ---\nimage: registry.example/tea:2\nname: tea.v2\npackage: tea\nproperties:\n- type: \
         olm.package\n  value:\n    packageName: tea\n    version: 2.0.0\nschema: olm.bundle\n"
    );
    let note = "adjusted: the default channel of the package tea is fast, because the channel \
                stable is skipped\n";
    assert_eq!(finished.stderr, note);
    let written = write(&finished.stdout);
    unlade(["catalog", "validate", written.path().to_str().unwrap(), "--strict"]).success();
}

#[test]
fn choices_that_select_nothing_are_errors() {
    let catalog = catalog();
    let path = catalog.path().to_str().unwrap();
    for (choice, code, message) in [
        ("milk", 1, "package milk does not exist"),
        ("tea:slow", 1, "the channel slow of the package tea does not exist"),
        ("tea@>9.0.0", 1, "no version of the package tea is in the range"),
        ("tea@latest", 2, "invalid version range"),
    ] {
        let stderr = unlade(["catalog", "filter", path, "-p", choice]).failure(code);
        assert!(stderr.contains(message), "{stderr}");
    }
}

#[test]
fn an_image_set_of_oc_mirror_selects_what_is_written() {
    let catalog = catalog();
    let path = catalog.path().to_str().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("set.yaml");
    let config = config.to_str().unwrap();
    let write_set = |more: &str| {
        let text = format!(
            "kind: ImageSetConfiguration\nmirror:\n  additionalImages: [{{name: x}}]\n  operators:\n  \
             - catalog: registry.example/all:v1\n    packages:\n    - name: tea\n{more}"
        );
        std::fs::write(config, text).unwrap();
    };
    write_set("      channels: [{name: fast}]\n");
    let filter = ["catalog", "filter", path, "--config", config];
    let written = unlade([&filter[..], &["-o", "yaml"]].concat()).stdout;
    let written = write(&written);
    let list = ["catalog", "list", "bundles", written.path().to_str().unwrap(), "--no-headers"];
    let rows = unlade(list).success();
    assert!(rows.starts_with("tea") && rows.contains("fast") && rows.contains("tea.v2"), "{rows}");
    assert_eq!(rows.lines().count(), 1, "{rows}");
    write_set("      minBundle: tea.v1\n");
    let stderr = unlade(filter).failure(2);
    assert!(stderr.contains("unknown field `minBundle`"), "{stderr}");
}

#[test]
fn an_image_set_can_skip_dependencies() {
    let requirement =
        "- type: olm.package.required\n  value: {packageName: pot, versionRange: '>=1.0.0'}\n";
    let catalog =
        write(&[&*format!("{VALID}{requirement}"), &VALID.replace("tea", "pot")].join("---\n"));
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("set.yaml");
    for (more, keeps_pot) in [("", true), (", skipDependencies: true", false)] {
        let set = format!(
            "kind: ImageSetConfiguration\nmirror:\n  operators:\n  - {{catalog: a/b:v1, packages: \
             [{{name: tea}}]{more}}}\n"
        );
        fs::write(&config, set).unwrap();
        let path = catalog.path().to_str().unwrap();
        let filter = ["catalog", "filter", path, "--config", config.to_str().unwrap()];
        let written = unlade(filter).success();
        assert!(written.contains("tea.v1"), "{written}");
        assert_eq!(written.contains("pot.v1"), keeps_pot, "{more}: {written}");
    }
}

/// Filters a catalog that changes to `changed` after the command has validated it.
fn filter_changing(catalog: &Path, changed: String) -> Finished {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("set.yaml");
    assert!(Command::new("mkfifo").arg(&config).status().unwrap().success());
    let arguments = ["catalog", "filter", catalog.to_str().unwrap(), "--config"];
    let arguments = arguments.map(str::to_owned).into_iter();
    let arguments = arguments.chain([config.to_str().unwrap().to_owned()]);
    let file = catalog.join("catalog.yaml");
    let set = "kind: ImageSetConfiguration\nmirror:\n  operators:\n  - catalog: a/b:v1\n    \
               packages: [{name: tea}]\n";
    thread::spawn(move || {
        // The command opens the configuration after it has validated the catalog.
        let mut config = fs::OpenOptions::new().write(true).open(config).unwrap();
        fs::write(file, changed).unwrap();
        io::Write::write_all(&mut config, set.as_bytes()).unwrap();
    });
    unlade(arguments)
}

#[test]
fn a_file_that_breaks_after_it_was_validated_is_reported() {
    let catalog = write(VALID);
    let broken = format!("{VALID}---\nschema: other\npackage: tea\nname: [\n");
    let stderr = filter_changing(catalog.path(), broken).failure(3);
    assert!(stderr.starts_with("catalog.yaml:22: error: "), "{stderr}");
    assert!(stderr.contains("[syntax]"), "{stderr}");
    assert!(stderr.contains("is invalid: 1 error"), "{stderr}");
}

#[test]
fn problems_of_the_filtered_catalog_are_reported() {
    let catalog = write(VALID);
    let without_bundle = VALID.split("---\nschema: olm.bundle").next().unwrap().to_owned();
    let stderr = filter_changing(catalog.path(), without_bundle).failure(3);
    assert!(stderr.starts_with("catalog.yaml: error: "), "{stderr}");
    assert!(stderr.contains("tea.v1"), "{stderr}");
    assert!(stderr.contains("the catalog that would be written is invalid"), "{stderr}");
}
