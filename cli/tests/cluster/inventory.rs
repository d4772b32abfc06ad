use std::fs;

use serde_json::Value;
use unlade_testbed::fault;
use unlade_tests::example;

use crate::stage::Stage;

/// Only the unpacker knows what is left out before the ConfigMap exists.
#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_findings_of_the_unpacker_are_in_every_output() {
    const LEFT_OUT: [&str; 3] = ["olm.contentEncoding", "olm.sourceImage", "unlade.dev/digest"];
    let bundle = tempfile::tempdir().unwrap();
    for part in ["manifests", "metadata"] {
        fs::create_dir(bundle.path().join(part)).unwrap();
        for file in fs::read_dir(example().join(part)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), bundle.path().join(part).join(file.file_name())).unwrap();
        }
    }
    let annotations = bundle.path().join("metadata/annotations.yaml");
    let mut text = fs::read_to_string(&annotations).unwrap();
    text.extend(LEFT_OUT.map(|key| format!("  {key}: x\n")));
    fs::write(&annotations, text).unwrap();
    Stage::open("cli-findings", |stage| {
        let image = stage.push_bundle(bundle.path(), "findings");
        let json = stage.unlade(["launch", &image, "-o", "json"]).success();
        let last: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
        let report = last["report"].as_array().unwrap();
        let subjects: Vec<_> = report.iter().map(|finding| &finding["subject"]).collect();
        assert_eq!(subjects, LEFT_OUT, "{last}");
        let name = last["configMap"].as_str().unwrap();
        // Launches once more, which reuses the content.
        let reused = ["launch", &image, "--reuse", "tag"];
        let config_maps = stage.unlade(["get", "-o", "yaml"]).success();
        for shown in [
            stage.unlade(reused).success(),
            stage.unlade(["describe", name]).success(),
            stage.piped(["load"], &config_maps).success(),
        ] {
            for key in LEFT_OUT {
                assert!(shown.contains(&format!("\nwarning: {key}: ")), "{key}: {shown}");
            }
            assert!(!shown.contains("Nothing was dropped"), "{shown}");
        }
    });
}

