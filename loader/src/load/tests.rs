use std::collections::BTreeMap;

use unlade_bundle::{Content, Directory, File, Reason};
use unlade_config_map::encode;

use super::*;
use crate::Object;

const ANNOTATIONS: &str = "annotations:
  operators.operatorframework.io.bundle.package.v1: hello
  operators.operatorframework.io.bundle.channels.v1: alpha,beta
  operators.operatorframework.io.bundle.channel.default.v1: beta
";
const CSV: &str = "apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: hello.v1.0.0
spec:
  version: 1.0.0
";
const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  versions: [{name: v1}, {name: v2, served: false}]
";

/// Reads these files by path, after adding annotations and a CSV if they are missing.
fn read(files: &[(&str, &str)]) -> Reading {
    let mut files: BTreeMap<_, _> = files.iter().copied().collect();
    files.entry("metadata/annotations.yaml").or_insert(ANNOTATIONS);
    files.entry("manifests/csv.yaml").or_insert(CSV);
    let files = files.into_iter().filter(|(_, text)| *text != "-").map(|(path, text)| {
        let (directory, name) = match path.split_once('/').unwrap() {
            ("metadata", name) => (Directory::Metadata, name),
            (_, name) => (Directory::Manifests, name),
        };
        File { directory, name: name.to_owned(), bytes: text.as_bytes().to_vec() }
    });
    Content::assemble(files.collect(), &Limits::default()).unwrap()
}

fn load_files(files: &[(&str, &str)]) -> Loaded {
    load(&read(files), &Options::default()).unwrap()
}

/// Returns the reasons and subjects of the report.
fn reported(loaded: &Loaded) -> Vec<(Reason, &str)> {
    loaded.report.iter().map(|finding| (finding.reason, finding.subject.as_str())).collect()
}

#[test]
fn a_sound_bundle_is_loaded_without_findings_and_strictly() {
    let reading = read(&[("manifests/crd.yaml", CRD)]);
    let strict = Options { strictness: Strictness::Strict, ..Options::default() };
    let Loaded { bundle, package_manifest, report } = load(&reading, &strict).unwrap();
    assert_eq!(report, []);
    assert_eq!(bundle.csv_name, "hello.v1.0.0");
    assert_eq!(bundle.channel_name, "beta");
    assert_eq!(bundle.provided_apis.len(), 2);
    assert_eq!(package_manifest.package_name, "hello");
    assert_eq!(package_manifest.channels[1].name, "beta");
    assert_eq!(package_manifest.channels[1].current_csv, "hello.v1.0.0");
    assert_eq!(package_manifest.default_channel(), Some("beta"));
}

#[test]
fn silent_losses_of_upstream_are_reported_and_refused_by_strict() {
    for (reason, subject, files) in [
        (Reason::Undecodable, "a.yaml", [("manifests/a.yaml", "no: kind"), ("manifests/b", "-")]),
        (
            Reason::FurtherDocuments,
            "a.yaml",
            [("manifests/a.yaml", "kind: A\n---\nkind: B\n"), ("manifests/b", "-")],
        ),
        (
            Reason::NilObject,
            "a.yaml",
            [("manifests/a.yaml", "# a comment\n---\nkind: A\n"), ("manifests/b", "-")],
        ),
        (Reason::SeveralCsvs, "csv.yaml", [("manifests/z.yaml", CSV), ("manifests/b", "-")]),
        (Reason::NoCsv, "", [("manifests/csv.yaml", "-"), ("manifests/b", "-")]),
        (
            Reason::Undecodable,
            "dependencies.yaml",
            [
                ("metadata/dependencies.yaml", "dependencies:\n- type: a\n    value: b\n"),
                ("manifests/b", "-"),
            ],
        ),
        (
            Reason::Shadowed,
            "b.package.yaml",
            [
                ("manifests/a.package.yaml", "packageName: hello"),
                ("manifests/b.package.yaml", "packageName: hello"),
            ],
        ),
        (
            Reason::Shadowed,
            "properties.yaml",
            [
                ("metadata/dependencies.yaml", "dependencies: [{type: a, value: 1}]"),
                ("metadata/properties.yaml", "dependencies: [{type: b, value: 1}]"),
            ],
        ),
    ] {
        let found = load_files(&files);
        assert!(reported(&found).contains(&(reason, subject)), "{reason:?}: {found:#?}");
        let strict = Options { strictness: Strictness::Strict, ..Options::default() };
        let error = load(&read(&files), &strict).unwrap_err();
        assert!(matches!(error, Error::Lossy(_)), "{reason:?}");
    }
}

