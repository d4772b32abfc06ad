use k8s_openapi::api::batch::v1::Job;
use serde_json::json;

use crate::Reason;
use crate::classify_job;

fn job(kind: &str, reason: &str, message: &str) -> Job {
    let condition = json!({"type": kind, "status": "True", "reason": reason, "message": message});
    let job = json!({"metadata": {"name": "etcd-1"}, "status": {"conditions": [condition]}});
    serde_json::from_value(job).unwrap()
}

#[test]
fn conditions_are_classified_without_pods() {
    let policy = |code: u8| {
        format!(
            "Container unpack for pod ns/etcd-1-x7k2p failed with exit code {code} matching FailJob rule at index 1"
        )
    };
    for (reason, message, expected) in [
        ("PodFailurePolicy", policy(11), Reason::BadBundle),
        ("PodFailurePolicy", policy(13), Reason::TooLarge),
        ("PodFailurePolicy", policy(3), Reason::Killed),
        ("PodFailurePolicy", "Pod ns/etcd-1 has condition X".to_owned(), Reason::Killed),
        (
            "DeadlineExceeded",
            "Job was active longer than specified deadline".to_owned(),
            Reason::Deadline,
        ),
        (
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit".to_owned(),
            Reason::Killed,
        ),
        ("SomethingNew", "x".to_owned(), Reason::Killed),
    ] {
        for kind in ["FailureTarget", "Failed"] {
            let failure = classify_job(&job(kind, reason, &message), &[]).unwrap();
            assert_eq!(failure.reason, expected, "{kind} {reason} {message}");
            assert_eq!(failure.evidence.state.as_deref(), Some(reason));
        }
    }
}

#[test]
fn job_that_succeeds_or_runs_has_no_failure() {
    for kind in ["SuccessCriteriaMet", "Complete", "Suspended"] {
        assert_eq!(classify_job(&job(kind, "", ""), &[]), None, "{kind}");
    }
}

#[test]
fn an_unknown_rejection_is_transient() {
    let event = json!({
        "metadata": {}, "involvedObject": {"name": "etcd-1"},
        "reason": "FailedCreate", "message": "Error creating: something new",
    });
    let job = serde_json::from_value(json!({"metadata": {"name": "etcd-1"}})).unwrap();
    let failure = classify_job(&job, &[serde_json::from_value(event).unwrap()]).unwrap();
    assert_eq!((failure.reason, failure.is_transient), (Reason::ApiRefused, true));
}
