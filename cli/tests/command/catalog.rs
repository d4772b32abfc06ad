mod author;
mod build;
mod change;
mod diff;
mod filter;
mod graph;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use tempfile::TempDir;

use unlade::oci::build::{Entry, Image, Layer, write as write_image};

use crate::finished::Finished;
use crate::run::{piped, unlade};

const VALID: &str = "schema: olm.package
name: tea
defaultChannel: stable
---
schema: olm.channel
name: stable
package: tea
entries:
- name: tea.v1
---
schema: olm.bundle
name: tea.v1
package: tea
image: registry.example/tea:1
properties:
- type: olm.package
  value: {packageName: tea, version: 1.0.0}
";

fn write(text: &str) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("catalog.yaml"), text).unwrap();
    directory
}

/// Returns the arguments of `unlade catalog validate`.
fn validate<'a>(catalog: &'a TempDir, more: &[&'a str]) -> Vec<&'a str> {
    [&["catalog", "validate", catalog.path().to_str().unwrap()], more].concat()
}

#[test]
fn a_valid_catalog_succeeds_with_a_summary() {
    let catalog = write(VALID);
    let summary = unlade(validate(&catalog, &[])).success();
    assert_eq!(summary, "valid: 1 package, 1 channel and 1 bundle in 1 file\n");
    let json = unlade(validate(&catalog, &["-o", "json", "--strict"])).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json, serde_json::json!({"passed": true, "problems": []}));
}

#[test]
fn an_invalid_catalog_fails_with_all_problems_and_their_lines() {
    let text = VALID.replace("1.0.0", "v1").replace("defaultChannel: stable", "defaultChannel: x");
    let catalog = write(&text);
    let finished = unlade(validate(&catalog, &[]));
    assert_eq!(
        finished.stdout,
        "catalog.yaml:3: error: the default channel x of the package tea does not exist \
         [default-channel]\n  hint: set defaultChannel to a channel of the package\n\
         catalog.yaml:17: error: \"v1\" is not a version like 1.2.3: unexpected character 'v' \
                                   while \
         parsing major version number (package tea, bundle tea.v1) [version]\n  \
         hint: use a version such as 1.2.3, without the letter v\n"
    );
    assert_eq!(finished.code, Some(3));
    assert!(finished.stderr.ends_with("is invalid: 2 errors\n"), "{finished:?}");
}

#[test]
fn problems_on_standard_error_have_coloured_labels_and_escaped_names() {
    let catalog = write(&VALID.replace("defaultChannel: stable", "defaultChannel: \"\\e[2J\""));
    let finished = unlade(["catalog", "graph", catalog.path().to_str().unwrap(), "--color=always"]);
    let line = "catalog.yaml:3: \u{1b}[1m\u{1b}[31merror\u{1b}[0m: the default channel \\u{1b}[2J ";
    assert!(finished.stderr.starts_with(line), "{finished:?}");
    assert!(finished.stderr.contains("\n  \u{1b}[1m\u{1b}[36mhint\u{1b}[0m: set "), "{finished:?}");
}

#[test]
fn json_has_the_fields_of_opm_and_the_problems() {
    let catalog = write(&VALID.replace("image: registry.example/tea:1\n", ""));
    let finished = unlade(validate(&catalog, &["-o", "json"]));
    let json: serde_json::Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(json["passed"], false);
    assert!(json["error"]["message"].as_str().unwrap().contains("1 error"));
    let problem = &json["problems"][0];
    for (field, value) in [
        ("file", "catalog.yaml"),
        ("severity", "error"),
        ("rule", "image"),
        ("package", "tea"),
        ("bundle", "tea.v1"),
        ("remedy", "set the image of the bundle"),
    ] {
        assert_eq!(problem[field], value, "{problem}");
    }
    assert_eq!(problem["line"], 11);
    assert_eq!(finished.code, Some(3));
}