#[test]
fn a_bundle_without_package_or_channels_is_refused_strictly() {
    const NAME: &str = "operators.operatorframework.io.bundle.package.v1";
    const CHANNELS: &str = "operators.operatorframework.io.bundle.channels.v1";
    let strict = Options { strictness: Strictness::Strict, ..Options::default() };
    let without_package = ANNOTATIONS.replace(NAME, "other");
    let without_channels = ANNOTATIONS.replace(CHANNELS, "other");
    let all = [
        (Reason::AnnotationsFile, "metadata/annotations.yaml"),
        (Reason::NoPackage, NAME),
        (Reason::NoChannels, CHANNELS),
    ];
    for (annotations, expected) in
        [("-", &all[..]), (&without_package, &all[1..2]), (&without_channels, &all[2..])]
    {
        let files = [("metadata/annotations.yaml", annotations)];
        assert_eq!(reported(&load_files(&files)), expected);
        let error = load(&read(&files), &strict).unwrap_err();
        assert!(matches!(error, Error::Lossy(_)), "{error:?}");
    }
    // Published bundles have the file under another name.
    let other = [("metadata/annotations.yaml", "-"), ("metadata/annotations.yml", ANNOTATIONS)];
    load(&read(&other), &strict).unwrap();
}

#[test]
fn objects_without_a_name_or_that_occur_twice_are_reported() {
    let role = |rest: &str| format!("kind: Role\napiVersion: rbac.example.com/v1\n{rest}");
    let named = role("metadata: {name: r}\n");
    let older = named.replace("/v1", "/v1beta1");
    let other_group = named.replace("rbac.", "");
    let other_namespace = role("metadata: {name: r, namespace: ns}\n");
    let generated = role("metadata: {generateName: r-}\n");
    let nameless = role("metadata: {labels: {a: b}}\n");
    for (text, expected) in [
        (&named, Some(Reason::DuplicateObject)),
        (&older, Some(Reason::DuplicateObject)),
        (&other_group, None),
        (&other_namespace, None),
        (&generated, None),
        (&nameless, Some(Reason::NamelessObject)),
    ] {
        let loaded = load_files(&[("manifests/a.yaml", &named), ("manifests/b.yaml", text)]);
        let expected: Vec<_> = expected.into_iter().map(|reason| (reason, "b.yaml")).collect();
        assert_eq!(reported(&loaded), expected, "{text}");
        assert_eq!(loaded.bundle.objects.len(), 3, "{text}");
    }
}

/// Each finding names the file that the author must change.
#[test]
fn a_finding_names_the_file_that_it_is_about() {
    let csv = CSV.replace(
        "  name:",
        "  annotations: {olm.properties: '[{\"type\":\"olm.constraint\",\"value\":1}]'}\n  name:",
    );
    let loaded = load_files(&[
        ("manifests/csv.yaml", &csv),
        (
            "metadata/dependencies.yaml",
            "dependencies: [{type: olm.package, value: {packageName: p, version: abc}}]",
        ),
        (
            "metadata/properties.yaml",
            "properties: [{type: olm.package, value: {packageName: y, version: 1.0.0}},
              {type: olm.gvk, value: {group: g, kind: K, version: v1}},
              {type: olm.gvk, value: {group: g, kind: K, version: v1}},
              {type: olm.package.required, value: {packageName: p, versionRange: abc}}]",
        ),
    ]);
    assert_eq!(
        reported(&loaded),
        ["properties.yaml", "properties.yaml", "csv.yaml", "dependencies.yaml"]
            .map(|key| (Reason::InvalidValue, key)),
        "{:#?}",
        loaded.report
    );
}

