use std::fs;

use serde_json::Value;

use crate::{
    bundle::{Bundle, CSV},
    run::{piped, unlade},
};

/// Returns a ConfigMap as OLM fills it: with six annotations and without marks of unlade.
fn upstream(name: &str) -> String {
    let csv = CSV.replace('\n', "\n    ");
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: olm\n  \
         annotations:\n    operators.operatorframework.io.bundle.package.v1: tea\n    \
         operators.operatorframework.io.bundle.channels.v1: beta\n  \
         resourceVersion: '17'\ndata:\n  csv.yaml: |\n    {csv}\n"
    )
}

fn unpacked(arguments: &[&str]) -> String {
    let bundle = Bundle::new();
    unlade([&["unpack", bundle.argument()], arguments].concat()).success()
}

fn load(input: &str) -> Value {
    serde_json::from_str(&piped(["load", "-o", "json"], input).success()).unwrap()
}

#[test]
fn what_unpack_writes_is_loaded_in_every_encoding_and_format() {
    let expected = load(&unpacked(&[]));
    let bundle = &expected["bundle"];
    assert_eq!(bundle["csvName"], "tea-operator.v1.2.3");
    assert_eq!(bundle["packageName"], "tea");
    assert_eq!(bundle["channelName"], "stable");
    assert_eq!(bundle["version"], "1.2.3");
    assert_eq!(bundle["replaces"], "tea-operator.v1.2.2");
    assert_eq!(bundle["skips"], Value::from(["tea-operator.v1.2.1"].as_slice()));
    assert_eq!(bundle["object"][0], CSV);
    assert_eq!(expected["packageManifest"]["packageName"], "tea");
    assert_eq!(expected["report"], Value::Array(Vec::new()));
    for encoding in ["plain", "gzip", "auto"] {
        for output in ["yaml", "json"] {
            let text = unpacked(&["--encoding", encoding, "--output", output]);
            assert_eq!(load(&text), expected, "{encoding} {output}");
        }
    }
}

#[test]
fn a_file_can_be_named_as_for_kubectl() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config-map.yaml");
    fs::write(&path, unpacked(&[])).unwrap();
    let path = path.to_str().unwrap();
    let expected = unlade(["load", path]).success();
    assert_eq!(unlade(["load", "-f", path]).success(), expected);
    assert_eq!(unlade(["load", "--filename", path]).success(), expected);
    assert!(unlade(["load", "-f", path, path]).failure(2).contains("cannot be used with"));
}

#[test]
fn yaml_and_json_have_the_same_values() {
    let text = unpacked(&[]);
    let yaml = piped(["load", "-o", "yaml"], text.as_str()).success();
    let limits = unlade_yaml::Limits::default();
    let json = unlade_yaml::to_json(yaml.as_bytes(), &limits).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), load(&text));
}

#[test]
fn what_upstream_wrote_is_loaded() {
    let manifest = load(&upstream("a"));
    assert_eq!(manifest["bundle"]["csvName"], "tea-operator.v1.2.3");
    assert_eq!(manifest["bundle"]["packageName"], "tea");
    assert_eq!(manifest["bundle"]["channelName"], "beta");
}

#[test]
fn a_file_is_read_and_a_dash_is_standard_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cm.yaml");
    fs::write(&path, upstream("a")).unwrap();
    let from_file = unlade(["load", path.to_str().unwrap()]).success();
    assert_eq!(from_file, piped(["load", "-"], upstream("a")).success());
    assert!(from_file.starts_with("Package       tea\n"), "{from_file}");
}

