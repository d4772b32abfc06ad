//! Runs the commands that talk to a cluster on a real cluster.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test harness: what fails here fails the test"
)]

/// `unlade check`.
mod check;
#[path = "../finished/mod.rs"]
mod finished;
/// Interrupted launches.
mod interrupt;
/// `unlade get`, `describe` and `delete`.
mod inventory;
/// Registries that require credentials.
mod login;
/// Several images.
mod many;
/// The switch-over of OLM, and its obstacles.
mod olm;
/// The least permissions that the commands need.
mod right;
/// A namespace, images, and the command in the testbed's network.
mod stage;

use serde_json::Value;

use stage::{PATIENCE, Stage};

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_launch_reports_each_phase_and_shows_the_bundle() {
    Stage::open("cli-launch", |stage| {
        let image = stage.push("launch");
        let done = stage.unlade(["launch", &image]);
        let stdout = done.success();
        let heading = format!("ConfigMap {}/", stage.namespace.name());
        assert!(stdout.starts_with(&heading), "{stdout}");
        assert!(stdout.contains("\nCSV           hello-operator.v0.2.0\n"), "{stdout}");
        // Short phases are not always observed, because the kubelet reports the status later.
        let phases = ["created", "scheduled to ", "bundle image pulled", "written", "loaded"];
        let places: Vec<_> = phases.iter().filter_map(|phase| done.stderr.find(phase)).collect();
        assert!(places.is_sorted(), "{}", done.stderr);
        for phase in ["created", "written", "loaded"] {
            assert!(done.stderr.contains(phase), "{phase}: {}", done.stderr);
        }
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_events_are_json_lines_and_the_last_one_is_the_result() {
    Stage::open("cli-json", |stage| {
        let image = stage.push("json");
        let stdout = stage.unlade(["launch", &image, "-o", "json"]).success();
        let lines: Vec<Value> =
            stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
        assert_eq!(events.first(), Some(&"prepared"), "{stdout}");
        assert!(events.ends_with(&["written", "loaded", "launched"]), "{stdout}");
        let times: Vec<_> = lines.iter().map(|line| line["seconds"].as_f64().unwrap()).collect();
        assert!(times.is_sorted(), "{stdout}");
        let last = lines.last().unwrap();
        assert_eq!(last["image"], image.as_str());
        assert_eq!(last["bundle"]["csvName"], "hello-operator.v0.2.0", "{last}");
        assert!(last["timings"]["written"].as_f64().is_some(), "{last}");
        let config_map = last["configMap"].as_str().unwrap();
        assert!(stage.namespace.get(&format!("configmap/{config_map}")).is_some());
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_the_config_map_is_written_for_load() {
    Stage::open("cli-yaml", |stage| {
        let image = stage.push("yaml");
        let yaml = stage.unlade(["launch", &image, "-o", "yaml", "-q"]);
        assert_eq!(yaml.stderr, "", "quiet");
        assert!(!yaml.stdout.contains("managedFields"), "{}", yaml.stdout);
        let loaded = stage.piped(["load", "-o", "json"], &yaml.success()).success();
        assert!(loaded.contains("\"csvName\": \"hello-operator.v0.2.0\""), "{loaded}");
        let name = stage.unlade(["launch", &image, "-o", "name"]).success();
        assert!(name.starts_with("configmap/"), "{name}");
        assert_eq!(name.lines().count(), 1);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_a_failure_comes_with_evidence_hint_and_its_code() {
    Stage::open("cli-failure", |stage| {
        let image = stage.missing("failure");
        let done = stage.unlade(["launch", &image]);
        let stderr = done.failure(41);
        let error = stderr.split_once("error: failed to launch ").unwrap().1;
        assert!(error.contains("\n  pod/"), "{stderr}");
        assert!(error.contains("\nhint: "), "{stderr}");
        let json = stage.unlade(["launch", &image, "-o", "json"]);
        assert_eq!(json.code, Some(41), "{json:?}");
        let last: Value = serde_json::from_str(json.stdout.lines().last().unwrap()).unwrap();
        assert_eq!(last["event"], "failed");
        assert_eq!(last["failure"]["reason"], "imageNotFound");
        assert_eq!(last["exitCode"], 41);
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_rm_leaves_nothing() {
    Stage::open("cli-rm", |stage| {
        let image = stage.push("rm");
        stage.unlade(["launch", &image, "--rm"]).success();
        stage.wait_until_nothing_is_left();
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_dry_runs_keep_nothing() {
    Stage::open("cli-dry", |stage| {
        let image = stage.push("dry");
        for arguments in [["--dry-run=client"], ["--dry-run=server"]] {
            let all = [&["launch", &image, "-o", "name"][..], &arguments].concat();
            let names = stage.unlade(all).success();
            assert_eq!(names.lines().count(), 5, "{names}");
        }
        let yaml = stage.unlade(["launch", &image, "--dry-run=server"]).success();
        // Defaults of the API server.
        assert!(yaml.contains("completionMode: NonIndexed"), "{yaml}");
        stage.wait_until_nothing_is_left();
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_printed_objects_can_be_created_by_hand() {
    Stage::open("cli-create", |stage| {
        let image = stage.push("create");
        let dry = ["launch", &image, "--name", "by-hand", "--dry-run=client"];
        stage.kubectl_with(["create", "-f", "-"], &stage.unlade(dry).success());
        stage.namespace.wait("configmap/by-hand", PATIENCE, |config_map| {
            config_map["metadata"]["annotations"]["unlade.dev/attempt"].is_string()
        });
        let table = stage.unlade(["get", "by-hand", "--no-headers"]).success();
        assert!(table.contains("Unpacked"), "{table}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_the_config_map_is_deleted_with_its_owner() {
    Stage::open("cli-owner", |stage| {
        let image = stage.push("owner");
        stage.kubectl(&["create", "secret", "generic", "landlord"]);
        stage.unlade(["launch", &image, "--owner", "secrets/landlord"]).success();
        let described = stage.unlade(["get", "-o", "yaml"]).success();
        assert!(described.contains("kind: Secret\n"), "{described}");
        stage.kubectl(&["delete", "secret", "landlord"]);
        stage.wait_until_nothing_is_left();
        for (owner, words) in [("secrets/nobody", "does not exist"), ("castles/nobody", "no kind")]
        {
            let stderr = stage.unlade(["launch", &image, "--owner", owner]).failure(77);
            assert!(stderr.contains(words), "{stderr}");
        }
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_kubectl_finds_the_plugin() {
    Stage::open("cli-plugin", |stage| {
        let image = stage.push("plugin");
        let namespace = stage.namespace.name();
        let arguments = ["unlade", "launch", &image, "-n", namespace, "-o", "name"];
        let name = stage.plugin(&arguments).success();
        assert!(name.starts_with("configmap/"), "{name}");
        let table = stage.plugin(&["unlade", "get", "-n", namespace]).success();
        assert!(table.contains("hello-operator"), "{table}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_cli_someone_else_can_be_impersonated() {
    Stage::open("cli-as", |stage| {
        let stderr =
            stage.unlade(["get", "--as", "stranger", "--as-group", "strangers"]).failure(75);
        assert!(stderr.contains("stranger"), "{stderr}");
    });
}