/// Each finding says what is lost, why, and what to do about it.
#[test]
fn findings_say_what_is_lost() {
    let ranged = |range: &str| {
        CSV.replace("  name:", &format!("  annotations: {{olm.skipRange: '{range}'}}\n  name:"))
    };
    let range = ranged("<v1.16.1");
    let other = ranged(">=a1");
    let older = CSV.replace("v1.0.0", "v0.9.0");
    for (path, text, expected) in [
        (
            "manifests/s.yaml",
            "kind: Service\nmetadata: {name: a}\n---\nkind: Service\nmetadata: {name: b}\n",
            "s.yaml: Service/b (line 4) is dropped: OLM reads only the first document of a file, \
             so give it a file of its own",
        ),
        (
            "manifests/csv.yaml",
            &range,
            "csv.yaml: OLM ignores the annotation olm.skipRange \"<v1.16.1\" and skips no version: \
             \"<v\" is not an operator: write versions without the v",
        ),
        (
            "manifests/csv.yaml",
            &other,
            "csv.yaml: OLM ignores the annotation olm.skipRange \">=a1\" and skips no version: \
             \">=a\" is not an operator",
        ),
        (
            "metadata/dependencies.yaml",
            "dependencies:\n- type: a\n    value: b\n",
            "dependencies.yaml: OLM drops the dependencies: line 3: mapping values are not allowed \
             in this context",
        ),
        (
            "manifests/README.md",
            "# Title\n",
            "README.md: the file is not a Kubernetes object: its first document is empty, and OLM \
             keeps it as an object without a kind",
        ),
        (
            "manifests/.gitkeep",
            "keep",
            ".gitkeep: OLM drops the file: the first document is a string, not an object",
        ),
        (
            "manifests/t.yaml",
            "kind: A\nmetadata:\n\tname: a\n",
            "t.yaml: OLM drops the file: line 3: found character that cannot start any token, \
             while scanning for the next token that begins at line 3: YAML is indented with \
             spaces, not with tabs",
        ),
        (
            "manifests/a-csv.yaml",
            &older,
            "a-csv.yaml: the ClusterServiceVersion is dropped: the bundle has several, and OLM \
             uses the last one by key, csv.yaml",
        ),
        (
            "metadata/properties.yaml",
            "properties: [{type: olm.package, value: {packageName: y, version: 1.0.0}}]",
            "properties.yaml: the property olm.package is not valid: packageName is a boolean, not \
             text: quote it, because y, yes, on, n, no and off are booleans in YAML",
        ),
        ("metadata/ci.yaml", "reviewers: [a]\n", "ci.yaml: OLM does not use the file"),
    ] {
        let loaded = load_files(&[(path, text)]);
        let found: Vec<_> = loaded.report.iter().map(ToString::to_string).collect();
        assert_eq!(found, [expected], "{path}");
    }
}

#[test]
fn a_file_over_a_limit_of_unlade_is_dropped_by_unlade() {
    let items = "1, ".repeat(20_000);
    let dependencies = format!("dependencies: [{items}]");
    let object = format!(r#"{{"kind": "A", "metadata": {{"name": "a"}}, "x": [{items}1]}}"#);
    let yaml = yaml::Limits::default().with_tree(100_000);
    let options = Options::default().with_limits(Limits::default().with_yaml(yaml));
    for (path, text, expected) in [
        (
            "metadata/dependencies.yaml",
            &dependencies,
            "dependencies.yaml: unlade drops the dependencies",
        ),
        ("manifests/a.json", &object, "a.json: unlade drops the file"),
    ] {
        let loaded = load(&read(&[(path, text)]), &options).unwrap();
        let found: Vec<_> = loaded.report.iter().map(ToString::to_string).collect();
        let reason = "the document in memory is larger than 100000 bytes";
        assert_eq!(found, [format!("{expected}: {reason}")], "{path}");
    }
}

/// ConfigMaps that a cluster has besides bundles, and everything that OLM, opm and unlade write.
#[test]
fn a_config_map_without_anything_of_a_bundle_is_refused_and_no_other() {
    use serde_json::json;
    let package = "operators.operatorframework.io.bundle.package.v1";
    let pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    let description = json!({"kubernetes.io/description": "Contains a CA bundle"});
    for (annotations, data, is_bundle) in [
        (description.clone(), json!({"ca.crt": pem}), false),
        (json!({}), json!({}), false),
        (json!({}), json!({"config.yaml": "a: 1\n", "empty": "", "list": "- a\n"}), false),
        // The result of upstream's writer for an empty bundle, and if it did not finish.
        (json!({package: ""}), json!({}), true),
        (json!({"olm.sourceImage": "i"}), json!({}), true),
        (json!({"olm.contentEncoding": "gzip+base64"}), json!({}), true),
        (json!({}), json!({"csv.yaml": CSV}), true),
        (json!({}), json!({"a": "kind: Anything\n"}), true),
        (json!({}), json!({"dependencies.yaml": "dependencies: [{type: a, value: 1}]"}), true),
        (json!({}), json!({"p.yaml": "packageName: p\n"}), true),
        (json!({}), json!({"a.yaml": ANNOTATIONS}), true),
    ] {
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "x", "annotations": annotations}, "data": data,
        });
        let config_maps = [serde_json::from_value(config_map).unwrap()];
        match load_config_maps(&config_maps, &Options::default()) {
            Ok(_) => assert!(is_bundle, "{data}"),
            Err(error) => {
                assert!(!is_bundle && matches!(error, Error::NoBundle), "{data}: {error:?}");
            }
        }
    }
    let empty = Content::assemble(Vec::new(), &Limits::default()).unwrap().content;
    let config_maps = encode::encode(&empty, &encode::Options::default()).unwrap();
    load_config_maps(&config_maps, &Options::default()).unwrap();
}

