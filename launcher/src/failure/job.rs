//! What is wrong with a Job.

use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::api::core::v1::Event;

use super::bound::quoted;
use super::{Evidence, Failure, Reason, admission, event, outcome, worst};
use crate::condition::holding;

/// What keeps `job` from having a pod, or why it failed; nothing if it is on its way or complete.
///
/// `events` may hold those of other objects: only those about the Job are looked at. Why its pods
/// fail is better told by [`of_pod`](super::of_pod); what a Job's conditions tell is less.
pub fn of_job(job: &Job, events: &[Event]) -> Option<Failure> {
    let object = &format!("job/{}", job.metadata.name.as_deref().unwrap_or_default());
    let status = job.status.as_ref();
    if holding(job, "Complete").or_else(|| holding(job, "SuccessCriteriaMet")).is_some() {
        return None;
    }
    // `FailureTarget` comes first, `Failed` once all pods have ended.
    let ended = holding(job, "Failed").or_else(|| holding(job, "FailureTarget"));
    let has_pod = status.is_some_and(|status| status.active.unwrap_or(0) > 0);
    let refused = (!has_pod).then(|| uncreated(job, object, events)).flatten();
    let failures = ended.map(|condition| failed(condition, object)).into_iter().chain(refused);
    worst(failures).map(Failure::bounded)
}

/// Why the Job's controller can't create a pod.
fn uncreated(job: &Job, object: &str, events: &[Event]) -> Option<Failure> {
    let events = event::about(events, &job.metadata);
    let newest = events
        .into_iter()
        .find(|it| matches!(event::reason(it), "FailedCreate" | "SuccessfulCreate"))?;
    if event::reason(newest) == "SuccessfulCreate" {
        return None;
    }
    let said = event::message(newest);
    let of = format!("the pod of {object}");
    let failure = admission::of_message(said, &of).unwrap_or_else(|| {
        // The controller goes on trying, and the API server may only be busy.
        Failure::new(Reason::ApiRefused, format!("the API server refuses {of}: {}", quoted(said)))
            .transient(true)
    });
    Some(failure.seen(event::evidence(newest, object)))
}

fn failed(condition: &JobCondition, object: &str) -> Failure {
    let state = condition.reason.as_deref().unwrap_or_default();
    let said = condition.message.as_deref().unwrap_or_default();
    let failure = match state {
        "PodFailurePolicy" => by_policy(said, object),
        "DeadlineExceeded" => Failure::new(
            Reason::Deadline,
            format!("{object} ran longer than it may (activeDeadlineSeconds)"),
        ),
        "BackoffLimitExceeded" => {
            Failure::new(Reason::Killed, format!("every pod of {object} failed: {}", quoted(said)))
        }
        _ => Failure::new(Reason::Killed, format!("{object} failed: {state}, {}", quoted(said))),
    };
    failure.seen(Evidence {
        object: Some(object.to_owned()),
        state: condition.reason.clone(),
        said: condition.message.clone(),
        ..Evidence::default()
    })
}

/// `Container unpack for pod NS/NAME failed with exit code 11 matching FailJob rule at index 1`.
fn by_policy(said: &str, object: &str) -> Failure {
    let code = said.split_once("with exit code ").and_then(|(_, rest)| rest.split(' ').next());
    let code = code.and_then(|code| code.parse().ok());
    let verdict =
        code.and_then(|code| outcome::of_exit_code(code, &format!("the unpacker of {object}")));
    verdict.unwrap_or_else(|| {
        Failure::new(Reason::Killed, format!("{object} failed: {}", quoted(said)))
    })
}
