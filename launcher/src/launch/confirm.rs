//! Whether what an event says is so. Anyone who may create events may say anything in one, so a
//! final verdict asks the API server itself.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::PostParams;
use tokio::time::timeout;

use super::Launch;
use super::patience::{Answer, Patience};
use crate::{Failure, Reason, failure};

/// How long the API server may take.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

impl Launch<'_> {
    /// Whether the API server confirms a failure that an event told of: it refuses the pod of `job`
    /// for the same reason, or hasn't got the service account. What it doesn't confirm may pass; who
    /// may not ask waits for the deadline of the phase.
    pub(super) async fn confirms(&self, told: &Failure, job: Option<&Job>) -> bool {
        let object = told.evidence.object.as_deref().unwrap_or_default();
        if object.starts_with("job/") {
            return match job {
                Some(job) => self.is_refused(job, told.reason).await,
                None => false,
            };
        }
        told.reason == Reason::NoServiceAccount && self.lacks_account().await
    }

    async fn is_refused(&self, job: &Job, reason: Reason) -> bool {
        let Some(template) = job.spec.as_ref().map(|spec| spec.template.clone()) else {
            return false;
        };
        let mut metadata = template.metadata.unwrap_or_default();
        metadata.generate_name = Some(format!("{}-", self.plan.name()));
        let pod = Pod { metadata, spec: template.spec, status: None };
        let api = self.api::<Pod>();
        let params = PostParams { dry_run: true, ..PostParams::default() };
        // The deadlines of the launch do not run out of sight while the API server hangs.
        match timeout(PATIENCE, api.create(&params, &pod)).await {
            Err(_) | Ok(Ok(_)) => false,
            Ok(Err(error)) => {
                let answer = failure::of_api(&error, "create Pod");
                // Of a webhook that isn't asked in a dry run this says nothing.
                let is_answer = !answer.message.contains("does not support dry run");
                is_answer && answer.reason == reason && !answer.is_transient
            }
        }
    }

    async fn lacks_account(&self) -> bool {
        let name = self.options.pod.service_account.as_deref().unwrap_or(self.plan.name());
        let api = self.api::<ServiceAccount>();
        let patience = Patience::of(&self.report, PATIENCE);
        let doing = format!("read ServiceAccount {name}");
        matches!(patience.ask(&doing, || api.get(name)).await, Ok(Answer::Missing))
    }
}
