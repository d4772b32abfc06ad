//! Objects whose creation gets a late response, an error, or no response.

use std::collections::BTreeSet;

use unlade_api_server::{Arrival, Canned, Disturbance, State};

use super::*;
use crate::launch_bundle_image;

/// Carries out the first creation of each kind, but answers as if it had taken too long.
pub(super) fn answers_are_lost() -> impl FnMut(&Arrival<'_>) -> Option<Disturbance> {
    let mut paths = BTreeSet::new();
    move |arrival| {
        let is_lost = arrival.method == http::Method::POST
            && !arrival.path.contains("dryRun")
            && paths.insert(arrival.path.to_owned());
        is_lost.then(|| {
            Disturbance::RespondAfterDoing(Canned::status(504, "Timeout", "request timed out"))
        })
    }
}

fn jobs_are_created_late(arrival: &Arrival<'_>) -> Option<Disturbance> {
    let is_creation = arrival.method == http::Method::POST && arrival.path.contains("/jobs");
    is_creation.then(|| Disturbance::Delay(Duration::from_secs(3)))
}

/// Returns a pod that no node accepts.
fn unschedulable(job: &Value) -> Value {
    let mut pod = pod(job, "Pending", &json!({}));
    pod["status"] = json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
    }]});
    pod
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_creation_was_answered_with_an_error_is_ours_to_end() {
    let server = Server::new(|server, job| drop(server.put("pods", unschedulable(job))));
    let server = server.disturbed(answers_are_lost());
    let (failure, steps) = launched(&server, options()).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.reason, Reason::Unschedulable, "{failure:?}");
    assert!(steps.contains(&"created".to_owned()), "{steps:?}");
    assert!(!steps.contains(&"adopted".to_owned()), "{steps:?}");
    assert_eq!(server.object("jobs", "-1")["spec"]["activeDeadlineSeconds"], 1, "it was ended");
    let config_map = server.object("configmaps", "");
    assert_ne!(config_map["metadata"]["annotations"].get(record::FAILURE), None);
}

#[tokio::test(start_paused = true)]
async fn the_time_to_create_the_job_is_not_taken_from_the_deadlines_of_its_pod() {
    let start = tokio::time::Instant::now();
    let server = Server::new(|_, _| {}).disturbed(move |arrival| {
        let is_creation = *arrival.method == http::Method::POST && arrival.path.contains("/jobs");
        let is_away = is_creation && start.elapsed() < Duration::from_secs(115);
        is_away.then(|| Disturbance::status(503, "ServiceUnavailable", "not ready"))
    });
    let filled = async {
        tokio::time::sleep(Duration::from_secs(200)).await;
        write(&server, "-1");
    };
    let ((launched, steps), ()) = tokio::join!(launched(&server, options()), filled);
    launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
}

#[tokio::test(start_paused = true)]
async fn cancelling_waits_for_a_job_whose_creation_is_on_its_way() {
    let server = Server::new(|_, _| {}).disturbed(jobs_are_created_late);
    let launcher = Launcher::new(server.client(), options());
    let request = Request { name: Name::Given("etcd".into()), ..Request::new(IMAGE, "default") };
    let interrupted = tokio::time::timeout(Duration::from_secs(2), launcher.launch(&request)).await;
    assert!(interrupted.is_err() && server.count("jobs") == 0);
    assert_eq!(launcher.cancel("default", "etcd").await.unwrap(), ["etcd-1"]);
    assert_eq!(server.count("jobs"), 0);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(server.count("jobs"), 0, "none appears later");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_appears_after_the_launch_has_failed_can_still_be_cancelled() {
    // The last request of the creation is carried out after the launch has given up on it.
    let server = Server::new(|_, _| {}).disturbed(|arrival| {
        let is_creation = *arrival.method == http::Method::POST && arrival.path.contains("/jobs");
        (is_creation && !arrival.path.contains("dryRun"))
            .then_some(Disturbance::Delay(Duration::from_secs(25)))
    });
    let mut options = options();
    options.deadlines.schedule = Duration::from_secs(20);
    let launcher = Launcher::new(server.client(), options);
    let request = Request { name: Name::Given("etcd".into()), ..Request::new(IMAGE, "default") };
    let failure = launcher.launch(&request).await.unwrap_err();
    assert_eq!((failure.reason, server.count("jobs")), (Reason::ApiUnreachable, 0), "{failure:?}");
    assert_eq!(launcher.cancel("default", "etcd").await.unwrap(), ["etcd-1"]);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(server.count("jobs"), 0, "none appears later");
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_does_not_wait_leaves_no_orphan_where_answers_are_lost() {
    let server = Server::new(|_, _| {}).disturbed(answers_are_lost());
    let tool = options().tool_image;
    let (config_map, job) =
        launch_bundle_image(server.client(), IMAGE, &tool, "default").await.unwrap();
    assert_eq!((server.count("configmaps"), server.count("jobs")), (1, 1));
    let owners = job.metadata.owner_references.unwrap();
    assert_eq!(Some(&owners[0].uid), config_map.metadata.uid.as_ref());
}

#[tokio::test(start_paused = true)]
async fn a_config_map_is_not_changed_while_nobody_knows_who_fills_it() {
    let server = Server::new(State::fill);
    let of = |image: &str| Request {
        name: Name::Given("etcd".into()),
        ..Request::new(image, "default")
    };
    Launcher::new(server.client(), options()).launch(&of(IMAGE)).await.unwrap();
    let before = server.object("configmaps", "etcd");

    let denied = server.clone().without(&["jobs"]);
    let launcher = Launcher::new(denied.client(), options());
    let failure = launcher.launch(&of("registry.example/other:1")).await.unwrap_err();
    assert_eq!(failure.reason, Reason::Forbidden, "{failure:?}");
    assert_eq!(server.object("configmaps", "etcd"), before);
}

#[tokio::test(start_paused = true)]
async fn a_config_map_that_exists_for_creation_only_is_tried_again_with_pauses() {
    let server = Server::new(State::fill).disturbed(|arrival| {
        let path = arrival.path.split('?').next().unwrap_or_default();
        match (arrival.method, path.ends_with("/configmaps"), path.contains("/configmaps/")) {
            (&http::Method::POST, true, _) => {
                Some(Disturbance::status(409, "AlreadyExists", "it already exists"))
            }
            (&http::Method::GET, _, true) => {
                Some(Disturbance::status(404, "NotFound", "not found"))
            }
            _ => None,
        }
    });
    let (failure, _) = launched(&server, options()).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.reason, Reason::ConfigMapDeleted, "{failure:?}");
    let n_requests = server.requests().len();
    assert!(n_requests < 2_000, "{n_requests} requests until the deadline");
}
