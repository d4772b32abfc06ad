//! Faults of the registry, as they appear in the status of pods that pull from it.

use std::time::{Duration, Instant};

use serde_json::Value;
use unlade_testbed::Error;
use unlade_testbed::registry::{Answer, Fault};
use unlade_tests::cluster::Cluster;

use crate::{PATIENCE, is_running, lacks_its_image, pod, waiting_image};

/// The repository, its fault, and a part of the message with which the pod then waits.
const FAULTS: [(&str, Answer, &str); 6] = [
    ("unauthorized", Answer::Status(401), "authorization failed: no basic auth credentials"),
    ("forbidden", Answer::Status(403), ": 403 Forbidden"),
    ("missing", Answer::Status(404), "code = NotFound"),
    ("busy", Answer::Status(429), ": 429 Too Many Requests"),
    ("broken", Answer::Status(500), ": 500 Internal Server Error"),
    ("cut", Answer::Cut(50), "transport connection broken"),
];

/// The rate of the slow response, in bytes per second.
const RATE: u32 = 100_000;

#[test]
#[ignore = "needs a testbed"]
fn cluster_each_fault_of_a_registry_is_reported_by_the_pod_and_ends() {
    are_reported_and_end("registry", &FAULTS).unwrap();
}

#[test]
#[ignore = "needs a testbed; slow: the container runtime waits 30 s"]
fn cluster_a_registry_that_hangs_is_reported_by_the_pod_and_ends() {
    are_reported_and_end(
        "registry-hanging",
        &[("hanging", Answer::Hang, "timeout awaiting response headers")],
    )
    .unwrap();
}

fn are_reported_and_end(namespace: &str, faults: &[(&str, Answer, &str)]) -> Result<(), Error> {
    let cluster = Cluster::open_testbed();
    let namespace = cluster.namespace(namespace);
    let mut played = Vec::new();
    for &(name, answer, _) in faults {
        let repository = format!("fault/{name}");
        let image = waiting_image(&cluster, &repository);
        let fault = cluster.testbed().fault_registry(&repository, Fault::always(answer));
        played.push(fault?);
        namespace.apply(&pod(name, &image));
    }
    for (name, _, words) in faults {
        // Between two attempts, the container briefly waits without a message.
        let tells = |pod: &Value| lacks_its_image(pod) && message(pod).contains(words);
        namespace.wait(&format!("pod/{name}"), PATIENCE, tells);
    }
    drop(played);
    for (name, ..) in faults {
        namespace.wait(&format!("pod/{name}"), PATIENCE, is_running);
    }
    Ok(())
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_registry_that_is_busy_twice_is_asked_again() {
    let cluster = Cluster::open_testbed();
    let image = waiting_image(&cluster, "fault/busy-twice");
    let namespace = cluster.namespace("registry-429");
    let busy_twice = Fault::times(2, Answer::Status(429));
    let _faulty = cluster.testbed().fault_registry("fault/busy-twice", busy_twice).unwrap();
    namespace.apply(&pod("pod", &image));
    namespace.wait("pod/pod", PATIENCE, is_running);
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_registry_that_trickles_delays_the_pod_by_as_much() {
    let cluster = Cluster::open_testbed();
    let image = waiting_image(&cluster, "fault/slow");
    let n_bytes = std::fs::metadata(crate::WAITING).unwrap().len();
    let fault = Fault::always(Answer::Trickle(RATE));
    let _faulty = cluster.testbed().fault_registry("fault/slow", fault).unwrap();
    let namespace = cluster.namespace("registry-slow");
    let started = Instant::now();
    namespace.apply(&pod("pod", &image));
    namespace.wait("pod/pod", PATIENCE, is_running);
    let at_least = Duration::from_secs(n_bytes / u64::from(RATE));
    assert!(started.elapsed() >= at_least, "{:?} of {at_least:?}", started.elapsed());
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_layer_that_is_always_cut_off_arrives_in_pieces() {
    let cluster = Cluster::open_testbed();
    let image = waiting_image(&cluster, "fault/cut-layer");
    // The manifests are shorter than this, but the layer with the program is not. The runtime
    // requests the rest of it.
    let fault = Fault::always(Answer::Cut(100_000));
    let _faulty = cluster.testbed().fault_registry("fault/cut-layer", fault).unwrap();
    let namespace = cluster.namespace("registry-cut");
    namespace.apply(&pod("pod", &image));
    namespace.wait("pod/pod", PATIENCE, is_running);
}

/// Returns the message that says why the container of the pod is waiting.
fn message(pod: &Value) -> &str {
    pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"].as_str().unwrap_or("")
}
