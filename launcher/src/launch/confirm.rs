//! Confirmation of events. Anyone who may create events can write anything in them, so the launcher
//! asks the API server before it gives up because of one.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use tokio::time::timeout;

use super::Launch;
use crate::call::{BRIEF, Reply};
use crate::client::classify_request_error;
use crate::dry_run::{self, Refusal};
use crate::{Failure, ObjectRef, Reason};

impl Launch<'_> {
    /// Asks the API server to confirm a failure that an event reports: it rejects the pod of `job`
    /// for the same reason, or the service account does not exist. An unconfirmed failure may be
    /// temporary. A caller who lacks the permission to ask waits for the deadline of the phase.
    pub(super) async fn confirms(&self, reported: &Failure, job: Option<&Job>) -> bool {
        if reported.evidence.object.as_ref().is_some_and(ObjectRef::is_job) {
            return match job {
                Some(job) => self.is_refused(job, reported.reason).await,
                None => false,
            };
        }
        reported.reason == Reason::NoServiceAccount && self.lacks_account().await
    }

    async fn is_refused(&self, job: &Job, reason: Reason) -> bool {
        let Some(template) = job.spec.as_ref().map(|spec| spec.template.clone()) else {
            return false;
        };
        let mut metadata = template.metadata.unwrap_or_default();
        metadata.generate_name = Some(format!("{}-", self.plan.name()));
        let pod = Pod { metadata, spec: template.spec, status: None };
        let api = self.api::<Pod>();
        // A hanging API server must not block the deadlines of the launch.
        match timeout(BRIEF, dry_run::create(&api, &pod)).await {
            Err(_) | Ok(Ok(_)) => false,
            Ok(Err(error)) => {
                match Refusal::from_failure(classify_request_error(&error, "create the Pod")) {
                    Refusal::NoDryRun(_) => false,
                    Refusal::Forbidden(refused) | Refusal::Rejected(refused) => {
                        refused.reason == reason && !refused.is_transient
                    }
                }
            }
        }
    }

    async fn lacks_account(&self) -> bool {
        let name = self.launcher.options.pod.service_account.as_deref().unwrap_or(self.plan.name());
        let api = self.api::<ServiceAccount>();
        let retrier = self.brief_retrier();
        let doing = format!("read the ServiceAccount {name}");
        matches!(retrier.send(&doing, || api.get(name)).await, Ok(Reply::Missing))
    }
}