/// Admission replaces the image by one with the same digest in another repository.
#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_the_digest_and_the_admitted_image_are_in_every_output() {
    Stage::open("cli-admitted", |stage| {
        let (repository, digest) = stage.push_with_digest(&example(), "admitted");
        let (image, mirror) = (format!("{repository}:1"), stage.push("mirror"));
        let patch = format!(
            "Object{{spec: Object.spec{{containers: [Object.spec.containers{{name: \"unpack\", \
             image: {mirror:?}}}]}}}}"
        );
        for object in fault::mutating_policy(stage.namespace.name(), "", "pods", &patch) {
            stage.namespace.apply_cluster_wide(&object);
        }
        let probe = ["run", "unpack", "--image=unlade.test/none:1", "--dry-run=server"];
        let probe = [&probe[..], &["-o=jsonpath={.spec.containers[*].image}"]].concat();
        Stage::wait_until(&mirror, || stage.kubectl(&probe));

        let launch = ["launch", &image, "--strategy=inject"];
        let json = stage.unlade([&launch[..], &["-o=json"]].concat()).success();
        let last: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
        assert_eq!(last["imageDigest"], digest, "{last}");
        assert_eq!(last["imageDigestSource"], "containerStatus", "{last}");
        assert_eq!(last["admittedImage"], mirror, "{last}");
        assert_eq!(last["toolImage"]["reference"], stage.tool_image, "{last}");

        // Launches once more, which does not reuse the content of a tag.
        let summary = stage.unlade(launch).success();
        for line in [
            format!("\nImage digest  {digest} (reported for the container)\n"),
            format!("\nAdmitted as   {mirror}\n"),
        ] {
            assert!(summary.contains(&line), "{line:?}: {summary}");
        }
        let name = last["configMap"].as_str().unwrap();
        let description = stage.unlade(["describe", name]).success();
        for line in [
            format!("\nImage digest  {digest}\n"),
            "\nVerified      reported for the container\n".to_owned(),
        ] {
            assert!(description.contains(&line), "{line:?}: {description}");
        }
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_get_shows_what_launches_left() {
    Stage::open("cli-get", |stage| {
        let empty = stage.unlade(["get"]);
        let namespace = stage.namespace.name();
        assert_eq!(empty.stderr, format!("No resources found in {namespace} namespace.\n"));
        assert_eq!(empty.success(), "");
        // Only our ConfigMaps are listed.
        stage.kubectl(&["create", "configmap", "foreign"]);
        let image = stage.push("get");
        let name = stage.unlade(["launch", &image, "--labels", "team=a", "-o", "name"]).success();
        let name = name.trim().strip_prefix("configmap/").unwrap();
        let table = stage.unlade(["get"]).success();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 2, "{table}");
        let columns: Vec<_> = lines[0].split_whitespace().collect();
        assert_eq!(columns, ["NAME", "PACKAGE", "STATUS", "FILES", "AGE"]);
        let cells: Vec<_> = lines[1].split_whitespace().collect();
        assert_eq!(cells[..4], [name, "hello-operator", "Unpacked", "7"]);
        let wide = stage.unlade(["get", "-o", "wide", "--no-headers"]).success();
        assert!(wide.contains(&image) && wide.contains(&format!("{name}-1")), "{wide}");
        let all = stage.unlade(["get", "-A"]).success();
        assert!(all.starts_with("NAMESPACE "), "{all}");
        assert!(all.contains(namespace), "{all}");
        for (selector, n_lines) in [("team=a", 1), ("team=b", 0)] {
            let names = stage.unlade(["get", "-l", selector, "-o", "name"]).success();
            assert_eq!(names.lines().count(), n_lines, "{names}");
        }
        let loaded = stage.piped(["load"], &stage.unlade(["get", "-o", "json"]).success());
        assert!(loaded.success().contains("hello-operator.v0.2.0"));
        let one = stage.unlade(["get", name, "-o", "yaml"]).success();
        assert!(one.contains("\nkind: ConfigMap\n"), "{one}");
        let stderr = stage.unlade(["get", name, "nobody", "-o", "name"]);
        assert_eq!(stderr.code, Some(1), "{stderr:?}");
        assert_eq!(
            stderr.stderr,
            format!("error: the ConfigMap {namespace}/nobody does not exist\n")
        );
        assert_eq!(stderr.stdout, format!("configmap/{name}\n"));
        for command in [&["get", "foreign"][..], &["describe", "foreign"], &["delete", "foreign"]] {
            let stderr = stage.unlade(command.iter().copied()).failure(76);
            assert!(stderr.contains("was not created by unlade"), "{stderr}");
        }
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_a_failure_is_described_and_deleted() {
    Stage::open("cli-describe", |stage| {
        let image = stage.missing("describe");
        let stderr = stage.unlade(["launch", &image]).failure(41);
        assert!(stderr.contains("configmap/"), "{stderr}");
        let table = stage.unlade(["get", "--no-headers"]).success();
        let name = table.split_whitespace().next().unwrap().to_owned();
        assert!(table.contains("ImageNotFound"), "{table}");
        let text = stage.unlade(["describe", &name]).success();
        // The Job has ended, so its pod may no longer exist.
        for part in ["\nFailed        ImageNotFound: ", "\nHint          ", "\nJOB ", "\nEVENT "] {
            assert!(text.contains(part), "{part:?}: {text}");
        }
        assert!(text.contains(&format!("\nOwns          ServiceAccount/{name}\n")), "{text}");
        for (dry_run, words) in [("client", " (dry run)"), ("server", " (server dry run)")] {
            let stdout = stage.unlade(["delete", &name, &format!("--dry-run={dry_run}")]).success();
            assert!(stdout.contains(words), "{stdout}");
        }
        let stdout = stage.unlade(["delete", &name]).success();
        let with = format!("ServiceAccount/{name}, Role/{name}, RoleBinding/{name}, Job/{name}-1");
        assert_eq!(stdout, format!("configmap {name:?} deleted, and with it {with}\n"));
        stage.wait_until_nothing_is_left();
        stage.unlade(["delete", &name]).failure(1);
        stage.unlade(["delete", &name, "--ignore-not-found"]).success();
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_all_selects_only_config_maps_of_unlade() {
    Stage::open("cli-all", |stage| {
        stage.kubectl(&["create", "configmap", "foreign"]);
        let image = stage.push("all");
        for name in ["one", "two"] {
            stage.unlade(["launch", &image, "--name", name]).success();
        }
        let stdout = stage.unlade(["delete", "--all", "-o", "name"]).success();
        assert_eq!(stdout, "configmap/one\nconfigmap/two\n");
        stage.wait_until_nothing_is_left();
        assert!(stage.namespace.get("configmap/foreign").is_some());
    });
}
