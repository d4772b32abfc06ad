//! How a Job stands.

use k8s_openapi::api::batch::v1::Job;

use crate::condition::holding;

/// Whether all that it was to do is done.
pub(in crate::launch) fn is_complete(job: &Job) -> bool {
    has(job, &["Complete", "SuccessCriteriaMet"])
}

/// Whether it makes no more pods because it failed. `FailureTarget` comes while the last ones end.
pub(in crate::launch) fn has_failed(job: &Job) -> bool {
    has(job, &["Failed", "FailureTarget"])
}

/// Whether none of its pods runs any more.
pub(crate) fn is_finished(job: &Job) -> bool {
    has(job, &["Complete", "Failed"])
}

/// The deadline of a Job that was ended where it stood, in seconds. No launch asks for it.
pub(in crate::launch) const ENDED: i64 = 1;

/// Whether it makes no more pods, or is about to be gone.
pub(in crate::launch) fn is_over(job: &Job) -> bool {
    let deadline = job.spec.as_ref().and_then(|spec| spec.active_deadline_seconds);
    is_complete(job)
        || has_failed(job)
        || job.metadata.deletion_timestamp.is_some()
        // The controller says so a moment later.
        || deadline == Some(ENDED)
}

fn has(job: &Job, types: &[&str]) -> bool {
    types.iter().any(|kind| holding(job, kind).is_some())
}
