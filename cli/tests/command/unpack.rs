use std::fs;

use serde_json::Value;
use unlade_tests::example;

use crate::{
    bundle::{Bundle, CSV},
    run::{piped, unlade},
};

fn json(arguments: &[&str]) -> Value {
    let text = unlade([&["unpack", "-o", "json"], arguments].concat()).success();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn piped_output_is_the_config_map_as_yaml() {
    let bundle = Bundle::new();
    let text = unlade(["unpack", bundle.argument()]).success();
    assert_eq!(text, unlade(["unpack", bundle.argument(), "-o", "yaml"]).success());
    assert!(text.contains("\nkind: ConfigMap\n"), "{text}");
    assert!(text.contains("\n  tea.clusterserviceversion.yaml: |\n    apiVersion:"), "{text}");
}

#[test]
fn json_holds_the_files_as_they_are() {
    let bundle = Bundle::new();
    let config_map = json(&[bundle.argument()]);
    assert_eq!(config_map["kind"], "ConfigMap");
    assert_eq!(config_map["data"]["tea.clusterserviceversion.yaml"], CSV);
    assert_eq!(config_map["metadata"].get("namespace"), None);
}

#[test]
fn options_are_applied_to_the_config_map() {
    let bundle = Bundle::new();
    let config_map = json(&[
        bundle.argument(),
        "--encoding=gzip",
        "--name=a.b",
        "-nteas",
        "--source-image=example.com/tea:1",
    ]);
    let metadata = &config_map["metadata"];
    assert_eq!(metadata["name"], "a.b");
    assert_eq!(metadata["namespace"], "teas");
    assert_eq!(metadata["annotations"]["olm.contentEncoding"], "gzip+base64");
    assert_eq!(metadata["annotations"]["olm.sourceImage"], "example.com/tea:1");
    assert!(config_map["binaryData"]["teas.crd.yaml"].is_string());
    assert_eq!(config_map["data"].get("teas.crd.yaml"), None);
}

#[test]
fn the_name_is_that_of_the_csv_else_of_the_package_else_of_the_directory() {
    let name = |bundle: &Bundle| json(&[bundle.argument()])["metadata"]["name"].clone();
    let bundle = Bundle::new();
    assert_eq!(name(&bundle), "tea-operator.v1.2.3");
    let bundle = bundle.without("manifests/tea.clusterserviceversion.yaml");
    assert_eq!(name(&bundle), "tea");
    let bundle = bundle.with("metadata/annotations.yaml", "annotations: {}\n");
    let directory = bundle.path().join("Tea_Pot");
    fs::create_dir(&directory).unwrap();
    for part in ["manifests", "metadata"] {
        fs::rename(bundle.path().join(part), directory.join(part)).unwrap();
    }
    let config_map = json(&[directory.to_str().unwrap()]);
    assert_eq!(config_map["metadata"]["name"], "tea-pot");
}

#[test]
fn findings_are_warnings_and_the_config_map_is_still_printed() {
    let bundle = Bundle::new().with("manifests/broken.yaml", "a: [\n");
    let finished = unlade(["unpack", bundle.argument(), "-o", "json"]);
    assert!(finished.stderr.starts_with("warning: "), "{finished:?}");
    assert!(finished.stderr.contains("broken.yaml"), "{finished:?}");
    let config_map: Value = serde_json::from_str(&finished.success()).unwrap();
    assert_eq!(config_map["data"]["broken.yaml"], "a: [\n");
}

#[test]
fn strict_makes_an_error_of_findings() {
    let bundle = Bundle::new();
    assert!(!unlade(["unpack", bundle.argument(), "--strict"]).success().is_empty());
    let bundle = bundle.with("manifests/broken.yaml", "a: [\n");
    let stderr = unlade(["unpack", bundle.argument(), "--strict"]).failure(5);
    assert!(stderr.starts_with("warning: "), "{stderr}");
    assert!(
        stderr.ends_with("error: 1 finding was reported, and --strict was given\n"),
        "{stderr}"
    );
}

#[test]
fn strict_refuses_a_bundle_without_package_and_channels() {
    let bundle = Bundle::new().without("metadata/annotations.yaml");
    let stderr = unlade(["unpack", bundle.argument(), "--strict"]).failure(5);
    for (annotation, noun) in [("package", "package"), ("channels", "channel")] {
        let message = format!(
            "bundle.{annotation}.v1: the annotations do not name a {noun}: add this annotation to \
             metadata/annotations.yaml\n"
        );
        assert!(stderr.contains(&message), "{stderr}");
    }
}

#[test]
fn strict_accepts_what_loses_nothing_of_the_bundle() {
    let bundle = Bundle::new().with("metadata/ci.yaml", "reviewers: [a]\n");
    let finished = unlade(["unpack", bundle.argument(), "--strict"]);
    assert!(finished.stderr.starts_with("warning: ci.yaml: "), "{finished:?}");
    piped(["load", "--strict"], finished.success()).success();
}

#[test]
fn the_summary_shows_what_would_be_written_and_what_it_loads_as() {
    let bundle = Bundle::new().with("manifests/a b.yaml", "kind: Role\nmetadata: {name: r}\n");
    let text = unlade(["unpack", bundle.argument(), "-o", "summary"]).success();
    for part in [
        "ConfigMap     tea-operator.v1.2.3\n",
        "Encoding      plain\n",
        "a-b.yaml                         manifests/a b.yaml",
        "teas.crd.yaml                    manifests/  ",
        "Package       tea\n",
        "Version       1.2.3\n",
        "Channels      beta, stable (default)\n",
        "CSV           tea-operator.v1.2.3\n",
        "Objects       1 Role, 1 ClusterServiceVersion, 1 CustomResourceDefinition\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn the_example_has_nothing_to_report() {
    let finished = unlade(["unpack", "--strict", example().to_str().unwrap()]);
    assert_eq!(finished.stderr, "");
    piped(["load", "--strict"], finished.success()).success();
}
