//! Classification of Jobs that have no pod or that failed.

use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::api::core::v1::Event;

use super::bound::quoted;
use super::{
    Evidence, Failure, ObjectRef, Reason, admission, event, job_condition, outcome, without_middle,
    worst,
};

/// Returns why `job` has no pod, or why it failed. Returns `None` if the Job makes progress or is
/// complete.
///
/// `events` may include events about other objects, which are ignored. A Job's conditions say less
/// about its pods than [`classify_pod`](super::classify_pod) does.
pub fn classify_job(job: &Job, events: &[Event]) -> Option<Failure> {
    let object = &ObjectRef::job(job.metadata.name.as_deref().unwrap_or_default());
    let status = job.status.as_ref();
    if job_condition(job, "Complete").or_else(|| job_condition(job, "SuccessCriteriaMet")).is_some()
    {
        return None;
    }
    // `FailureTarget` is set first, and `Failed` once all pods have terminated.
    let ended = job_condition(job, "Failed").or_else(|| job_condition(job, "FailureTarget"));
    let has_pod = status.is_some_and(|status| status.active.unwrap_or(0) > 0);
    let rejected = (!has_pod).then(|| classify_creation(job, object, events)).flatten();
    let failures =
        ended.map(|condition| classify_condition(condition, object)).into_iter().chain(rejected);
    worst(failures).map(Failure::bounded)
}

/// Returns why the Job controller cannot create a pod.
fn classify_creation(job: &Job, object: &ObjectRef, events: &[Event]) -> Option<Failure> {
    let events = event::about(events, &job.metadata);
    let newest = events
        .into_iter()
        .find(|it| matches!(event::reason(it), "FailedCreate" | "SuccessfulCreate"))?;
    if event::reason(newest) == "SuccessfulCreate" {
        return None;
    }
    let message = &*event::message(newest);
    let pod = format!("the pod of {object}");
    let failure = admission::classify(message, &pod).unwrap_or_else(|| {
        // The controller keeps trying, and the API server may only be overloaded.
        Failure::new(
            Reason::ApiRefused,
            format!("the API server rejects {pod}: {}", quoted(message)),
        )
        .with_transience(true)
    });
    Some(failure.with_evidence(event::evidence(newest, object)))
}

fn classify_condition(condition: &JobCondition, object: &ObjectRef) -> Failure {
    let state = condition.reason.as_deref().unwrap_or_default();
    let message = &*without_middle(condition.message.as_deref().unwrap_or_default());
    let failure = match state {
        "PodFailurePolicy" => classify_policy(message, object),
        "DeadlineExceeded" => Failure::new(
            Reason::Deadline,
            format!("{object} exceeded its deadline (activeDeadlineSeconds)"),
        ),
        "BackoffLimitExceeded" => Failure::new(
            Reason::Killed,
            format!("every pod of {object} failed: {}", quoted(message)),
        ),
        _ => Failure::new(Reason::Killed, format!("{object} failed: {state}, {}", quoted(message))),
    };
    failure.with_evidence(Evidence {
        object: Some(object.clone()),
        state: condition.reason.clone(),
        message: condition.message.clone(),
        ..Evidence::default()
    })
}

/// Classifies `Container unpack for pod NS/NAME failed with exit code 11 matching FailJob rule at
/// index 1`.
fn classify_policy(message: &str, object: &ObjectRef) -> Failure {
    let code = message.split_once("with exit code ").and_then(|(_, rest)| rest.split(' ').next());
    let code = code.and_then(|code| code.parse().ok());
    let verdict =
        code.and_then(|code| outcome::from_exit_code(code, &format!("the unpacker of {object}")));
    verdict.unwrap_or_else(|| {
        Failure::new(Reason::Killed, format!("{object} failed: {}", quoted(message)))
    })
}
