//! The faults of a testbed, each against what a pod or a client sees of it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, which clippy does not count as such"
)]

use std::time::Duration;

use serde_json::{Value, json};
use unlade_oci::Platform;
use unlade_oci::build::{Entry, Image, Layer, write};
use unlade_testbed::fault;
use unlade_testbed::registry::{Answer, Fault};
use unlade_tests::cluster::{Cluster, Namespace};

const PATIENCE: Duration = Duration::from_secs(90);

/// Pushes an image that just waits, and gives its name for pods.
fn waiting_image(cluster: &Cluster, repository: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("image.tar");
    let program = Entry::copy("wait", "/usr/bin/catatonit").with_mode(0o755);
    let mut image = Image::from_scratch(Platform::host());
    image.layers.push(Layer::new([program]));
    image.config.entrypoint = ["/wait", "-P"].map(str::to_owned).into();
    // Another image for each repository: a node that has the content under one name doesn't pull it
    // under another.
    let process = std::process::id().to_string();
    image.config.labels = [("repository", repository), ("process", &process)]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    write(&image, &format!("oci-archive:{}", archive.display()).parse().unwrap()).unwrap();
    cluster.testbed().push(&archive, repository).unwrap()
}

fn pod(image: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
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

fn config_map() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"}})
}

/// What the API server says of an object that it refuses. Admission is configured by watching, so
/// a change of it takes a moment: tried until the deadline.
fn refusal(namespace: &Namespace<'_>, object: &Value) -> String {
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        match namespace.try_apply(object) {
            Err(error) => return error.to_string(),
            Ok(()) if std::time::Instant::now() > end => panic!("it is never refused"),
            Ok(()) => {}
        }
    }
}

#[test]
fn cluster_a_registry_that_answers_404_keeps_the_pod_waiting_until_it_is_healed() {
    let Some(cluster) = Cluster::open_testbed("a faulty registry") else { return };
    let namespace = cluster.namespace("registry-404");
    let image = waiting_image(&cluster, "fault/missing:1");
    let fault = Fault::always(Answer::Status(404));
    let faulty = cluster.testbed().fault_registry("fault/missing", fault).unwrap();
    namespace.apply(&pod(&image));
    let waiting = namespace.wait("pod/pod", PATIENCE, lacks_its_image);
    let message = &waiting["status"]["containerStatuses"][0]["state"]["waiting"]["message"];
    assert!(message.as_str().unwrap().contains("not found"), "{message}");
    drop(faulty);
    namespace.wait("pod/pod", PATIENCE, is_running);
}

#[test]
fn cluster_a_registry_that_is_busy_twice_is_asked_again() {
    let Some(cluster) = Cluster::open_testbed("a busy registry") else { return };
    let namespace = cluster.namespace("registry-429");
    let image = waiting_image(&cluster, "fault/busy:1");
    let busy_twice = Fault::times(2, Answer::Status(429));
    let _faulty = cluster.testbed().fault_registry("fault/busy", busy_twice).unwrap();
    namespace.apply(&pod(&image));
    namespace.wait("pod/pod", PATIENCE, is_running);
}

#[test]
fn cluster_a_full_quota_refuses_pods() {
    let Some(cluster) = Cluster::open("a full quota") else { return };
    let namespace = cluster.namespace("quota");
    namespace.apply(&fault::quota(namespace.name(), &["pods"]));
    let words = refusal(&namespace, &pod("unlade.test/none:1"));
    assert!(words.contains("exceeded quota: full"), "{words}");
}

#[test]
fn cluster_a_restricted_namespace_takes_only_pods_that_give_up_their_rights() {
    let Some(cluster) = Cluster::open_testbed("Pod Security restricted") else { return };
    let namespace = cluster.namespace("restricted");
    namespace.apply(&fault::restricted(namespace.name()));
    let image = waiting_image(&cluster, "restricted/wait:1");
    let mut pod = pod(&image);
    let words = refusal(&namespace, &pod);
    assert!(words.contains("violates PodSecurity \"restricted:latest\""), "{words}");
    pod["spec"]["containers"][0]["securityContext"] = json!({
        "allowPrivilegeEscalation": false,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": true,
        "runAsNonRoot": true,
        "runAsUser": 1001,
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    namespace.apply(&pod);
    namespace.wait("pod/pod", PATIENCE, is_running);
}

#[test]
fn cluster_admission_policies_deny_and_change() {
    let Some(cluster) = Cluster::open("admission policies") else { return };
    let denying = cluster.namespace("denying");
    let policies = fault::denying_policy(denying.name(), "", "configmaps", "not on a Friday");
    for object in &policies {
        cluster.kubectl().apply(object).unwrap();
    }
    let words = refusal(&denying, &config_map());
    assert!(words.contains("not on a Friday"), "{words}");

    let changing = cluster.namespace("changing");
    let patch = r#"Object{metadata: Object.metadata{labels: {"changed": "yes"}}}"#;
    let changes = fault::mutating_policy(changing.name(), "", "configmaps", patch);
    for object in &changes {
        cluster.kubectl().apply(object).unwrap();
    }
    let end = std::time::Instant::now() + PATIENCE;
    while changing.get("configmap/map").is_none_or(|map| map["metadata"]["labels"].is_null()) {
        assert!(std::time::Instant::now() < end, "it is never changed");
        changing.apply(&config_map());
    }
    for object in policies.iter().chain(&changes) {
        let [kind, name] = [&object["kind"], &object["metadata"]["name"]].map(Value::as_str);
        cluster.kubectl().run(["delete", kind.unwrap(), name.unwrap()]).unwrap();
    }
}

#[test]
fn cluster_a_dead_webhook_refuses() {
    let Some(cluster) = Cluster::open("a dead webhook") else { return };
    let namespace = cluster.namespace("webhook");
    let webhook = fault::dead_webhook(namespace.name(), "", "configmaps");
    cluster.kubectl().apply(&webhook).unwrap();
    let words = refusal(&namespace, &config_map());
    assert!(words.contains("failed calling webhook"), "{words}");
    let name = webhook["metadata"]["name"].as_str().unwrap();
    cluster.kubectl().run(["delete", "validatingwebhookconfiguration", name]).unwrap();
}

#[test]
fn cluster_a_failing_test_tells_what_happened() {
    let Some(cluster) = Cluster::open("the dump of a namespace") else { return };
    let namespace = cluster.namespace("dump");
    namespace.apply(&pod("unlade.test/none:1"));
    namespace.wait("pod/pod", PATIENCE, lacks_its_image);
    let dump = namespace.dump();
    for word in ["pod/pod", "Failed to pull image", "unlade.test/none:1", "--- logs of"] {
        assert!(dump.contains(word), "{word} is not in\n{dump}");
    }
}