#[test]
fn a_file_beside_the_bundle_is_reported_but_is_not_a_loss() {
    let files = [("metadata/ci.yaml", "updateGraph: semver-mode")];
    let strict = Options { strictness: Strictness::Strict, ..Options::default() };
    let loaded = load(&read(&files), &strict).unwrap();
    assert_eq!(reported(&loaded), [(Reason::UnusedFile, "ci.yaml")]);
}

#[test]
fn a_csv_that_gos_types_cannot_hold_is_loaded_and_reported() {
    let csv = "kind: ClusterServiceVersion
metadata: {name: some, annotations: {olm.skipRange: 1}}
spec: {version: 1.0, skips: a, replaces: before}
";
    let loaded = load_files(&[("manifests/csv.yaml", csv)]);
    assert_eq!(loaded.bundle.csv_name, "some");
    assert_eq!(loaded.bundle.replaces, "before");
    assert_eq!(loaded.bundle.version, "");
    let reported = reported(&loaded);
    assert_eq!(reported, [(Reason::InvalidValue, "csv.yaml"); 3], "{loaded:#?}");
}

#[test]
fn an_owned_crd_that_is_missing_is_reported() {
    let owned = format!(
        "{CSV}  customresourcedefinitions:\n    owned:\n    - {{name: things.example.com, version: \
         v1, kind: Thing}}\n"
    );
    let missing = load_files(&[("manifests/csv.yaml", &owned)]);
    assert_eq!(reported(&missing), [(Reason::MissingCrd, "csv.yaml")]);
    let present = load_files(&[("manifests/csv.yaml", &owned), ("manifests/crd.yaml", CRD)]);
    assert_eq!(reported(&present), []);
}