#[test]
fn a_list_or_stream_gives_a_document_for_each() {
    let (a, b) = (upstream("a"), upstream("b"));
    let stream = format!("{a}---\n{b}");
    let json = |text: &str| {
        let limits = unlade_yaml::Limits::default();
        unlade_yaml::to_json(text.as_bytes(), &limits).unwrap()
    };
    let list =
        format!(r#"{{"kind":"List","apiVersion":"v1","items":[{},{}]}}"#, json(&a), json(&b));
    for input in [&stream, &list] {
        let lines = piped(["load", "-o", "json"], input.as_str()).success();
        assert_eq!(lines.lines().count(), 2, "{lines}");
        for line in lines.lines() {
            let manifest: Value = serde_json::from_str(line).unwrap();
            assert_eq!(manifest["bundle"]["csvName"], "tea-operator.v1.2.3");
        }
        let documents = piped(["load", "-o", "yaml"], input.as_str()).success();
        assert_eq!(documents.lines().filter(|line| *line == "---").count(), 1, "{documents}");
        let summaries = piped(["load"], input.as_str()).success();
        assert!(summaries.starts_with("ConfigMap olm/a\nPackage "), "{summaries}");
        assert!(summaries.contains("\n\nConfigMap olm/b\nPackage "), "{summaries}");
    }
}

#[test]
fn the_summary_shows_all_of_a_bundle() {
    let bundle = Bundle::new().with("manifests/broken.yaml", "a: [\n");
    let text = unlade(["unpack", bundle.argument()]).success();
    let summary = piped(["load"], text).success();
    for part in [
        "Package       tea\n",
        "Version       1.2.3\n",
        "Channels      beta, stable (default)\n",
        "CSV           tea-operator.v1.2.3\n",
        "Replaces      tea-operator.v1.2.2\n",
        "Skips         tea-operator.v1.2.1\n",
        "Skip range    >=1.0.0 <1.2.3\n",
        "ClusterServiceVersion      tea-operator.v1.2.3   tea.clusterserviceversion.yaml",
        "CustomResourceDefinition   teas.example.com      teas.crd.yaml",
        "provided   example.com   v1        Tea\n",
        "required   example.com   v1        Kettle\n",
        "olm.package   {\"packageName\":\"kettle\",\"version\":\">=1.0.0\"}\n",
        "warning: ",
        "broken.yaml",
    ] {
        assert!(summary.contains(part), "{part}\n{summary}");
    }
}

/// The ConfigMap does not contain the file `annotations.yaml`, so the loader cannot see what was
/// left out of it.
#[test]
fn load_reports_what_unpack_dropped() {
    let annotations = "annotations:
  olm.contentEncoding: x
  olm.sourceImage: y
  unlade.dev/digest: z
  operators.operatorframework.io.bundle.package.v1: tea
  operators.operatorframework.io.bundle.channels.v1: beta
";
    let bundle = Bundle::new().with("metadata/annotations.yaml", annotations);
    let unpacked = unlade(["unpack", bundle.argument()]);
    let warnings = unpacked.stderr.clone();
    assert_eq!(warnings.lines().count(), 3, "{warnings}");
    let text = unpacked.success();

    let summary = piped(["load"], text.as_str()).success();
    for warning in warnings.lines() {
        assert!(summary.contains(warning), "{warning}\n{summary}");
    }
    assert!(!summary.contains("Nothing was dropped"), "{summary}");
    let report = load(&text)["report"].clone();
    let subjects: Vec<_> =
        report.as_array().unwrap().iter().map(|finding| finding["subject"].clone()).collect();
    assert_eq!(subjects, ["olm.contentEncoding", "olm.sourceImage", "unlade.dev/digest"]);
}

#[test]
fn the_report_is_in_the_document_and_strict_makes_an_error_of_it() {
    let text = upstream("a").replace("\ndata:\n", "\ndata:\n  broken.yaml: 'a: ['\n");
    let report = load(&text)["report"].clone();
    let undecodable = |finding: &&Value| finding["reason"] == "undecodable";
    let finding = report.as_array().unwrap().iter().find(undecodable).unwrap();
    assert_eq!(finding["subject"], "broken.yaml", "{report}");
    let stderr = piped(["load", "--strict"], text).failure(5);
    assert!(stderr.contains("broken.yaml"), "{stderr}");
}

#[test]
fn one_bad_config_map_does_not_hide_the_others() {
    let bad = upstream("bad").replace("\ndata:\n", "\nbinaryData: {x: bm8=}\ndata:\n").replacen(
        "  annotations:\n",
        "  annotations:\n    olm.contentEncoding: gzip+base64\n",
        1,
    );
    let finished =
        piped(["load", "-o", "json"], format!("{}---\n{bad}---\n{}", upstream("a"), upstream("b")));
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let lines: Vec<Value> =
        finished.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = lines.iter().map(|line| (&line["namespace"], &line["configMap"])).collect();
    assert_eq!(
        names,
        [(&"olm".into(), &"a".into()), (&"olm".into(), &"bad".into()), (&"olm".into(), &"b".into())]
            as [(&Value, &Value); 3]
    );
    assert_eq!(lines[0]["bundle"]["csvName"], "tea-operator.v1.2.3");
    assert_eq!((lines[1].get("bundle"), &lines[1]["exitCode"]), (None, &3.into()));
    let error = lines[1]["error"].as_str().unwrap();
    assert!(error.starts_with("failed to load the ConfigMap olm/bad: "), "{error}");
    assert!(
        finished.stderr.contains("error: failed to load the ConfigMap olm/bad: "),
        "{finished:?}"
    );
    assert!(finished.stderr.ends_with("error: failed to load 1 of 3 ConfigMaps\n"), "{finished:?}");
}

#[test]
fn programs_learn_what_strict_refuses_of_each() {
    let bad = upstream("bad").replace("\ndata:\n", "\ndata:\n  broken.yaml: 'a: ['\n");
    let finished =
        piped(["load", "--strict", "-o", "json"], format!("{bad}---\n{}", upstream("a")));
    assert_eq!(finished.code, Some(5), "{finished:?}");
    let first = finished.stdout.lines().next().unwrap();
    let first: Value = serde_json::from_str(first).unwrap();
    assert_eq!((&first["configMap"], &first["exitCode"]), (&"bad".into(), &5.into()));
    let report = first["report"].as_array().unwrap();
    assert!(report.iter().any(|finding| finding["subject"] == "broken.yaml"), "{first}");
}

#[test]
fn a_config_map_that_is_not_a_bundle_is_refused() {
    let root = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: kube-root-ca.crt}\n\
                data:\n  ca.crt: |\n    -----BEGIN CERTIFICATE-----\n    MIIB\n";
    let stderr = piped(["load"], root).failure(3);
    assert!(
        stderr.starts_with("error: the ConfigMap kube-root-ca.crt does not contain a bundle\n"),
        "{stderr}"
    );
    let finished = piped(["load"], format!("{root}---\n{}", upstream("a")));
    assert_eq!(finished.code, Some(3), "{finished:?}");
    assert!(finished.stdout.starts_with("ConfigMap olm/a\n"), "{finished:?}");
}

