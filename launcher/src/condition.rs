//! Conditions of Jobs.

use k8s_openapi::api::batch::v1::{Job, JobCondition};

/// The condition of this type, if it holds.
pub(crate) fn holding<'j>(job: &'j Job, kind: &str) -> Option<&'j JobCondition> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind && condition.status == "True")
}
