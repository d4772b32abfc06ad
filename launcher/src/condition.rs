//! Lookup of conditions of Jobs.

use k8s_openapi::api::batch::v1::{Job, JobCondition};

/// Returns the condition of this type, if its status is true.
pub(crate) fn holding<'j>(job: &'j Job, kind: &str) -> Option<&'j JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind && condition.status == "True")
}