#[test]
fn sarif_names_the_rule_and_the_line() {
    let catalog = write(&VALID.replace("image:", "imgae: x\nimage:"));
    let sarif = unlade(validate(&catalog, &["-o", "sarif"])).success();
    let sarif: serde_json::Value = serde_json::from_str(&sarif).unwrap();
    let file = catalog.path().join("catalog.yaml");
    let run = &sarif["runs"][0];
    let result = &run["results"][0];
    assert_eq!(result["ruleId"], "unknown-field");
    assert_eq!(result["level"], "warning");
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], format!("file://{}", file.display()));
    assert_eq!(location["region"]["startLine"], 14);
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert!(rules.iter().any(|rule| rule["id"] == result["ruleId"]));
}

#[test]
fn strict_refuses_warnings() {
    let catalog = write(&VALID.replace("image:", "imgae: x\nimage:"));
    let output = unlade(validate(&catalog, &[])).success();
    assert!(output.contains("imgae is unknown; did you mean image?"), "{output}");
    assert!(output.contains("\nvalid: 1 package"), "{output}");
    let finished = unlade(validate(&catalog, &["--strict"]));
    assert_eq!(finished.code, Some(5));
    assert!(!finished.stdout.contains("valid:"), "{finished:?}");
    let message = "the catalog has 1 warning, and --strict was given";
    assert!(finished.stderr.contains(message), "{finished:?}");
}

#[test]
fn a_link_named_opm_takes_the_arguments_of_opm() {
    let (catalog, directory) = (write(VALID), tempfile::tempdir().unwrap());
    let (opm, path) = (directory.path().join("opm"), catalog.path());
    symlink(env!("CARGO_BIN_EXE_unlade"), &opm).unwrap();
    let run = |arguments: &[&str]| {
        let output = Command::new(&opm).args(arguments).arg(path).output().unwrap();
        Finished::from(output).success()
    };
    assert!(run(&["validate"]).starts_with("valid: "));
    let rendered = run(&["--skip-tls-verify", "render", "-o", "yaml"]);
    assert!(rendered.starts_with("---\ndefaultChannel: stable\n"), "{rendered}");
    assert!(run(&["alpha", "list", "packages"]).contains("tea"));
    assert!(run(&["alpha", "render-graph"]).starts_with("graph LR\n"));
}

#[test]
fn a_missing_catalog_is_a_failure_of_the_system() {
    let stderr = unlade(["catalog", "validate", "no-such-directory"]).failure(1);
    assert!(stderr.contains("failed to open the catalog no-such-directory"), "{stderr}");
    // The error of the image names the path, so the message around it does not.
    let stderr = unlade(["catalog", "validate", "oci:no-such-directory"]).failure(1);
    let expected = "error: failed to read the image: failed to open no-such-directory: ";
    assert!(stderr.starts_with(expected), "{stderr}");
    assert_eq!(stderr.matches("no-such-directory").count(), 1, "{stderr}");
}

#[test]
fn lists_have_a_row_for_each_part() {
    let text = format!(
        "{VALID}relatedImages: [{{name: a, image: registry.example/a}}]\n---\n\
         schema: olm.deprecations\npackage: tea\nentries:\n\
         - {{reference: {{schema: olm.channel, name: stable}}, message: old}}\n"
    );
    let catalog = write(&text);
    let path = catalog.path().to_str().unwrap();
    for (what, table) in [
        ("packages", "NAME   DEFAULT CHANNEL\ntea    stable\n"),
        ("channels", "PACKAGE   CHANNEL   HEAD\ntea       stable    tea.v1\n"),
        (
            "bundles",
            "PACKAGE   CHANNEL   BUNDLE   REPLACES   SKIPS   SKIP RANGE   IMAGE\n\
             tea       stable    tea.v1                                   registry.example/tea:1\n",
        ),
        (
            "deprecations",
            "PACKAGE   SCHEMA        NAME     MESSAGE\ntea       olm.channel   stable   old\n",
        ),
        (
            "images",
            "IMAGE                    BUNDLES\nregistry.example/a       tea.v1\n\
             registry.example/tea:1   tea.v1\n",
        ),
    ] {
        assert_eq!(unlade(["catalog", "list", what, path]).success(), table);
    }
    let json = unlade(["catalog", "list", "channels", path, "tea", "-o", "json"]).success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json,
        serde_json::json!([{"package": "tea", "channel": "stable", "head": "tea.v1"}])
    );
    let yaml = unlade(["catalog", "list", "packages", path, "-o", "yaml"]).success();
    assert_eq!(yaml, "- defaultChannel: stable\n  name: tea\n");
}

