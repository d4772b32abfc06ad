//! Lookup of conditions of Jobs.

use k8s_openapi::api::batch::v1::{Job, JobCondition};

/// Returns the condition of this type, if the Job has it and its status is `True`.
pub fn job_condition<'j>(job: &'j Job, kind: &str) -> Option<&'j JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind && condition.status == "True")
}
