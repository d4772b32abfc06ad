//! What remains in a namespace: what `docs/reference/command.md` says, and nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use unlade_launcher::{Inventory, Launcher, Options};
use unlade_oci::Platform;
use unlade_oci::build::Image;

use crate::stage::{Stage, finished, given};

/// The kinds of the objects that are deleted only with their ConfigMap.
const ACCESS: [&str; 3] =
    ["role.rbac.authorization.k8s.io", "rolebinding.rbac.authorization.k8s.io", "serviceaccount"];

/// Returns the ConfigMap with this name, and the objects that are deleted only with it.
fn stays(name: &str) -> BTreeSet<String> {
    ACCESS.into_iter().chain(["configmap"]).map(|kind| format!("{kind}/{name}")).collect()
}

/// Returns the same objects and those of the first attempt.
fn stays_for_a_while(name: &str) -> BTreeSet<String> {
    let attempt = [format!("job.batch/{name}-1"), format!("pod/{name}-1-*")];
    stays(name).into_iter().chain(attempt).collect()
}

/// Returns the objects of all kinds in the namespace, except those that Kubernetes creates.
fn left(stage: &Stage<'_>) -> BTreeSet<String> {
    let kinds = stage.kubectl(&["api-resources", "--verbs=list", "--namespaced", "--output=name"]);
    let is_event = |kind: &str| kind == "events" || kind.starts_with("events.");
    let kinds: Vec<&str> = kinds.lines().filter(|kind| !is_event(kind)).collect();
    let objects = stage.kubectl(&["get", &kinds.join(","), "--output=name"]);
    let own = ["configmap/kube-root-ca.crt", "serviceaccount/default"];
    let objects = objects.lines().filter(|object| !own.contains(object));
    let named = objects.map(|object| match object.rsplit_once('-') {
        Some((pod, _random)) if object.starts_with("pod/") => format!("{pod}-*"),
        _ => object.to_owned(),
    });
    named.collect()
}

fn short(stage: &Stage<'_>) -> Options {
    let mut options = stage.options();
    options.retention.success = Duration::from_secs(1);
    options.retention.failure = Duration::from_secs(1);
    options
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_nothing_is_left_that_the_documentation_does_not_name() {
    Stage::open("launch-left", async |stage| {
        let good = stage.push_example("left-good").by_digest;
        let bad = stage.push_image("left-bad", &Image::from_scratch(Platform::host())).by_digest;
        let inventory = Inventory::new(stage.client.clone());
        let namespace = stage.namespace.name();
        for (name, image) in [("good", &good), ("bad", &bad)] {
            let mut request = stage.request(image);
            request.name = given(name);
            let (result, _) = stage.launch(&stage.options(), &request).await;
            assert_eq!(result.is_ok(), name == "good", "{result:?}");
            stage.wait(&format!("{name}-1"), finished).await;
            assert_eq!(left(stage), stays_for_a_while(name));
            inventory.remove(namespace, name, false).await.unwrap();
            wait_until_gone(stage, name).await;
            assert_eq!(left(stage), BTreeSet::new(), "after {name} is removed");

            let short_lived = format!("{name}-short");
            request.name = given(&short_lived);
            let (result, _) = stage.launch(&short(stage), &request).await;
            assert_eq!(result.is_ok(), name == "good", "{result:?}");
            stage.wait_until_none::<Job>(&short_lived).await;
            stage.wait_until_none::<Pod>(&short_lived).await;
            assert_eq!(left(stage), stays(&short_lived));
            inventory.remove(namespace, &short_lived, false).await.unwrap();
            wait_until_gone(stage, &short_lived).await;
        }
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_cancelled_launch_leaves_no_job() {
    Stage::open("launch-left-cancelled", async |stage| {
        let image = stage.push_example("left-cancelled").by_digest;
        let mut request = stage.request(&image);
        request.name = given("cancelled");
        let mut options = stage.options();
        options.pod.node_selector.insert("example.com/none".into(), "true".into());
        let launcher = Launcher::new(stage.client.clone(), options.clone());
        let cancel = async {
            stage.wait_for_pod_of("cancelled-1").await;
            launcher.cancel(stage.namespace.name(), "cancelled").await.unwrap();
        };
        let ((result, _), ()) = futures::join!(stage.launch(&options, &request), cancel);
        result.unwrap_err();
        stage.wait_until_none::<Pod>("cancelled-1").await;
        stage.wait_until_none::<Job>("cancelled-1").await;
        assert_eq!(left(stage), stays("cancelled"));
    });
}

/// Waits until the garbage collector has run.
async fn wait_until_gone(stage: &Stage<'_>, name: &str) {
    stage.wait_until_none::<ConfigMap>(name).await;
    stage.wait_until_none::<Job>(name).await;
    stage.wait_until_none::<Pod>(name).await;
    stage.wait_until_none::<ServiceAccount>(name).await;
    stage.wait_until_none::<Role>(name).await;
    stage.wait_until_none::<RoleBinding>(name).await;
}
