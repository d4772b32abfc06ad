//! The conditions of a Job.

use k8s_openapi::api::batch::v1::Job;

use unlade_diagnose::job_condition;

/// Checks whether the Job has succeeded.
pub(in crate::launch) fn is_complete(job: &Job) -> bool {
    has(job, &["Complete", "SuccessCriteriaMet"])
}

/// Checks whether the Job has failed and creates no more pods. `FailureTarget` is set while its
/// last pods terminate.
pub(in crate::launch) fn has_failed(job: &Job) -> bool {
    has(job, &["Failed", "FailureTarget"])
}

/// Checks whether all pods of the Job have ended.
pub(crate) fn is_finished(job: &Job) -> bool {
    has(job, &["Complete", "Failed"])
}

/// The deadline that ends a Job in place, in seconds. No launch creates a Job with this deadline.
pub(in crate::launch) const ENDED: i64 = 1;

/// Checks whether the Job creates no more pods, or is being deleted.
pub(in crate::launch) fn is_over(job: &Job) -> bool {
    let deadline = job.spec.as_ref().and_then(|spec| spec.active_deadline_seconds);
    is_complete(job)
        || has_failed(job)
        || job.metadata.deletion_timestamp.is_some()
        // The controller sets the condition a moment later.
        || deadline == Some(ENDED)
}

fn has(job: &Job, types: &[&str]) -> bool {
    types.iter().any(|kind| job_condition(job, kind).is_some())
}
