//! Missing permissions of the launcher or its pod, and servers that they cannot reach.

use std::time::Duration;

use k8s_openapi::api::core::v1::PodSpec;
use serde_json::json;
use unlade_config_map::mark;
use unlade_launcher::Reason;
use unlade_testbed::fault;

use super::observer::Knows;
use super::start::changed;
use super::{Case, run};
use crate::stage::Stage;

/// An address for documentation, which no machine has (RFC 5737).
const NOBODY: &str = "192.0.2.1";

#[test]
#[ignore = "needs a testbed"]
fn cluster_denials_to_the_launcher_and_unreachable_servers_are_reported_before_any_deadline() {
    Stage::open("failure-rights", async |stage| {
        let image = stage.push_example("rights").by_tag;
        let account = format!("system:serviceaccount:{}:default", stage.namespace.name());
        let forbidden =
            stage.client_of(|config| config.auth_info.impersonate = Some(account)).await;
        // Nothing listens on port 9 (discard).
        let away = "https://127.0.0.1:9/".parse().unwrap();
        let away = stage.client_of(|config| config.cluster_url = away).await;
        run([
            Case::new(stage, "forbidden", &image, Reason::Forbidden)
                .by(forbidden)
                .known_by(Knows::Asked),
            Case::new(stage, "api-away", &image, Reason::ApiUnreachable)
                .by(away)
                .passing()
                .known_by(Knows::Asked),
        ])
        .await;
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_denials_to_the_pod_and_unreachable_servers_are_reported_before_any_deadline() {
    Stage::open("failure-pod", async |stage| {
        let image = stage.push_example("pod").by_tag;
        stage.kubectl(&["create", "serviceaccount", "nobody"]);
        let elsewhere = format!(
            "containers: [Object.spec.containers{{name: \"unpack\", env: \
             [Object.spec.containers.env{{name: \"KUBERNETES_SERVICE_HOST\", value: {NOBODY:?}}}]}}]"
        );
        let is_changed = |spec: &PodSpec| spec.containers.iter().any(|it| it.env.is_some());
        let cut_off = changed(stage, "cut-off", &elsewhere, is_changed).await;
        run([
            Case::new(stage, "no-permission", &image, Reason::NoPermission)
                .known_by(Knows::Ended)
                .with(|options| {
                    options.pod.service_account = Some("nobody".into());
                    // On a busy machine, the API server can stop responding for a moment. The
                    // unpacker then waits for the permission again.
                    options.deadlines.run = Duration::from_mins(5);
                }),
            Case::new(stage, "cut-off", &image, Reason::ApiUnreachableFromPod)
                .within(cut_off.name())
                .passing()
                .known_by(Knows::Ended)
                // The unpacker gives up when nine tenths of this time have passed, and a busy node
                // needs the rest to report it.
                .with(|options| options.deadlines.run = Duration::from_secs(100)),
        ])
        .await;
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_config_map_that_others_write_each_time_is_a_conflict() {
    Stage::open("failure-conflict", async |stage| {
        let image = stage.push_example("conflict").by_tag;
        let conflicting = |what: &str, patch: &str| {
            let namespace = stage.cluster.namespace(&format!("failure-{what}"));
            for mut object in fault::mutating_policy(namespace.name(), "", "configmaps", patch) {
                // The policy applies to updates of the ConfigMap, and not to its creation.
                if let Some(rules) = object.pointer_mut("/spec/matchConstraints/resourceRules/0") {
                    rules["operations"] = json!(["UPDATE"]);
                }
                namespace.apply_cluster_wide(&object);
            }
            namespace
        };
        let other = format!(
            "Object{{metadata: Object.metadata{{annotations: {{{:?}: \"another\"}}}}}}",
            mark::ATTEMPT
        );
        let marked = conflicting("marked", &other);
        let altered = conflicting("altered", r#"Object{data: {"altered.yaml": "kind: A"}}"#);
        for namespace in [&marked, &altered] {
            namespace.kubectl(["create", "configmap", "probe"]).unwrap();
            wait_until_written_over(namespace);
        }
        run([
            Case::new(stage, "other-mark", &image, Reason::Conflict)
                .within(marked.name())
                .passing()
                .known_by(Knows::Job("SuccessCriteriaMet")),
            Case::new(stage, "other-content", &image, Reason::Conflict)
                .within(altered.name())
                .passing()
                .known_by(Knows::Done),
        ])
        .await;
    });
}

/// Waits until the policy changes whatever is written into a ConfigMap.
fn wait_until_written_over(namespace: &unlade_tests::cluster::Namespace<'_>) {
    let end = std::time::Instant::now() + crate::stage::PATIENCE;
    let patch = r#"--patch={"metadata":{"labels":{"a":"b"}}}"#;
    let patch = ["patch", "configmap", "probe", patch, "--output=json"];
    let is_changed = || {
        let response = namespace.kubectl(patch.into_iter().chain(["--dry-run=server"])).unwrap();
        response.contains("another") || response.contains("altered.yaml")
    };
    while !is_changed() {
        assert!(std::time::Instant::now() < end, "nothing is changed");
    }
}
