//! Launches against an API server in memory, including situations that are hard to provoke on a
//! real cluster.

mod creation;
mod event;
mod image;
mod lent_secret;
mod others;
mod pack;
mod quota;
mod secret;

use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use unlade_config_map::{mark, protocol::record};

use super::*;
use crate::{Deadlines, Evidence, FailureRecord, LaunchUpdate, Name, Options, Remedy};
use unlade_api_server::{Disturbance, Server};

const IMAGE: &str = "registry.example/bundles/etcd:0.9.4";

/// The error of containerd before 2.1.
const WITHOUT_VOLUMES: &str = "failed to generate container \"etcd\" spec: failed to generate spec: \
                               failed to mkdir \"\": mkdir : no such file or directory";

fn options() -> Options {
    Options::new("registry.example/unlade-unpacker:0.1.0")
}

/// Returns the result of a launch and the names of its steps.
async fn launched(server: &Server, options: Options) -> (Result<Launched, Failure>, Vec<String>) {
    let launcher = Launcher::new(server.client(), options);
    let request = Request::new(IMAGE, "default");
    let mut updates = std::pin::pin!(launcher.launch_with_updates(request));
    let mut names = Vec::new();
    loop {
        match updates.next().await.unwrap() {
            LaunchUpdate::Event(event) => {
                let event = serde_json::to_value(event).unwrap();
                names.push(event["event"].as_str().unwrap().to_owned());
            }
            LaunchUpdate::Ended(result) => return (result.map(|launched| *launched), names),
        }
    }
}

/// Returns a pod of `job` whose unpacking container is in this state.
fn pod(job: &Value, phase: &str, state: &Value) -> Value {
    let name = job["metadata"]["name"].as_str().unwrap();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{name}-abcde"),
            "uid": format!("{name}-abcde"),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"job-name": name},
            "ownerReferences": [{
                "apiVersion": "batch/v1", "kind": "Job", "name": name,
                "uid": job["metadata"]["uid"], "controller": true,
            }],
        },
        "spec": job["spec"]["template"]["spec"],
        "status": {"phase": phase, "containerStatuses": [{
            "name": "unpack", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": state,
        }]},
    })
}

/// Lets the pod of the only Job whose name ends with `suffix` fill the ConfigMap.
fn write(server: &Server, suffix: &str) {
    let job = server.object("jobs", suffix);
    let name = job["metadata"]["name"].as_str().unwrap();
    server.fill(name);
    let config_map = server.object("configmaps", "");
    let digest = &config_map["metadata"]["annotations"][mark::DIGEST];
    let written = json!([{
        "configMap": config_map["metadata"]["name"], "verdict": "written", "digest": digest,
    }]);
    let state = json!({"terminated": {"exitCode": 0, "message": written.to_string()}});
    server.put("pods", pod(&job, "Succeeded", &state));
}

fn is_injected(job: &Value) -> bool {
    job["spec"]["template"]["spec"]["initContainers"].is_array()
}

