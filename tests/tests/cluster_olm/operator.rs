//! OLM's catalog-operator and olm-operator, in pods.

use std::path::Path;

use serde_json::{Value, json};
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::olm::Olm;

pub(crate) const CATALOG: &str = "catalog-operator";
const OLM: &str = "olm-operator";
const ACCOUNT: &str = "olm";

/// Runs both for all namespaces, as their chart does, with all permissions. Bundles are unpacked by
/// our image, in place of both of OLM's own. The catalog-operator resolves names with the file
/// `hosts`.
pub(crate) fn start(cluster: &Cluster, home: &Namespace<'_>, olm: &Olm, ours: &str, hosts: &Path) {
    olm.define_kinds(cluster, home, |_| true);
    home.apply(&json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": ACCOUNT},
    }));
    home.apply_cluster_wide(&json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": home.name()},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": home.name()}],
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
    }));
    let image = |program| cluster.push(&olm.image(program), &format!("olm/{program}:1"));
    let namespace = format!("--namespace={}", home.name());
    let unpacking = [
        "--debug",
        &namespace,
        &format!("--opmImage={ours}"),
        &format!("--util-image={ours}"),
        "--set-workload-user-id=true",
    ];
    let mut catalog = pod(CATALOG, &image("catalog"), &unpacking);
    catalog["spec"]["volumes"] = json!([{"name": "hosts", "hostPath": {"path": hosts}}]);
    let mounts = json!([{"name": "hosts", "mountPath": "/etc/hosts", "readOnly": true}]);
    catalog["spec"]["containers"][0]["volumeMounts"] = mounts;
    home.apply(&catalog);
    home.apply(&pod(OLM, &image("olm"), &[&namespace]));
}

/// Stops both, and waits until they are gone, because they would also affect the next test.
pub(crate) fn stop(cluster: &Cluster, home: &Namespace<'_>) {
    // The olm-operator keeps installed objects until it has cleaned up.
    let installed = ["clusterserviceversions", "operatorgroups"]
        .map(|kind| format!("{kind}.operators.coreos.com"))
        .join(",");
    let clean =
        ["delete", &installed, "--all", "--all-namespaces", "--timeout=300s"].map(str::to_owned);
    let end = ["delete", "pod", CATALOG, OLM, "--namespace", home.name(), "--grace-period=1"];
    for command in [clean.to_vec(), end.map(str::to_owned).to_vec()] {
        if let Err(error) = cluster.kubectl().run(command) {
            eprintln!("{error}");
        }
    }
}

fn pod(name: &str, image: &str, args: &[&str]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "serviceAccountName": ACCOUNT,
            "containers": [{"name": name, "image": image, "args": args}],
        },
    })
}