#[test]
fn metadata_is_recognised_by_content_and_not_by_name() {
    let loaded = load_files(&[
        ("metadata/dependency.yaml", "dependencies: [{type: olm.label, value: {label: a}}]"),
        ("metadata/other.yaml", "Properties: [{Type: b, Value: {z: 1, a: 4.10}}]"),
        ("manifests/dependencies.yaml", "dependencies: [{type: no, value: 1}]"),
    ]);
    let bundle = &loaded.bundle;
    assert_eq!(bundle.dependencies.len(), 1);
    assert_eq!(bundle.dependencies[0].value, r#"{"label":"a"}"#);
    assert!(bundle.properties.iter().any(|property| property.value == r#"{"a":4.1,"z":1}"#));
    assert_eq!(reported(&loaded), [(Reason::Undecodable, "dependencies.yaml")]);
}

#[test]
fn annotations_of_another_file_count_if_there_are_no_others() {
    let loaded = load_files(&[
        ("metadata/annotations.yaml", "-"),
        ("metadata/annotations.yml", ANNOTATIONS),
    ]);
    assert_eq!(loaded.bundle.package_name, "hello");
    let files = ["metadata/annotations.yaml", "annotations.yml"];
    assert_eq!(reported(&loaded), files.map(|file| (Reason::AnnotationsFile, file)));
    let loaded = load_files(&[("metadata/a.yaml", "annotations: {a: b}")]);
    assert_eq!(loaded.bundle.package_name, "hello");
    assert_eq!(reported(&loaded), [(Reason::UnusedFile, "a.yaml")]);
}

#[test]
fn values_of_a_json_file_are_written_compactly() {
    let text = r#"{"dependencies": [{"type": "a", "value": {"c" : 1,  "b": "<"}}]}"#;
    let loaded = load_files(&[("metadata/dependencies.json", text)]);
    assert_eq!(loaded.bundle.dependencies[0].value, r#"{"b":"\u003c","c":1}"#);
}

#[test]
fn dependencies_within_annotations_yaml_are_not_read() {
    let text = format!("{ANNOTATIONS}dependencies: [{{type: a, value: 1}}]\n");
    let loaded = load_files(&[("metadata/annotations.yaml", &text)]);
    assert_eq!(loaded.bundle.dependencies, []);
}

#[test]
fn types_that_are_not_used_are_not_checked() {
    let csv = CSV.replace("  name:", "  creationTimestamp: never\n  generation: [1]\n  name:");
    let crd = CRD.replace("{name: v1}", "{name: v1, schema: {openAPIV3Schema: {maxLength: five}}}");
    let loaded = load_files(&[("manifests/csv.yaml", &csv), ("manifests/crd.yaml", &crd)]);
    assert_eq!(reported(&loaded), []);
    assert_eq!(loaded.bundle.provided_apis.len(), 2);
}

#[test]
fn a_package_manifest_resource_is_accepted_and_is_not_an_object() {
    let text =
        "packageName: hello\ndefaultChannel: 4.10\nchannels:\n- name: 4.10\n  currentCSV: x\n";
    let loaded = load_files(&[("manifests/hello.package.yaml", text)]);
    assert_eq!(loaded.package_manifest.default_channel_name, "4.10");
    assert_eq!(loaded.package_manifest.channels[0].current_csv, "x");
    assert_eq!(loaded.bundle.objects.len(), 1);
    assert_eq!(loaded.bundle.channel_name, "beta");
    assert_eq!(reported(&loaded), []);
}

#[test]
fn a_package_manifest_with_a_kind_stays_an_object() {
    let text = "kind: PackageManifest\napiVersion: v1\npackageName: other\n";
    let loaded = load_files(&[("manifests/p.yaml", text)]);
    assert_eq!(loaded.package_manifest.package_name, "other");
    assert_eq!(loaded.bundle.objects.len(), 2);
    assert_eq!(reported(&loaded), [(Reason::InvalidValue, "p.yaml")]);
}

#[test]
fn objects_come_by_key() {
    let loaded = load_files(&[("manifests/Z.yaml", "kind: Z"), ("manifests/a b.yaml", "kind: A")]);
    let keys: Vec<_> = loaded.bundle.objects.iter().map(|object| object.key.as_str()).collect();
    assert_eq!(keys, ["Z.yaml", "a-b.yaml", "csv.yaml"]);
    assert_eq!(loaded.bundle.objects[1].bytes, b"kind: A");
}

#[test]
fn objects_of_metadata_are_dropped_as_olm_does_not_find_them() {
    let later_csv = CSV.replace("hello.v1.0.0", "z.v9.0.0");
    let reading = read(&[
        ("metadata/z.yaml", &later_csv),
        ("metadata/empty.yaml", "# nothing\n---\n"),
        ("metadata/properties.yaml", "kind: Properties\nproperties: [{type: a, value: 1}]\n"),
    ]);
    let expected = load(&reading, &Options::default()).unwrap();
    assert_eq!(expected.bundle.csv_name, "hello.v1.0.0");
    let keys: Vec<_> = expected.bundle.objects.iter().map(|object| object.key.as_str()).collect();
    assert_eq!(keys, ["csv.yaml"]);
    assert!(expected.bundle.properties.iter().any(|property| property.kind == "a"));
    let report: Vec<_> = expected.report.iter().map(|it| (it.reason, it.to_string())).collect();
    assert_eq!(
        report,
        [
            (Reason::UnusedFile, "empty.yaml: OLM does not use the file".to_owned()),
            (
                Reason::UnreadKey,
                "z.yaml: the object of kind ClusterServiceVersion is dropped, because OLM reads no \
                 objects from metadata/: move the file to manifests/"
                    .to_owned()
            ),
        ]
    );
    for encoding in [encode::Encoding::Plain, encode::Encoding::Gzip] {
        let options = encode::Options::default().with_encoding(encoding);
        let config_maps = encode::encode(&reading.content, &options).unwrap();
        assert_eq!(load_config_maps(&config_maps, &Options::default()).unwrap(), expected);
        // `opm alpha bundle extract` writes them where upstream's loader reads them.
        let exposed = options.with_metadata_as_upstream(true);
        let config_maps = encode::encode(&reading.content, &exposed).unwrap();
        let loaded = load_config_maps(&config_maps, &Options::default()).unwrap();
        assert_eq!(loaded.bundle.csv_name, "z.v9.0.0");
        assert_eq!(loaded.bundle.objects.len(), 4);
    }
}

#[test]
fn a_manifest_that_olm_does_not_read_from_a_plain_config_map_is_dropped() {
    let mut reading = read(&[("manifests/latin1.json", "{\"kind\": \"A\", \"x\": \"e\"}")]);
    let mut files = reading.content.files().to_vec();
    for file in files.iter_mut().filter(|file| file.name == "latin1.json") {
        file.bytes.iter_mut().filter(|byte| **byte == b'e').for_each(|byte| *byte = 0xe9);
    }
    reading = Content::assemble(files, &Limits::default()).unwrap();
    let objects = |encoding| {
        let options = encode::Options::default().with_encoding(encoding);
        let config_maps = encode::encode(&reading.content, &options).unwrap();
        let loaded = load_config_maps(&config_maps, &Options::default()).unwrap();
        let n_unread = loaded.report.iter().filter(|it| it.reason == Reason::UnreadKey).count();
        (loaded.bundle.objects.len(), n_unread)
    };
    assert_eq!(objects(encode::Encoding::Gzip), (2, 0));
    assert_eq!(objects(encode::Encoding::Plain), (1, 1));
}

#[test]
fn hidden_crds_and_those_of_metadata_provide_nothing() {
    // The first one is an object, but upstream's directory reader ignores it.
    for (path, n_objects) in [("manifests/.crd.yaml", 2), ("metadata/crd.yaml", 1)] {
        let loaded = load_files(&[(path, CRD)]);
        assert_eq!(loaded.bundle.provided_apis, [], "{path}");
        assert_eq!(loaded.bundle.objects.len(), n_objects, "{path}");
    }
}

#[test]
fn the_json_has_the_fields_of_upstreams_bundle() {
    let json = serde_json::to_value(load_files(&[])).unwrap();
    let names = |value: &serde_json::Value| -> Vec<String> {
        value.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names(&json), ["bundle", "packageManifest", "report"]);
    assert_eq!(
        names(&json["bundle"]),
        [
            "bundlePath",
            "channelName",
            "csvJson",
            "csvName",
            "dependencies",
            "object",
            "packageName",
            "properties",
            "providedApis",
            "replaces",
            "requiredApis",
            "skipRange",
            "skips",
            "version",
        ]
    );
    assert_eq!(json["bundle"]["object"][0], CSV);
    assert_eq!(names(&json["packageManifest"]), ["channels", "defaultChannel", "packageName"]);
    assert_eq!(names(&json["packageManifest"]["channels"][0]), ["currentCSV", "name"]);
}

#[test]
fn a_config_map_loads_as_its_directory_and_names_its_image() {
    let reading = read(&[("manifests/crd.yaml", CRD)]);
    let options = encode::Options::default()
        .with_name("hello".to_owned())
        .with_source_image(Some("example.com/hello@sha256:1".to_owned()));
    let config_maps = encode::encode(&reading.content, &options).unwrap();
    let mut expected = load(&reading, &Options::default()).unwrap();
    expected.bundle.bundle_path = "example.com/hello@sha256:1".to_owned();
    assert_eq!(load_config_maps(&config_maps, &Options::default()).unwrap(), expected);
}

#[test]
fn an_upstream_config_map_does_not_say_what_is_metadata() {
    let config_map = serde_json::json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {},
        "data": { "csv.yaml": CSV, "dep.yaml": "dependencies: [{type: a, value: 1}]" },
    });
    let config_maps = [serde_json::from_value(config_map).unwrap()];
    let loaded = load_config_maps(&config_maps, &Options::default()).unwrap();
    assert_eq!(loaded.bundle.dependencies.len(), 1);
}

#[test]
fn text_that_is_not_utf8_is_replaced_byte_by_byte() {
    let object = Object { bytes: b"a\xe2\x82b".to_vec(), ..Object::default() };
    assert_eq!(object.text(), "a\u{fffd}\u{fffd}b");
}

#[test]
fn hostile_nesting_in_a_csv_is_loaded_without_recursion() {
    let deep = format!("{}{}", "[".repeat(9_000), "]".repeat(9_000));
    // This is JSON, because the YAML reader has a lower limit.
    let csv = format!(
        r#"{{"kind":"ClusterServiceVersion","metadata":{{"name":"deep"}},"spec":{{"skips":{deep},
        "customresourcedefinitions":{{"owned":{deep},"required":[{deep}]}}}}}}"#
    );
    let dependencies =
        format!(r#"{{"dependencies":[{{"type":"olm.constraint","value":{deep}}}]}}"#);
    let files =
        [("manifests/csv.yaml", csv.as_str()), ("metadata/dependencies.yaml", &dependencies)];
    let loaded = load_files(&files);
    assert_eq!(loaded.bundle.csv_name, "deep", "{:?}", loaded.report);
    assert_eq!(loaded.bundle.dependencies.len(), 1);
}

