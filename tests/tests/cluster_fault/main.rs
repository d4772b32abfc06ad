//! Tests each fault of a testbed by what a pod or a client observes.

#![expect(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

mod admission;
mod registry;

use std::time::Duration;

use serde_json::{Value, json};
use unlade_oci::Platform;
use unlade_oci::build::{Entry, Image, Layer};
use unlade_tests::cluster::Cluster;

const PATIENCE: Duration = Duration::from_mins(5);

/// A static program that waits until it is killed.
const WAITING: &str = "/usr/bin/catatonit";

/// Pushes an image that just waits, and returns its name for pods.
fn waiting_image(cluster: &Cluster, repository: &str) -> String {
    let program = Entry::copy("wait", WAITING).with_mode(0o755);
    let mut image = Image::from_scratch(Platform::host());
    // Each repository has its own layer, because a node does not pull a layer that it already has
    // from another image.
    let own = Entry::file("repository", format!("{repository} {}", std::process::id()));
    image.layers.push(Layer::new([program, own]));
    image.config.entrypoint = ["/wait", "-P"].map(str::to_owned).into();
    cluster.push(&image, &format!("{repository}:1"))
}

fn pod(name: &str, image: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "wait", "image": image}],
        },
    })
}

fn is_running(pod: &Value) -> bool {
    pod["status"]["phase"] == "Running"
}

fn lacks_its_image(pod: &Value) -> bool {
    let reason = &pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"];
    reason == "ErrImagePull" || reason == "ImagePullBackOff"
}

#[test]
#[ignore = "needs a cluster"]
fn cluster_a_failing_test_tells_what_happened() {
    let cluster = Cluster::open();
    let namespace = cluster.namespace("dump");
    namespace.apply(&pod("pod", "unlade.test/none:1"));
    namespace.wait("pod/pod", PATIENCE, lacks_its_image);
    let dump = namespace.dump();
    for word in ["pod/pod", "Failed to pull image", "unlade.test/none:1", "--- logs of"] {
        assert!(dump.contains(word), "{word} is not in\n{dump}");
    }
}
