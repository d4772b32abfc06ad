//! A catalog that the real `opm serve` serves, and a subscription to it.

use std::process::Command;

use serde_json::{Value, json};
use unlade_oci::build::{Entry, Layer};
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::example;
use unlade_tests::olm::Olm;

use crate::PATIENCE;

const CHANNEL: &str = "stable";

/// Serves a catalog with the example bundle, and has the catalog-operator know of it.
pub(crate) fn serve(cluster: &Cluster, namespace: &Namespace<'_>, olm: &Olm, bundle: &str) {
    let mut image = olm.image("opm");
    let catalog = Entry::file("configs/catalog.json", content(olm, bundle));
    image.layers.push(Layer::new([catalog]));
    let image = cluster.push(&image, "olm/catalog-source:1");
    namespace.apply(&json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "catalog"},
        "spec": {
            "containers": [{
                "name": "registry",
                "image": image,
                // There is no cache yet: it is made at the start.
                "args": ["serve", "/configs", "--cache-dir=/tmp/cache", "--cache-enforce-integrity=false"],
                "command": ["/bin/opm"],
                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                "readinessProbe": {"grpc": {"port": 50051}, "periodSeconds": 1},
            }],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    }));
    let pod = namespace.wait("pod/catalog", PATIENCE, |pod| {
        let conditions = pod["status"]["conditions"].as_array();
        conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    });
    // No Service leads to it on a testbed.
    let address = format!("{}:50051", pod["status"]["podIP"].as_str().unwrap());
    namespace.apply(&json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": "catalog"},
        "spec": {"sourceType": "grpc", "address": address},
    }));
    namespace.wait("catalogsource.operators.coreos.com/catalog", PATIENCE, |source| {
        source["status"]["connectionState"]["lastObservedState"] == "READY"
    });
}

/// Has the catalog-operator install the bundle, up to a plan that nobody approves.
pub(crate) fn subscribe(namespace: &Namespace<'_>) {
    namespace.apply(&json!({
        "apiVersion": "operators.coreos.com/v1",
        "kind": "OperatorGroup",
        "metadata": {"name": "group"},
        "spec": {"targetNamespaces": [namespace.name()]},
    }));
    namespace.apply(&json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "Subscription",
        "metadata": {"name": "hello"},
        "spec": {
            "name": "hello-operator",
            "channel": CHANNEL,
            "source": "catalog",
            "sourceNamespace": namespace.name(),
            "installPlanApproval": "Manual",
        },
    }));
}

/// What `opm render` makes of the bundle, without what it needs of others, and its channel.
fn content(olm: &Olm, image: &str) -> Vec<u8> {
    let output = Command::new(olm.opm()).arg("render").arg(example()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut bundle: Value = serde_json::from_slice(&output.stdout).unwrap();
    bundle["image"] = json!(image);
    let is_needed = |property: &Value| {
        let kind = property["type"].as_str().unwrap();
        // With the objects in it the catalog-operator would unpack nothing.
        !kind.ends_with(".required") && kind != "olm.bundle.object"
    };
    let properties = bundle["properties"].as_array().unwrap();
    bundle["properties"] = properties.iter().filter(|it| is_needed(it)).cloned().collect();
    let package = &bundle["package"];
    let entries = json!([{"name": bundle["name"]}]);
    let all = [
        json!({"schema": "olm.package", "name": package, "defaultChannel": CHANNEL}),
        json!({
            "schema": "olm.channel",
            "package": package,
            "name": CHANNEL,
            "entries": entries,
        }),
        bundle.clone(),
    ];
    all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n").into_bytes()
}