#[test]
fn a_changed_config_map_is_reported() {
    let text = unpacked(&[]).replace("v1.2.3", "v1.2.4");
    let stderr = piped(["load"], text).failure(3);
    assert!(
        stderr.contains(": the content was changed after it was written: its digest is sha256:"),
        "{stderr}"
    );
}

#[test]
fn the_error_about_other_input_names_what_it_is() {
    let catalog = "schema: olm.package\nname: tea\n---\nschema: olm.channel\npackage: tea\n";
    let stderr = piped(["load"], catalog).failure(3);
    assert!(stderr.contains("only an entry of a file-based catalog and 1 more\n"), "{stderr}");
    assert!(
        stderr.contains("`unlade catalog validate` to read a file-based catalog\n"),
        "{stderr}"
    );

    // The header of an old tar, which has no magic number but a checksum.
    let mut tar = vec![0; 1024];
    tar[148..156].fill(b' ');
    tar[0] = b'a';
    tar[148..156].copy_from_slice(b"000541\0 ");
    for archive in [&tar[..], b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd\0", b"BZh9"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("image.tar");
        fs::write(&path, archive).unwrap();
        let stderr = unlade(["load", path.to_str().unwrap()]).failure(3);
        assert!(stderr.contains("image.tar is an archive or compressed"), "{stderr}");
        assert!(stderr.contains("image.tar -o yaml | unlade load`\n"), "{stderr}");
    }
}

#[test]
fn objects_that_are_not_config_maps_are_skipped_with_a_warning() {
    let finished = piped(
        ["load", "-o", "json"],
        format!("kind: Secret\nmetadata: {{name: s}}\n---\n{}", upstream("a")),
    );
    assert_eq!(finished.stderr, "warning: Secret/s is not a ConfigMap, so it is dropped\n");
    assert_eq!(finished.success().lines().count(), 1);
}
