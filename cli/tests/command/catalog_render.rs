use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::bundle::Bundle;
use crate::run::{piped, unlade};

const TWO: &str = r#"schema: olm.channel
name: stable
package: tea
entries: [{name: tea.v1}]
---
schema: example.com/notes
text: "yes"
---
schema: olm.package
name: tea
defaultChannel: stable
"#;

const RENDERED: &str = "---
defaultChannel: stable
name: tea
schema: olm.package
---
entries:
- name: tea.v1
name: stable
package: tea
schema: olm.channel
---
schema: example.com/notes
text: \"yes\"
";

fn write(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    directory
}

fn path(directory: &TempDir) -> &str {
    directory.path().to_str().unwrap()
}

#[test]
fn directories_files_and_standard_input_are_rendered_in_order() {
    let directory = write(&[("catalog.yaml", TWO)]);
    let file = directory.path().join("catalog.yaml");
    for reference in [directory.path(), &file] {
        let reference = reference.to_str().unwrap();
        assert_eq!(unlade(["catalog", "render", "-o", "yaml", reference]).success(), RENDERED);
    }
    assert_eq!(piped(["catalog", "render", "-o", "yaml", "-"], TWO).success(), RENDERED);
    let json = piped(["catalog", "render", "-"], TWO).success();
    assert!(
        json.starts_with("{\n    \"schema\": \"olm.package\",\n    \"name\": \"tea\",\n"),
        "{json}"
    );
}

#[test]
fn metas_with_equal_ranks_have_the_order_of_the_files() {
    let bundle = |image: &str| format!("schema: olm.bundle\nname: a\npackage: p\nimage: {image}\n");
    let directory = write(&[("b.yaml", &bundle("second")), ("a.yaml", &bundle("first"))]);
    let other = write(&[("a.yaml", &bundle("third"))]);
    let text =
        unlade(["catalog", "render", "-o", "yaml", path(&directory), path(&other)]).success();
    let images: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("image: ")).collect();
    assert_eq!(images, ["first", "second", "third"]);
}

#[test]
fn losses_are_warnings() {
    let text = "schema: olm.bundle\nname: a\nimagee: b\n";
    let finished = piped(["catalog", "render", "-"], text);
    assert_eq!(finished.success(), "");
    assert_eq!(
        finished.stderr,
        "warning: standard input:1: olm.bundle a: it has no package, so it is dropped\n\
         warning: standard input:3: imagee is unknown; did you mean image?\n"
    );
}

#[test]
fn a_catalog_that_cannot_be_loaded_is_refused_with_all_problems() {
    let directory = write(&[("a.yaml", "schema: olm.package\nname: 1\n"), ("b.yaml", "a: [")]);
    let finished = unlade(["catalog", "render", path(&directory)]);
    let stderr = finished.failure(3);
    assert!(stderr.contains("a.yaml:2: error: name is not text [not-a-meta]\n"), "{stderr}");
    assert!(stderr.contains("b.yaml:2: error: "), "{stderr}");
    assert!(stderr.ends_with(" is invalid: 2 errors\n"), "{stderr}");
}

/// Returns a bundle with an image and a ClusterServiceVersion with this `spec`.
fn bundle(spec: &str) -> String {
    use base64::Engine as _;
    let csv = format!(r#"{{"kind":"ClusterServiceVersion","metadata":{{}},"spec":{spec}}}"#);
    let data = base64::engine::general_purpose::STANDARD.encode(csv);
    format!(
        r#"{{"schema":"olm.bundle","name":"a","package":"p","image":"i","properties":[{{"type":"olm.bundle.object","value":{{"data":"{data}"}}}}]}}"#
    )
}

#[test]
fn fields_that_are_not_migrated_are_not_checked() {
    let spec = r#"{"install":{"spec":{"deployments":"none"}},"displayName":"<A>",
        "customresourcedefinitions":{"owned":[{"name":"n","version":"v","kind":"k",
        "specDescriptors":[{"path":"p","value":{"b":1,"a":2}}]}]}}"#;
    let text = piped(["catalog", "render", "--migrate", "-o", "yaml", "-"], bundle(spec)).success();
    assert_eq!(
        text,
        "---\nimage: i\nname: a\npackage: p\nproperties:\n- type: olm.csv.metadata\n  value:\n    \
         apiServiceDefinitions: {}\n    crdDescriptions:\n      owned:\n      - kind: k\n        \
         name: \"n\"\n        specDescriptors:\n        - path: p\n          value:\n            \
         a: 2\n            b: 1\n        version: v\n    displayName: <A>\n    provider: {}\n\
         schema: olm.bundle\n"
    );
}

