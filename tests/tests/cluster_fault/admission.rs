//! Objects that the API server refuses or changes.

use std::time::Instant;

use serde_json::{Value, json};
use unlade_testbed::fault;
use unlade_tests::cluster::{Cluster, Namespace};

use crate::{PATIENCE, is_running, pod, waiting_image};

fn config_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}})
}

/// Returns the message with which the API server refuses an object. A new policy takes effect only
/// after a moment, so the request is repeated until the deadline.
fn refusal(namespace: &Namespace<'_>, object: &Value) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        match namespace.try_apply(object) {
            Err(error) => return error.to_string(),
            Ok(()) if Instant::now() > end => panic!("it is never refused"),
            Ok(()) => {}
        }
    }
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_a_full_quota_refuses_pods() {
    let cluster = Cluster::open();
    let namespace = cluster.namespace("quota");
    namespace.apply(&fault::quota(namespace.name(), &["pods"]));
    let words = refusal(&namespace, &pod("pod", "unlade.test/none:1"));
    assert!(words.contains("exceeded quota: full"), "{words}");
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_a_restricted_namespace_accepts_only_pods_that_drop_their_privileges() {
    let cluster = Cluster::open();
    let image = waiting_image(&cluster, "restricted/wait");
    let namespace = cluster.namespace("restricted");
    namespace.apply(&fault::restricted(namespace.name()));
    let mut pod = pod("pod", &image);
    let words = refusal(&namespace, &pod);
    assert!(words.contains("violates PodSecurity \"restricted:latest\""), "{words}");
    pod["spec"]["containers"][0]["securityContext"] = json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": true,
        "runAsNonRoot": true,
        "runAsUser": 1001,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    namespace.apply(&pod);
    namespace.wait("pod/pod", PATIENCE, is_running);
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_a_policy_denies() {
    let cluster = Cluster::open();
    let namespace = cluster.namespace("denying");
    for object in fault::denying_policy(namespace.name(), "", "configmaps", "not on a Friday") {
        namespace.apply_cluster_wide(&object);
    }
    let words = refusal(&namespace, &config_map());
    assert!(words.contains("not on a Friday"), "{words}");
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_policy_changes_objects_on_their_way_in() {
    let cluster = Cluster::open_testbed();
    let namespace = cluster.namespace("changing");
    let patch = r#"Object{metadata: Object.metadata{labels: {"changed": "yes"}}}"#;
    for object in fault::mutating_policy(namespace.name(), "", "configmaps", patch) {
        namespace.apply_cluster_wide(&object);
    }
    let end = Instant::now() + PATIENCE;
    while namespace.get("configmap/map").is_none_or(|map| map["metadata"]["labels"].is_null()) {
        assert!(Instant::now() < end, "it is never changed");
        namespace.apply(&config_map());
    }
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_a_dead_webhook_refuses() {
    let cluster = Cluster::open();
    let namespace = cluster.namespace("webhook");
    namespace.apply_cluster_wide(&fault::dead_webhook(namespace.name(), "", "configmaps"));
    let words = refusal(&namespace, &config_map());
    assert!(words.contains("failed calling webhook"), "{words}");
}