/// Each of these is copied many times, into APIs or channels.
#[test]
fn names_that_kubernetes_rejects_are_not_copied() {
    let group = "g".repeat(254);
    let crd = CRD.replace("example.com", &group);
    let loaded = load_files(&[("manifests/crd.yaml", &crd)]);
    assert_eq!(loaded.bundle.provided_apis, []);
    assert_eq!(reported(&loaded), [(Reason::InvalidValue, "crd.yaml")]);

    let csv = CSV.replace("hello.v1.0.0", &"n".repeat(254));
    let loaded = load_files(&[("manifests/csv.yaml", &csv)]);
    assert_eq!(loaded.bundle.csv_name.len(), 254);
    assert_eq!(loaded.package_manifest.channels[0].current_csv, "");
}

#[test]
fn the_number_of_provided_apis_is_bounded() {
    let crd = |n_versions: usize| {
        let versions: Vec<_> = (0..n_versions).map(|n| format!("{{name: w{n}}}")).collect();
        CRD.replace("{name: v1}", &versions.join(", "))
    };
    let (most, many) = (crd(6_000), crd(6_000).replace("example.com", "example.org"));
    let loaded = load_files(&[("manifests/a.yaml", &most), ("manifests/b.yaml", &many)]);
    assert_eq!(loaded.bundle.provided_apis.len(), 10_000);
    assert_eq!(reported(&loaded), [(Reason::InvalidValue, "b.yaml")]);

    let loaded = load_files(&[("manifests/crd.yaml", &crd(10_001))]);
    assert_eq!(loaded.bundle.provided_apis.len(), 0);
    assert_eq!(reported(&loaded), [(Reason::InvalidValue, "crd.yaml")]);
}

#[test]
fn properties_larger_than_annotations_may_be_are_not_read() {
    let properties = format!("[{}1]", "1,".repeat(200_000));
    let csv = CSV
        .replace("  name:", &format!("  annotations: {{olm.properties: '{properties}'}}\n  name:"));
    let loaded = load_files(&[("manifests/csv.yaml", &csv)]);
    assert_eq!(reported(&loaded), [(Reason::InvalidValue, "csv.yaml")]);
}

#[test]
fn a_range_that_is_too_long_for_unlade_is_not_reported_as_ignored_by_olm() {
    let annotation = format!("  annotations: {{olm.skipRange: '<1.0.0{}'}}", " ".repeat(16 << 10));
    let csv = CSV.replace("  name:", &format!("{annotation}\n  name:"));
    let loaded = load_files(&[("manifests/csv.yaml", &csv)]);
    let found: Vec<_> = loaded.report.iter().map(ToString::to_string).collect();
    let [finding] = &found[..] else { panic!("{found:?}") };
    let start = "csv.yaml: the annotation olm.skipRange \"<1.0.0";
    let end = "is not checked: the range has 16390 bytes, and at most 16384 are allowed";
    assert!(finding.starts_with(start) && finding.ends_with(end), "{finding}");
}
