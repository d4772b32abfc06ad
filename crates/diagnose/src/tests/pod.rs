use k8s_openapi::api::core::v1::{Event, Pod};
use serde_json::{Value, json};

use super::assert_names_no_flag;
use crate::Reason;
use crate::classify_pod;

fn pod(status: &Value) -> Pod {
    let container = json!({"name": "unpack", "image": "registry.example/etcd:1.0"});
    let pod = json!({
        "metadata": {"name": "etcd-1-x7k2p"}, "spec": {"containers": [container]}, "status": status,
    });
    serde_json::from_value(pod).unwrap()
}

/// Returns a pod whose container was killed, as happens when the pod is terminated.
fn killed(status: &Value) -> Pod {
    let mut status = status.clone();
    let state = json!({"terminated": {"exitCode": 137, "reason": "Error"}});
    status["containerStatuses"] = json!([{
        "name": "unpack", "image": "registry.example/etcd:1.0", "imageID": "", "ready": false,
        "restartCount": 0, "state": state,
    }]);
    pod(&status)
}

#[test]
fn the_end_of_a_pod_is_reported_before_that_of_its_container() {
    for (state, expected) in [
        ("Evicted", Reason::Evicted),
        ("Preempting", Reason::Evicted),
        ("NodeLost", Reason::NodeLost),
        ("NodeShutdown", Reason::NodeLost),
        ("Shutdown", Reason::NodeLost),
        ("Terminated", Reason::NodeLost),
        ("DeadlineExceeded", Reason::Deadline),
        ("OutOfcpu", Reason::Unschedulable),
        ("NodeAffinity", Reason::Unschedulable),
        ("UnexpectedAdmissionError", Reason::Unschedulable),
    ] {
        let status = json!({"phase": "Failed", "reason": state, "message": "message"});
        let failure = classify_pod(&killed(&status), &[]).unwrap();
        assert_eq!((failure.reason, failure.is_transient), (expected, true), "{state}");
    }
}

#[test]
fn disruptions_have_their_reasons() {
    for (state, expected) in [
        ("PreemptionByScheduler", Reason::Evicted),
        ("EvictionByEvictionAPI", Reason::Evicted),
        ("TerminationByKubelet", Reason::Evicted),
        ("DeletionByTaintManager", Reason::NodeLost),
        ("DeletionByPodGC", Reason::NodeLost),
    ] {
        let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": state});
        let status = json!({"phase": "Failed", "conditions": [condition]});
        assert_eq!(classify_pod(&killed(&status), &[]).unwrap().reason, expected, "{state}");
    }
}

#[test]
fn pods_that_succeeded_or_make_progress_have_no_failure() {
    let scheduled = json!({"type": "PodScheduled", "status": "True"});
    for status in [
        json!({"phase": "Succeeded", "reason": "Evicted"}),
        json!({"phase": "Pending"}),
        json!({"phase": "Pending", "conditions": [scheduled]}),
    ] {
        assert_eq!(classify_pod(&pod(&status), &[]), None, "{status}");
    }
}

/// CRI-O checks the limit of the pod before it sets the pod up.
#[test]
fn a_memory_limit_below_the_minimum_of_the_runtime_is_not_waited_for() {
    let event = |message: &str| {
        let event = json!({
            "metadata": {}, "involvedObject": {"name": "etcd-1-x7k2p"},
            "reason": "FailedCreatePodSandBox",
            "message": format!("Failed to create pod sandbox: rpc error: code = Unknown desc = {message}"),
        });
        serde_json::from_value(event).unwrap()
    };
    let pod = pod(&json!({"phase": "Pending"}));
    let message = "pod set memory limit 1048576 too low; should be at least 12582912";
    let failure = classify_pod(&pod, &[event(message)]).unwrap();
    assert_eq!((failure.reason, failure.is_transient), (Reason::OutOfMemory, false));
    assert!(failure.message.contains("too low to start it"), "{failure:?}");
    let failure = classify_pod(&pod, &[event("no network")]).unwrap();
    assert_eq!((failure.reason, failure.is_transient), (Reason::Sandbox, true));
}

#[test]
fn the_failed_pull_of_an_image_whose_name_begins_alike_is_not_the_cause() {
    let back_off = "Back-off pulling image \"registry.example/etcd:1.0\"";
    let state = json!({"waiting": {"reason": "ImagePullBackOff", "message": back_off}});
    let pod = pod(&json!({"phase": "Pending", "containerStatuses": [{
        "name": "unpack", "image": "registry.example/etcd:1.0", "imageID": "", "ready": false,
        "restartCount": 0, "state": state,
    }]}));
    for (image, expected) in
        [("etcd:1.0", Reason::ImageNotFound), ("etcd:1.0.1", Reason::PullFailed)]
    {
        let message = format!("Failed to pull image \"registry.example/{image}\": not found");
        let event = json!({
            "involvedObject": {"kind": "Pod", "name": "etcd-1-x7k2p"}, "metadata": {},
            "reason": "Failed", "message": message, "lastTimestamp": "2026-01-01T00:00:00Z",
        });
        let event = serde_json::from_value(event).unwrap();
        assert_eq!(classify_pod(&pod, &[event]).unwrap().reason, expected, "{image}");
    }
}

#[test]
fn the_hint_says_why_no_node_accepts_a_pod() {
    for (message, part) in [
        ("0/1 nodes are available: 1 node(s) had untolerated taint {a: b}.", "taints"),
        ("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.", "labels"),
        ("0/1 nodes are available: 1 Insufficient cpu.", "free resources"),
    ] {
        let condition = json!({
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
        });
        let failure =
            classify_pod(&pod(&json!({"phase": "Pending", "conditions": [condition]})), &[]);
        let failure = failure.unwrap();
        assert_eq!(failure.reason, Reason::Unschedulable);
        assert_names_no_flag(&failure);
        assert!(failure.hint.unwrap().contains(part), "{message}");
    }
}

/// A user with permission to create events can write a megabyte into one.
#[test]
fn only_the_beginning_and_the_end_of_a_message_decide() {
    let image = "registry.example/etcd:1.0";
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": "etcd-1-x7k2p", "uid": "1"},
        "spec": {"containers": [{"name": "unpack", "image": image}]},
        "status": {"containerStatuses": [{
            "name": "unpack", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"waiting": {"reason": "ImagePullBackOff"}},
        }]},
    }))
    .unwrap();
    let reason = |before: usize, after: usize| {
        let (before, after) = ("Error:".repeat(before), "Error:".repeat(after));
        let event: Event = serde_json::from_value(json!({
            "metadata": {"name": "forged"}, "involvedObject": {"uid": "1"}, "reason": "Failed",
            "message": format!("Failed to pull image {image:?}: {before} unauthorized {after}"),
        }))
        .unwrap();
        classify_pod(&pod, &[event]).map(|failure| failure.reason)
    };
    assert_eq!(reason(100_000, 0), Some(Reason::Unauthorized));
    assert_eq!(reason(0, 100_000), Some(Reason::Unauthorized));
    assert_eq!(reason(100_000, 100_000), Some(Reason::PullFailed));
}
