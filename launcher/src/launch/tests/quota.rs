//! Launches in a namespace where the objects of earlier launches and attempts fill a quota. The API
//! server checks quotas before it finds out that an object already exists.

use unlade_api_server::State;

use super::image::{by_digest, inject, launch, reported};
use super::*;

/// The kinds of the objects that a launch creates before the Job.
const PREPARED: [&str; 4] = ["configmaps", "serviceaccounts", "roles", "rolebindings"];

#[tokio::test(start_paused = true)]
async fn objects_that_fill_a_quota_are_used_by_later_attempts_and_launches() {
    let server = Server::new(|server, job| {
        if server.count("jobs") == 2 {
            server.put("pods", reported(job, &by_digest()));
            return server.fill(job);
        }
        let mut failed = job.clone();
        failed["status"]["conditions"] =
            json!([{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]);
        server.put("pods", pod(job, "Failed", &json!({"terminated": {"exitCode": 30}})));
        server.put("jobs", failed);
    });
    let server = server.with_quota(1, &PREPARED);
    let first = launch(&server, inject(), &by_digest()).await.unwrap();
    assert!(first.job.as_ref().unwrap().ends_with("-2"), "{first:?}");
    let again = launch(&server, inject(), &by_digest()).await.unwrap();
    assert_eq!(again.job, None, "the content is reused");

    let launcher = Launcher::new(server.client(), inject());
    let shown = launcher.dry_run(&Request::new(by_digest(), "default")).await.unwrap();
    assert_eq!(shown[0]["metadata"]["uid"], server.object("configmaps", "")["metadata"]["uid"]);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_fills_a_quota_is_ours_even_if_the_response_to_its_creation_was_lost() {
    let server = Server::new(State::fill).disturbed(creation::answers_are_lost());
    let server = server.with_quota(1, &PREPARED).with_quota(1, &["jobs"]);
    let (launched, steps) = launched(&server, options()).await;
    launched.unwrap_or_else(|failure| panic!("{failure:?}: {steps:?}"));
    assert!(steps.contains(&"created".to_owned()), "{steps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_full_quota_is_the_failure_if_the_object_does_not_exist() {
    let server = Server::new(|_, _| {}).with_quota(0, &["jobs"]);
    let (failure, _) = launched(&server, options()).await;
    let failure = failure.unwrap_err();
    assert_eq!(failure.reason, Reason::Quota, "{failure:?}");
}
