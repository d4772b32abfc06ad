//! OLM's own catalog-operator beside us: it leaves our objects alone, and we don't mind its own.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

mod beside;
mod catalog;
/// Our image in place of both of OLM's.
mod in_place;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use serde_json::Value;
use unlade_format::Limits;
use unlade_launcher::{Launcher, Name, Options, Request, Strategy};
use unlade_oci::Platform;
use unlade_oci::build::bundle;
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::example;
use unlade_tests::olm::Olm;

const TESTS: &str = "OLM's catalog-operator beside us";
/// For whatever a test waits for.
const PATIENCE: Duration = Duration::from_mins(2);
/// What OLM finds its unpack Jobs by; ours have the key too.
const UNPACK_REF: &str = "operatorframework.io/bundle-unpack-ref";
/// The kinds of objects that a launch makes.
const KINDS: [&str; 5] = ["configmap", "serviceaccount", "role", "rolebinding", "job"];

/// A catalog-operator works for all namespaces, and its kinds are the cluster's: one at a time.
static TURN: Mutex<()> = Mutex::new(());

#[test]
fn cluster_the_catalog_operator_leaves_our_objects_alone() {
    let Some(cluster) = Cluster::open_testbed(TESTS) else { return };
    let Some(tool_image) = cluster.push_unpacker(TESTS) else { return };
    let Some(olm) = Olm::open(&cluster, TESTS) else { return };
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let namespace = cluster.namespace("olm-beside");
    let image = bundle::image(&example(), Platform::host(), &Limits::default()).unwrap();
    let image = cluster.push(&image, "olm/hello:1");
    beside::start(&cluster, &namespace, &olm);
    catalog::serve(&cluster, &namespace, &olm, &image);

    cluster.testbed().enter().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let launch = |strategy, name: &str| {
        let mut launcher_options = Options::new(&tool_image);
        launcher_options.strategy = strategy;
        let mut request = Request::new(&image, namespace.name());
        request.name = Name::Given(name.to_owned());
        let launched = runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(cluster.testbed().kubeconfig()).unwrap();
            let options = KubeConfigOptions::default();
            let config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
            let client = Client::try_from(config).unwrap();
            Launcher::new(client, launcher_options).launch(&request).await
        });
        let launched = launched.unwrap();
        let manifest = launched.load(&unlade_loader::Options::default()).unwrap();
        assert_eq!(manifest.bundle.csv_name, "hello-operator.v0.2.0");
        assert_eq!(launched.config_map.name_any(), name);
        let job = format!("job/{}", launched.job.unwrap());
        namespace.wait(&job, PATIENCE, is_complete);
    };

    // It is at work: our objects come into being under its eyes.
    launch(Strategy::Inject, "ours-injected");
    launch(Strategy::ImageVolume, "ours-mounted");
    let before = ours(&namespace);
    assert_eq!(before.len(), 2 * KINDS.len(), "{before:#?}");

    // It unpacks the same image into the same namespace, with the objects and labels of its own.
    catalog::subscribe(&namespace);
    let plans = "installplans.operators.coreos.com";
    namespace.wait("subscription.operators.coreos.com/hello", PATIENCE, |subscription| {
        subscription["status"]["installPlanRef"]["name"].is_string()
    });
    let plans = namespace.kubectl(["get", plans, "--output=name"]).unwrap();
    assert_eq!(plans.lines().count(), 1, "{plans}");
    let jobs = list(&namespace, "job");
    let refs: Vec<_> = jobs
        .iter()
        .map(|job| [&job["metadata"]["name"], &job["metadata"]["labels"][UNPACK_REF]])
        .collect();
    assert_eq!(refs.len(), 3, "{refs:?}");
    let own =
        jobs.iter().find(|job| job["metadata"]["labels"][UNPACK_REF] == job["metadata"]["name"]);
    assert!(own.is_some_and(is_complete), "OLM's own Job: {own:?}");
    for name in ["ours-injected", "ours-mounted"] {
        assert!(refs.iter().any(|[_, found]| **found == *name), "{refs:?}");
    }

    // Beside OLM's Job and its labels a launch goes on as ever.
    launch(Strategy::Inject, "ours-later");

    // What it was told of later than of all these it has dealt with.
    beside::wait_until_it_has_seen_all(&namespace);
    let after = ours(&namespace);
    for object in &before {
        assert!(after.contains(object), "changed or gone: {object:#}\n{after:#?}");
    }
    assert_eq!(after.len(), 3 * KINDS.len(), "{after:#?}");
    beside::stop(&namespace);
}

/// Our objects as they are, their versions included.
fn ours(namespace: &Namespace<'_>) -> Vec<Value> {
    let is_ours =
        |object: &Value| object["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "unlade";
    KINDS.iter().flat_map(|kind| list(namespace, kind)).filter(is_ours).collect()
}

fn list(namespace: &Namespace<'_>, kind: &str) -> Vec<Value> {
    let text = namespace.kubectl(["get", kind, "--output=json"]).unwrap();
    let list: Value = serde_json::from_str(&text).unwrap();
    list["items"].as_array().unwrap().clone()
}

fn is_complete(job: &Value) -> bool {
    let conditions = job["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| {
        assert_ne!(condition["type"], "Failed", "{job}");
        condition["type"] == "Complete" && condition["status"] == "True"
    })
}