#[tokio::test(start_paused = true)]
async fn a_volume_that_the_node_lacks_is_replaced_by_injection() {
    let server = Server::new(|server, job| {
        if is_injected(job) {
            server.fill(job);
        } else {
            let state = json!({"waiting": {
                "reason": "CreateContainerError",
                "message": WITHOUT_VOLUMES,
            }});
            server.put("pods", pod(job, "Pending", &state));
        }
    });
    let (launched, steps) = launched(&server, options()).await;
    let launched = launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
    assert_eq!(launched.strategy, Some(Strategy::Inject));
    let order = ["prepared", "chosen", "created", "retrying", "chosen", "created", "written"];
    let steps: Vec<_> = steps.into_iter().filter(|step| order.contains(&step.as_str())).collect();
    assert_eq!(steps, order);
    let first = server.object("jobs", "-1");
    assert_eq!(first["spec"]["activeDeadlineSeconds"], 1, "it was ended");
    assert_eq!(first["spec"]["ttlSecondsAfterFinished"], 3600);

    // A launch that requires the volume fails with the reason.
    let server = Server::new(move |server, job| {
        assert!(!is_injected(job));
        let state = json!({"waiting": {
            "reason": "CreateContainerError",
            "message": WITHOUT_VOLUMES,
        }});
        server.put("pods", pod(job, "Pending", &state));
    });
    let options = Options { strategy: Strategy::ImageVolume, ..options() };
    let failure = self::launched(&server, options).await.0.unwrap_err();
    assert_eq!(failure.reason, Reason::VolumeUnsupported, "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_shows_what_a_launch_creates() {
    let server = Server::new(unlade_api_server::State::fill);
    let launcher = Launcher::new(server.client(), options());
    let request = Request::new(IMAGE, "default");
    let shown = launcher.dry_run(&request).await.unwrap();
    assert_eq!(server.count("configmaps"), 0);
    launcher.launch(&request).await.unwrap();
    let kinds: Vec<_> = shown.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ConfigMap", "ServiceAccount", "Role", "RoleBinding", "Job"]);
    for object in &shown[1..] {
        let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
        let created = server.object(&plural, object["metadata"]["name"].as_str().unwrap());
        let hash = |object: &Value| object["metadata"]["annotations"][record::SPEC_HASH].clone();
        assert_eq!(hash(object), hash(&created), "{object}");
        assert_eq!(hash(object).is_null(), plural == "serviceaccounts", "{object}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_required_volume_that_the_api_server_drops_is_a_failure() {
    let server = Server::new(|server, job| {
        let mut dropped = job.clone();
        let pod = &mut dropped["spec"]["template"]["spec"];
        pod["volumes"].as_array_mut().unwrap().retain(|volume| volume["name"] != "bundle");
        server.put("jobs", dropped);
    });
    let options = Options { strategy: Strategy::ImageVolume, ..options() };
    let failure = launched(&server, options).await.0.unwrap_err();
    assert_eq!(failure.reason, Reason::VolumeUnsupported, "{failure:?}");
    assert_eq!(server.object("jobs", "-1")["spec"]["activeDeadlineSeconds"], 1, "it was ended");
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_followed_by_another_attempt() {
    let server = Server::new(|server, job| {
        if server.count("jobs") == 3 {
            return server.fill(job);
        }
        let state = json!({"terminated": {"exitCode": 30, "reason": "Error"}});
        server.put("pods", pod(job, "Failed", &state));
        let mut failed = job.clone();
        failed["status"]["conditions"] =
            json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]);
        server.put("jobs", failed);
    });
    let (launched, steps) = launched(&server, options()).await;
    let launched = launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
    assert!(launched.job.unwrap().ends_with("-3"));
    assert_eq!(steps.iter().filter(|step| *step == "retrying").count(), 2, "{steps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_permanent_failure_ends_the_launch_and_is_recorded_on_the_config_map() {
    let server = Server::new(|server, job| {
        let state = json!({"terminated": {"exitCode": 11, "reason": "Error"}});
        server.put("pods", pod(job, "Failed", &state));
    });
    let failure = launched(&server, options()).await.0.unwrap_err();
    assert_eq!(failure.reason, Reason::BadBundle);
    assert_eq!(failure.evidence.log, ["the last words"]);
    let config_map = server.object("configmaps", "");
    let text = config_map["metadata"]["annotations"][record::FAILURE].as_str().unwrap();
    let record: FailureRecord = serde_json::from_str(text).unwrap();
    let job = server.object("jobs", "-1");
    assert_eq!(record.attempt.as_deref(), job["metadata"]["uid"].as_str());
    assert_eq!(record.failure, failure);
    assert_ne!(failure.evidence, Evidence::default());
}

#[tokio::test(start_paused = true)]
async fn a_strategy_that_was_used_is_not_a_remedy() {
    for (strategy, expected) in [
        (Strategy::ImageVolume, &[Remedy::User][..]),
        (Strategy::Inject, &[Remedy::ImageVolume, Remedy::User]),
    ] {
        let server = Server::new(|server, job| {
            let state = json!({"terminated": {"exitCode": 12, "reason": "Error"}});
            server.put("pods", pod(job, "Failed", &state));
        });
        let options = Options { strategy, ..options() };
        let failure = launched(&server, options).await.0.unwrap_err();
        assert_eq!((failure.reason, &*failure.remedies), (Reason::Unreadable, expected));
        let config_map = server.object("configmaps", "");
        let record = &config_map["metadata"]["annotations"][record::FAILURE];
        assert!(!record.as_str().unwrap().contains("--"), "{record}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_config_map_that_was_filled_at_the_last_moment_is_a_success() {
    // The watch reports the failure before the filled ConfigMap.
    let server = Server::new(|server, job| {
        let state = json!({"terminated": {"exitCode": 137, "reason": "Error"}});
        let mut failed = job.clone();
        failed["status"]["conditions"] =
            json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]);
        server.fill_unseen(job);
        server.put("pods", pod(job, "Failed", &state));
        server.put("jobs", failed);
    });
    let (launched, steps) = launched(&server, options()).await;
    launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
    assert_eq!(server.object("jobs", "-1")["spec"]["activeDeadlineSeconds"], 630, "not ended");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_never_comes_ends_with_the_deadline_of_its_phase() {
    let server = Server::new(|_, _| {});
    let (failure, _) = launched(&server, options()).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.reason, Reason::Deadline, "{failure:?}");
    assert!(failure.message.contains("120 s"), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_launch_without_a_deadline_waits() {
    // The phases begin some time after the launch.
    let server = Server::new(|_, _| {}).disturbed(|arrival| {
        let is_creation =
            *arrival.method == http::Method::POST && arrival.path.contains("/configmaps");
        is_creation.then(|| Disturbance::Delay(Duration::from_secs(1)))
    });
    let forever = Duration::MAX;
    let deadlines = Deadlines { schedule: forever, pull: forever, run: forever };
    let filled = async {
        tokio::time::sleep(Duration::from_hours(24)).await;
        write(&server, "-1");
    };
    let options = Options { deadlines, ..options() };
    let ((launched, steps), ()) = tokio::join!(launched(&server, options), filled);
    launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
}

#[tokio::test(start_paused = true)]
async fn a_launch_does_not_need_to_read_events_and_namespaces() {
    let server = Server::new(|_, _| {}).without(&["events", "namespaces"]);
    let failure = launched(&server, options()).await.0.unwrap_err();
    assert_eq!(failure.reason, Reason::Deadline, "{failure:?}");

    let server = Server::new(|_, _| {}).without(&["pods"]);
    let failure = launched(&server, options()).await.0.unwrap_err();
    assert_eq!(failure.reason, Reason::Forbidden, "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_foreign_job_with_our_name_is_a_failure() {
    let server = Server::new(|_, _| {});
    server.put(
        "jobs",
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {
            "name": "backup-1", "uid": "theirs", "creationTimestamp": "2026-01-01T00:00:00Z",
        }}),
    );
    let launcher = Launcher::new(server.client(), options());
    let request = Request { name: Name::Given("backup".into()), ..Request::new(IMAGE, "default") };
    let failure = launcher.launch(&request).await.unwrap_err();
    assert_eq!(failure.reason, Reason::NameTaken, "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_may_not_end_jobs_injects_beside_the_failed_job() {
    let server = Server::new(|server, job| {
        if is_injected(job) {
            return server.fill(job);
        }
        let state = json!({"waiting": {
            "reason": "CreateContainerError",
            "message": WITHOUT_VOLUMES,
        }});
        server.put("pods", pod(job, "Pending", &state));
    });
    let launched = launched(&server.without(&["patches of jobs"]), options()).await.0.unwrap();
    assert!(launched.job.unwrap().ends_with("-2"));
}

/// Returns a server on which no node accepts the pod of the first Job. The other Jobs succeed.
fn first_unschedulable() -> Server {
    Server::new(|server, job| {
        if server.count("jobs") > 1 {
            return server.fill(job);
        }
        let mut pod = pod(job, "Pending", &json!({}));
        pod["status"] = json!({"phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
        }]});
        server.put("pods", pod);
    })
}

#[tokio::test(start_paused = true)]
async fn the_strategy_of_an_adopted_job_is_known() {
    let server = Server::new(|_, _| {});
    let interrupted = tokio::time::timeout(Duration::from_secs(5), launched(&server, options()));
    assert!(interrupted.await.is_err());
    let filled = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        write(&server, "-1");
    };
    let ((launched, steps), ()) = tokio::join!(launched(&server, options()), filled);
    assert!(steps.contains(&"adopted".to_owned()), "{steps:?}");
    let launched = launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
    assert_eq!(launched.strategy, Some(Strategy::ImageVolume));
    assert_eq!(server.count("jobs"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_corrected_launch_does_not_wait_for_the_wrong_job() {
    let server = first_unschedulable();
    let mut wrong = options();
    wrong.pod.node_selector.insert("disk".into(), "ssdd".into());
    let interrupted = tokio::time::timeout(Duration::from_secs(5), launched(&server, wrong)).await;
    assert!(interrupted.is_err() && server.count("jobs") == 1);

    let (launched, steps) = launched(&server, options()).await;
    let launched = launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
    assert!(launched.job.unwrap().ends_with("-2"), "{steps:?}");
    assert!(steps.contains(&"adopted".to_owned()), "{steps:?}");
    let first = server.object("jobs", "-1");
    assert_eq!(first["spec"]["activeDeadlineSeconds"], 630, "it is not ours to end");
    let config_map = server.object("configmaps", "");
    assert_eq!(config_map["metadata"]["annotations"].get(record::FAILURE), None);
}

#[tokio::test(start_paused = true)]
async fn the_problem_at_the_deadline_is_the_reason() {
    let server = first_unschedulable();
    let failure = launched(&server, options()).await.0.unwrap_err();
    assert_eq!(failure.reason, Reason::Unschedulable, "{failure:?}");
    assert!(failure.message.starts_with("timed out after 120 s"), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_denial_to_an_adopter_is_not_recorded_for_the_job() {
    let server = first_unschedulable();
    let interrupted = tokio::time::timeout(Duration::from_secs(5), launched(&server, options()));
    assert!(interrupted.await.is_err());
    let denied = server.clone().without(&["pods"]);
    let failure = launched(&denied, options()).await.0.unwrap_err();
    assert_eq!(failure.reason, Reason::Forbidden, "{failure:?}");
    assert_eq!(server.object("jobs", "-1")["spec"]["activeDeadlineSeconds"], 630, "not ended");
    let config_map = server.object("configmaps", "");
    assert_eq!(config_map["metadata"]["annotations"].get(record::FAILURE), None);
}

#[test]
fn a_launch_can_go_to_another_thread() {
    fn sendable<T: Send>(_: &T) {}
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _context = runtime.enter();
    let launcher = Launcher::new(Server::new(|_, _| {}).client(), options());
    let request = Request::new(IMAGE, "default");
    sendable(&launcher.launch(&request));
}
