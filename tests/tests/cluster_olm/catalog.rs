//! A catalog that the real `opm serve` serves, and a subscription to it.

use serde_json::{Value, json};
use unlade_tests::cluster::Namespace;

use crate::{PATIENCE, Stage, is};

const CHANNEL: &str = "stable";
/// The name of the CatalogSource of a subscription.
pub(crate) const NAME: &str = "catalog";

/// A bundle in a channel, which is named after its package and version.
pub(crate) struct Bundle<'a> {
    pub(crate) version: &'a str,
    /// The version that it replaces.
    pub(crate) replaces: Option<&'a str>,
    pub(crate) image: &'a str,
}

/// Returns a package with one channel, as file-based catalogs contain it.
///
/// What the bundles need of others is left out: nobody here could give it. So are their objects,
/// without which the catalog-operator has to unpack them.
pub(crate) fn package(name: &str, bundles: &[Bundle<'_>]) -> String {
    let csv = |version: &str| format!("{name}.v{version}");
    let entries: Vec<_> = bundles
        .iter()
        .map(|bundle| {
            let mut entry = json!({"name": csv(bundle.version)});
            if let Some(version) = bundle.replaces {
                entry["replaces"] = json!(csv(version));
            }
            entry
        })
        .collect();
    let mut all = vec![
        json!({"schema": "olm.package", "name": name, "defaultChannel": CHANNEL}),
        json!({"schema": "olm.channel", "package": name, "name": CHANNEL, "entries": entries}),
    ];
    all.extend(bundles.iter().map(|bundle| {
        let version = json!({"packageName": name, "version": bundle.version});
        json!({
            "schema": "olm.bundle",
            "name": csv(bundle.version),
            "package": name,
            "image": bundle.image,
            "properties": [{"type": "olm.package", "value": version}],
        })
    }));
    all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

/// Serves packages, and returns the address.
pub(crate) fn serve(
    stage: &Stage,
    namespace: &Namespace<'_>,
    name: &str,
    packages: &[String],
) -> String {
    namespace.apply(&json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"catalog.json": packages.join("\n")},
    }));
    let file = "/configs/catalog.json";
    namespace.apply(&json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "containers": [{
                "name": "registry",
                "image": stage.olm.opm,
                // The cache does not exist yet; it is created at the start.
                "args": ["serve", "/configs", "--cache-dir=/tmp/cache", "--cache-enforce-integrity=false"],
                "command": ["/bin/opm"],
                "volumeMounts": [
                    // Mount only the file, because a directory of a ConfigMap would contain it
                    // twice.
                    {"name": "configs", "mountPath": file, "subPath": "catalog.json"},
                    {"name": "tmp", "mountPath": "/tmp"},
                ],
                "readinessProbe": {"grpc": {"port": 50051}, "periodSeconds": 1},
                // The namespace may ask for it.
                "securityContext": {
                    "allowPrivilegeEscalation": false,
                    "capabilities": {"drop": ["ALL"]},
                    "runAsNonRoot": true,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
            }],
            "volumes": [
                {"name": "configs", "configMap": {"name": name}},
                {"name": "tmp", "emptyDir": {}},
            ],
        },
    }));
    let pod = namespace.wait(&format!("pod/{name}"), PATIENCE, |pod| is(pod, "Ready"));
    // On a testbed, no Service leads to it.
    format!("{}:50051", pod["status"]["podIP"].as_str().unwrap())
}

/// Connects the catalog-operator to the catalog at `address`, in place of an earlier one.
pub(crate) fn connect(namespace: &Namespace<'_>, address: &str) {
    namespace.apply(&source(namespace, address));
    wait_until_connected(namespace, NAME, address);
}

/// Returns the CatalogSource with this address.
pub(crate) fn source(namespace: &Namespace<'_>, address: &str) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": NAME, "namespace": namespace.name()},
        "spec": {"sourceType": "grpc", "address": address},
    })
}

/// Waits until the catalog-operator is connected to a catalog at `address`.
pub(crate) fn wait_until_connected(namespace: &Namespace<'_>, name: &str, address: &str) {
    namespace.wait(&format!("catalogsource.operators.coreos.com/{name}"), PATIENCE, |source| {
        let connection = &source["status"]["connectionState"];
        connection["address"] == address && connection["lastObservedState"] == "READY"
    });
}

/// What to install, and how.
pub(crate) struct Subscription<'a> {
    pub(crate) package: &'a str,
    /// `Automatic` or `Manual`.
    pub(crate) approval: &'a str,
    /// The maximum time to unpack a bundle, such as `30s`.
    pub(crate) unpack_timeout: Option<&'a str>,
}

impl Subscription<'_> {
    /// Makes the catalog-operator install it.
    pub(crate) fn apply(&self, namespace: &Namespace<'_>) {
        for object in self.objects(namespace) {
            namespace.apply(&object);
        }
    }

    /// Returns the Subscription, and the OperatorGroup that selects the namespaces of the operator.
    pub(crate) fn objects(&self, namespace: &Namespace<'_>) -> [Value; 2] {
        let mut group = json!({
            "apiVersion": "operators.coreos.com/v1",
            "kind": "OperatorGroup",
            "metadata": {"name": "group", "namespace": namespace.name()},
            "spec": {"targetNamespaces": [namespace.name()]},
        });
        if let Some(time) = self.unpack_timeout {
            let annotation = json!({"operatorframework.io/bundle-unpack-timeout": time});
            group["metadata"]["annotations"] = annotation;
        }
        let subscription = json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "Subscription",
            "metadata": {"name": "subscription", "namespace": namespace.name()},
            "spec": {
                "name": self.package,
                "channel": CHANNEL,
                "source": NAME,
                "sourceNamespace": namespace.name(),
                "installPlanApproval": self.approval,
            },
        });
        [group, subscription]
    }
}

/// Waits until the subscription meets a condition, and returns it.
#[track_caller]
pub(crate) fn wait(namespace: &Namespace<'_>, is_wanted: impl Fn(&Value) -> bool) -> Value {
    namespace.wait("subscription.operators.coreos.com/subscription", PATIENCE, is_wanted)
}
