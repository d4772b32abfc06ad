//! The catalog-operator, in a pod.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::olm::Olm;

use crate::{KINDS, PATIENCE};

const NAME: &str = "catalog-operator";
const INTERVAL: Duration = Duration::from_millis(500);

/// Runs OLM's catalog-operator for all namespaces, as its chart does, with all rights.
pub(crate) fn start(cluster: &Cluster, namespace: &Namespace<'_>, olm: &Olm) {
    for crd in olm.crds(cluster.kubectl()) {
        // One of an earlier test may be on its way out.
        let name = crd["metadata"]["name"].as_str().unwrap();
        cluster.kubectl().run(["delete", "crd", name, "--ignore-not-found"]).unwrap();
        namespace.apply_cluster_wide(&crd);
    }
    let crds = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
    cluster.kubectl().run(crds).unwrap();
    let image = cluster.push(&olm.image("catalog"), "olm/catalog:1");
    namespace.apply(&json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": NAME},
    }));
    namespace.apply_cluster_wide(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": namespace.name()},
        "subjects": [{"kind": "ServiceAccount", "name": NAME, "namespace": namespace.name()}],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
    }));
    namespace.apply(&json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": NAME},
        "spec": {
            "serviceAccountName": NAME,
            "containers": [{
                "name": NAME,
                "image": image,
                "args": [
                    "--debug",
                    format!("--namespace={}", namespace.name()),
                    format!("--opmImage={}", olm.opm),
                    format!("--util-image={}", olm.util),
                    "--set-workload-user-id=true",
                ],
            }],
        },
    }));
}

/// Ends it, and waits until it is gone: it would work for the next test too.
pub(crate) fn stop(namespace: &Namespace<'_>) {
    namespace.kubectl(["delete", "pod", NAME, "--grace-period=1"]).unwrap();
}

/// Waits until it has dealt with all that there is by now: with an object of each kind that is made
/// and deleted now it deals later than with those of the same kind before.
pub(crate) fn wait_until_it_has_seen_all(namespace: &Namespace<'_>) {
    let name = |kind: &str| format!("marker-{kind}");
    for kind in KINDS {
        namespace.apply(&marker(kind, &name(kind)));
        let delete = ["delete", kind, &name(kind), "--wait=false"];
        namespace.kubectl(delete).unwrap();
    }
    let end = Instant::now() + PATIENCE;
    loop {
        let log = namespace.kubectl(["logs", NAME]).unwrap();
        let is_said = |kind: &&str| {
            log.lines().any(|line| {
                line.contains("handling object deletion")
                    && line.contains(&format!("name={} ", name(kind)))
            })
        };
        let unsaid: Vec<_> = KINDS.iter().filter(|kind| !is_said(kind)).collect();
        if unsaid.is_empty() {
            return;
        }
        assert!(Instant::now() < end, "it hasn't seen {unsaid:?}");
        thread::sleep(INTERVAL);
    }
}

/// Anything that it watches.
fn marker(kind: &str, name: &str) -> serde_json::Value {
    let metadata = json!({"name": name, "labels": {"olm.managed": "true"}});
    let rbac = "rbac.authorization.k8s.io";
    match kind {
        "configmap" => json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}),
        "serviceaccount" => {
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        }
        "role" => json!({
            "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": metadata, "rules": [],
        }),
        "rolebinding" => json!({
            "apiVersion": format!("{rbac}/v1"),
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": name},
        }),
        _ => json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata,
            "spec": {"suspend": true, "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "none", "image": "unlade.test/none:1"}],
            }}},
        }),
    }
}
