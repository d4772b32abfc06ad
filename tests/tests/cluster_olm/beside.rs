use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use serde_json::{Value, json};
use unlade_bundle::Limits;
use unlade_launcher::{Launcher, Name, Options, Request, Strategy};
use unlade_oci::Platform;
use unlade_oci::build::bundle;
use unlade_tests::cluster::Namespace;
use unlade_tests::example;

use crate::{PATIENCE, Stage, catalog, is, unpacking};

/// The kinds of objects that a launch creates.
const KINDS: [&str; 5] = ["configmap", "serviceaccount", "role", "rolebinding", "job"];
const INTERVAL: Duration = Duration::from_secs(1);

#[test]
#[ignore = "needs a testbed, OLM's programs, the static server"]
fn cluster_olms_operators_leave_our_objects_alone() {
    let stage = Stage::open();
    let namespace = stage.cluster.namespace("olm-beside");
    let image = bundle::image(&example(), Platform::host(), &Limits::default()).unwrap();
    let image = stage.cluster.push(&image, "olm/hello:1");
    let bundle = catalog::Bundle { version: "0.2.0", replaces: None, image: &image };
    let packages = [catalog::package("hello-operator", &[bundle])];
    let address = catalog::serve(&stage, &namespace, "catalog", &packages);
    catalog::connect(&namespace, &address);

    // OLM's operators are running, so they observe the creation of our objects.
    launch(&stage, &namespace, &image, Strategy::Inject, "ours-injected");
    launch(&stage, &namespace, &image, Strategy::ImageVolume, "ours-mounted");
    let before = ours(&namespace);
    assert_eq!(before.len(), 2 * KINDS.len(), "{before:#?}");

    // They unpack the same image into the same namespace, with the objects and labels of their own.
    let manual = catalog::Subscription {
        package: "hello-operator",
        approval: "Manual",
        unpack_timeout: None,
    };
    manual.apply(&namespace);
    unpacking::wait_for_plan(&namespace);
    let plans = ["get", "installplans.operators.coreos.com", "--output=name"];
    let plans = namespace.kubectl(plans).unwrap();
    assert_eq!(plans.lines().count(), 1, "{plans}");
    let jobs = namespace.list("job");
    let refs: BTreeSet<_> = jobs
        .iter()
        .map(|job| job["metadata"]["labels"][unpacking::REF].as_str().unwrap())
        .collect();
    assert_eq!((jobs.len(), refs.len()), (3, 3), "{refs:?}");
    let is_own =
        |job: &&Value| job["metadata"]["labels"][unpacking::REF] == job["metadata"]["name"];
    let own = jobs.iter().find(is_own);
    assert!(own.is_some_and(|job| is(job, "Complete")), "OLM's own Job: {own:?}");
    for name in ["ours-injected", "ours-mounted"] {
        assert!(refs.contains(name), "{refs:?}");
    }

    // OLM's Job and its labels do not affect a launch.
    launch(&stage, &namespace, &image, Strategy::Inject, "ours-later");

    // The catalog-operator has handled all of these before anything that it received later.
    wait_until_all_is_seen(&stage, &namespace);
    let after = ours(&namespace);
    for object in &before {
        assert!(after.contains(object), "changed or gone: {object:#}\n{after:#?}");
    }
    assert_eq!(after.len(), 3 * KINDS.len(), "{after:#?}");
}

/// Launches the bundle, until its Job has ended.
fn launch(stage: &Stage, namespace: &Namespace<'_>, image: &str, strategy: Strategy, name: &str) {
    let mut launcher_options = Options::new(stage.ours);
    launcher_options.strategy = strategy;
    let mut request = Request::new(image, namespace.name());
    request.name = Name::Given(name.to_owned());
    stage.cluster.testbed().enter().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let launched = runtime.block_on(async {
        let kubeconfig = Kubeconfig::read_from(stage.cluster.testbed().kubeconfig()).unwrap();
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
        // `Launcher::new` requires this.
        config.default_retry = false;
        let client = Client::try_from(config).unwrap();
        Launcher::new(client, launcher_options).launch(&request).await
    });
    let launched = launched.unwrap();
    let loaded = launched.load(&unlade_loader::Options::default()).unwrap();
    assert_eq!(loaded.bundle.csv_name, "hello-operator.v0.2.0");
    assert_eq!(launched.config_map.name_any(), name);
    let job = format!("job/{}", launched.job.unwrap());
    namespace.wait(&job, PATIENCE, |job| is(job, "Complete"));
}

/// Returns our objects, with their resource versions.
fn ours(namespace: &Namespace<'_>) -> Vec<Value> {
    let is_ours =
        |object: &Value| object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "unlade";
    KINDS.iter().flat_map(|kind| namespace.list(kind)).filter(is_ours).collect()
}

/// Waits until the catalog-operator has handled all existing objects. For each kind, it handles an
/// object that is created and deleted now after all earlier ones.
fn wait_until_all_is_seen(stage: &Stage, namespace: &Namespace<'_>) {
    let name = |kind: &str| format!("marker-{kind}");
    for kind in KINDS {
        namespace.apply(&marker(kind, &name(kind)));
        let delete = ["delete", kind, &name(kind), "--wait=false"];
        namespace.kubectl(delete).unwrap();
    }
    let end = Instant::now() + PATIENCE;
    loop {
        let log = stage.catalog_operator_log();
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
        assert!(Instant::now() < end, "it has not seen {unsaid:?}");
        thread::sleep(INTERVAL);
    }
}

/// Returns an object of a kind that it watches.
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