#[test]
fn a_field_that_is_migrated_must_have_the_right_type() {
    let finished = piped(["catalog", "render", "--migrate", "-"], bundle(r#"{"displayName":1}"#));
    let stderr = finished.failure(3);
    assert!(
        stderr.contains("spec.displayName of the ClusterServiceVersion is a number"),
        "{stderr}"
    );
    assert_eq!(
        piped(["catalog", "render", "-"], bundle(r#"{"displayName":1}"#)).code,
        Some(0),
        "without --migrate"
    );
}

#[test]
fn migrate_writes_one_file_for_each_package() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("new");
    let target = target.to_str().unwrap();
    let arguments = ["catalog", "migrate", "-", target, "-o", "yaml"];
    assert_eq!(piped(arguments, TWO).success(), "");
    let read = |name| fs::read_to_string(Path::new(target).join(name)).unwrap();
    assert_eq!(read("tea/catalog.yaml") + &read("catalog.yaml"), RENDERED);
    let stderr = piped(arguments, TWO).failure(1);
    assert!(stderr.ends_with(": the directory is not empty\n"), "{stderr}");
}

#[test]
fn a_package_cannot_be_written_outside_of_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["..", "../a", "a/b"] {
        let target = directory.path().join("new");
        let text = format!("schema: olm.package\nname: {name}\n");
        let stderr = piped(["catalog", "migrate", "-", target.to_str().unwrap()], text).failure(3);
        assert!(stderr.contains("its name is not a valid directory name"), "{stderr}");
        assert!(!target.exists());
    }
}

/// The packages before one that cannot be written are not left behind.
#[test]
fn migrate_writes_all_packages_or_none() {
    let text = "schema: olm.package\nname: a\n---\nschema: olm.package\nname: b/c\n";
    let directory = tempfile::tempdir().unwrap();
    let (empty, new) = (directory.path().join("empty"), directory.path().join("new/below"));
    fs::create_dir(&empty).unwrap();
    for target in [&empty, &new] {
        let run = |text: &str| piped(["catalog", "migrate", "-", target.to_str().unwrap()], text);
        assert!(run(text).failure(3).contains("the package b/c cannot be written"));
        assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
        assert!(!directory.path().join("new").exists());
    }
    for target in [&empty, &new] {
        let run = |text: &str| piped(["catalog", "migrate", "-", target.to_str().unwrap()], text);
        assert_eq!(run(&text.replace('/', "-")).success(), "");
        let mut names: Vec<_> =
            fs::read_dir(target).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a", "b-c"]);
    }
}

#[test]
fn a_template_of_an_image_has_three_fields() {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hello-operator");
    let bundle = bundle.to_str().unwrap();
    let render = |template: &str| {
        unlade(["catalog", "render", "-o", "yaml", "--alpha-image-ref-template", template, bundle])
    };
    let text = render("r/{{ .Package }}/{{.Name}}:{{.Version}}!").success();
    assert!(
        text.starts_with("---\nimage: r/hello-operator/hello-operator.v0.2.0:0.2.0!\n"),
        "{text}"
    );
    for template in ["{{.Other}}", "{{.Name", "{{if .Name}}"] {
        let stderr = render(template).failure(2);
        assert!(stderr.contains("only {{.Package}}, {{.Name}} and {{.Version}}"), "{stderr}");
    }
}

#[test]
fn a_bundle_that_is_not_complete_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["manifests", "metadata"] {
        fs::create_dir(directory.path().join(name)).unwrap();
    }
    let annotations = "annotations: {operators.operatorframework.io.bundle.package.v1: a}\n";
    fs::write(directory.path().join("metadata/annotations.yaml"), annotations).unwrap();
    fs::write(directory.path().join("manifests/a.yaml"), "kind: A\nmetadata: {name: a}\n").unwrap();
    let stderr = unlade(["catalog", "render", path(&directory)]).failure(3);
    assert!(stderr.contains(": the bundle has no ClusterServiceVersion\n"), "{stderr}");
    let csv = "kind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {customresourcedefinitions: \
               {owned: [{name: as.example.com, version: v1, kind: A}]}}\n";
    fs::write(directory.path().join("manifests/csv.yaml"), csv).unwrap();
    let stderr = unlade(["catalog", "render", path(&directory)]).failure(3);
    assert!(stderr.contains("example.com/v1/A (as)"), "{stderr}");
}

const TEMPLATE: &str = "schema: olm.template.basic
entries:
- {schema: olm.package, name: tea}
- {schema: x, a: <}
";

#[test]
fn hints_do_not_name_an_option_that_the_command_does_not_have() {
    let bundle = Bundle::new();
    fs::write(bundle.path().join("metadata/annotations.yaml"), "- ".repeat(20_000)).unwrap();
    let path = bundle.path().to_str().unwrap();
    let stderr = unlade(["unpack", path]).failure(4);
    assert!(stderr.contains("hint: raise the limit with --max-yaml-depth"), "{stderr}");
    let stderr = unlade(["catalog", "render", path]).failure(4);
    assert!(!stderr.contains("hint:"), "{stderr}");
}

#[test]
fn a_template_is_rendered_from_a_file_or_standard_input_with_or_without_its_kind() {
    let directory = write(&[("template.yaml", TEMPLATE)]);
    let file = directory.path().join("template.yaml");
    let file = file.to_str().unwrap();
    let expected =
        "---\ndefaultChannel: \"\"\nname: tea\nschema: olm.package\n---\na: <\nschema: x\n";
    let render = |more: &[&str]| {
        piped([&["catalog", "template", "render", "-o", "yaml"], more].concat(), TEMPLATE)
    };
    for more in [&[][..], &["basic"], &[file], &["basic", file], &["basic", "-"]] {
        assert_eq!(render(more).success(), expected, "{more:?}");
    }
    let stderr = render(&["semver"]).failure(3);
    assert!(stderr.contains("is not olm.semver"), "{stderr}");
    assert!(render(&["other", file]).failure(2).contains("other is not a kind of template"));
}

#[test]
fn a_template_with_an_image_that_cannot_be_read_is_an_error() {
    let text = "schema: olm.semver\nstable: {bundles: [{image: '127.0.0.1:1/a:1'}]}";
    let stderr = piped(["catalog", "template", "render", "--plain-http"], text).failure(1);
    assert!(stderr.contains("failed to render the bundle 127.0.0.1:1/a:1"), "{stderr}");
}

#[test]
fn a_catalog_is_converted_into_a_template() {
    let text = "schema: olm.bundle\nname: a\nimage: i\npackage: p\n";
    let convert = |kind, form| piped(["catalog", "template", "convert", kind, "-o", form], text);
    assert_eq!(
        convert("basic", "yaml").success(),
        "---\nentries:\n- image: i\n  schema: olm.bundle\nschema: olm.template.basic\n\n"
    );
    assert!(convert("substitutes", "json").success().ends_with("    \"substitutions\": []\n}\n"));
}