/// Each row would repeat it, and a name can be megabytes long.
#[test]
fn lists_shorten_long_names_of_channels_and_of_the_bundles_of_images() {
    let long = "n".repeat(1_000);
    let shown = format!("{}... (1000 bytes)", "n".repeat(300));
    for (name, rows) in [("stable", "bundles"), ("tea.v1", "images")] {
        let catalog = write(&VALID.replace(name, &long));
        let path = catalog.path().to_str().unwrap();
        for form in ["text", "json", "yaml"] {
            let list = unlade(["catalog", "list", rows, path, "-o", form]).success();
            assert!(list.contains(&shown) && !list.contains(&long), "{list}");
        }
    }
}

#[test]
fn lists_of_what_is_unknown_or_invalid_fail() {
    let catalog = write(VALID);
    let path = catalog.path().to_str().unwrap();
    let stderr = unlade(["catalog", "list", "bundles", path, "coffee"]).failure(1);
    assert!(stderr.contains("package coffee does not exist"), "{stderr}");
    let catalog = write(&VALID.replace("1.0.0", "v1"));
    let path = catalog.path().to_str().unwrap();
    let stderr = unlade(["catalog", "list", "bundles", path]).failure(3);
    assert!(stderr.contains("is invalid: 1 error"), "{stderr}");
}

#[test]
fn a_catalog_in_an_image_or_on_standard_input_is_read_like_a_directory() {
    let catalog = write(VALID);
    let expected = unlade(validate(&catalog, &[])).success();
    let directory = tempfile::tempdir().unwrap();
    let mut image = Image::from_scratch("linux/amd64".parse().unwrap());
    let label = "operators.operatorframework.io.index.configs.v1";
    image.config.labels.insert(label.to_owned(), "/configs".to_owned());
    image.layers.push(Layer::new([
        Entry::file("configs/tea/catalog.yaml", VALID),
        Entry::file("configs/.indexignore", "*.txt"),
        Entry::file("configs/tea/notes.txt", "{"),
        Entry::file("bin/opm", "x"),
    ]));
    let archive = directory.path().join("catalog.tar");
    let source = format!("oci-archive:{}", archive.display());
    write_image(&image, &source.parse().unwrap()).unwrap();
    for source in [&source, archive.to_str().unwrap()] {
        assert_eq!(unlade(["catalog", "validate", source]).success(), expected);
        let list = unlade(["catalog", "list", "packages", source, "--no-headers"]).success();
        assert_eq!(list.split_whitespace().collect::<Vec<_>>(), ["tea", "stable"]);
    }
    assert_eq!(piped(["catalog", "validate", "-"], VALID).success(), expected);
    let bytes = fs::read(&archive).unwrap();
    assert_eq!(piped(["catalog", "validate", "-"], bytes).success(), expected);

    let broken = VALID.replace("defaultChannel: stable", "defaultChannel: x");
    image.layers.push(Layer::new([Entry::file("configs/tea/catalog.yaml", broken)]));
    write_image(&image, &source.parse().unwrap()).unwrap();
    let finished = unlade(["catalog", "validate", &source]);
    assert!(finished.stdout.starts_with("tea/catalog.yaml:3: error: "), "{}", finished.stdout);
    image.config.labels.clear();
    write_image(&image, &source.parse().unwrap()).unwrap();
    let stderr = unlade(["catalog", "validate", &source]).failure(3);
    assert!(stderr.contains(&format!("the image has no label {label}")), "{stderr}");
    assert!(stderr.contains("hint: check that this is the image of a catalog"), "{stderr}");
}
