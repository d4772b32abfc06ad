//! The objects of a launch on a real cluster, under Pod Security `restricted`: kubectl applies
//! them, without the launcher.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use unlade_bundle::Limits;
use unlade_config_map::{ConfigMap, decode, mark, protocol::record};
use unlade_launcher::{Options, Request, Strategy, plan_objects};
use unlade_oci::Platform;
use unlade_oci::build::bundle;
use unlade_testbed::fault;
use unlade_tests::cluster::{Cluster, Namespace};
use unlade_tests::{corpus, example};

const PATIENCE: Duration = Duration::from_mins(5);

/// Returns the example bundle, and the largest of the published bundles.
fn bundles() -> Vec<PathBuf> {
    let largest = corpus::published()
        .into_iter()
        .max_by_key(|sample| sample.files().iter().map(|file| file.bytes.len()).sum::<usize>());
    [Some(example()), largest.map(|sample| sample.path)].into_iter().flatten().collect()
}

#[test]
#[ignore = "needs a cluster, the published bundles"]
fn cluster_the_objects_of_a_launch_fill_the_config_map_by_injection() {
    the_objects_fill_the_config_map("object-inject", Strategy::Inject);
}

#[test]
#[ignore = "needs a cluster, the published bundles"]
fn cluster_the_objects_of_a_launch_fill_the_config_map_out_of_an_image_volume() {
    the_objects_fill_the_config_map("object-volume", Strategy::ImageVolume);
}

fn the_objects_fill_the_config_map(test: &str, strategy: Strategy) {
    let cluster = Cluster::open();
    let tool_image = cluster.push_unpacker();
    let namespace = cluster.namespace(test);
    namespace.apply(&fault::restricted(namespace.name()));
    wait_until_restricted(&namespace);
    let mut options = Options::new(tool_image);
    options.strategy = strategy;
    for (at, directory) in bundles().into_iter().enumerate() {
        let image = bundle::image(&directory, Platform::host(), &Limits::default()).unwrap();
        let image = cluster.push(&image, &format!("{test}/bundle-{at}:1"));
        let objects = plan_objects(&Request::new(&image, namespace.name()), &options).unwrap();
        for object in &objects {
            namespace.apply(object);
        }
        let name = objects[0]["metadata"]["name"].as_str().unwrap();
        let job = namespace.get(&format!("job/{name}-1")).unwrap();
        let attempt = |object: &Value| object["metadata"]["annotations"][mark::ATTEMPT].clone();
        let filled = |object: &Value| attempt(object) == job["metadata"]["uid"];
        let config_map = namespace.wait(&format!("configmap/{name}"), PATIENCE, filled);

        let annotations = &config_map["metadata"]["annotations"];
        assert_eq!(annotations["olm.sourceImage"], image);
        assert_eq!(annotations[record::IMAGE], image);
        // Loading compares the digest of the existing content with the digest that was written.
        let read: ConfigMap = serde_json::from_value(config_map).unwrap();
        let decoded = decode(&[read], &Limits::default()).unwrap();
        assert!(!decoded.content.files().is_empty());
        let complete = format!("job/{name}-1");
        namespace.wait(&complete, PATIENCE, |job| job["status"]["succeeded"] == 1);
    }
}

/// Waits until admission applies the label of the namespace, which takes a moment.
fn wait_until_restricted(namespace: &Namespace<'_>) {
    let end = Instant::now() + PATIENCE;
    let probe = ["run", "probe", "--image=unlade.test/none:1", "--dry-run=server"];
    while namespace.kubectl(probe).is_ok() {
        assert!(Instant::now() < end, "any pod is taken");
    }
}
