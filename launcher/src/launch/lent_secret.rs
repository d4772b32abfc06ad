//! The Secret with the credentials of a launch: it exists only while an attempt can need it. The
//! requests to hand it over and to delete it are retried only briefly, because it is deleted with
//! its owner in any case.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::time::sleep;
use tracing::warn;

use super::Launch;
use super::creation::{Created, Live, Requested};
use crate::Failure;
use crate::call::{Reply, Retrier};
use crate::object::{Facts, attach};

/// The time after which to look again for a Secret whose creation got no response. The API server
/// stops processing a request soon after its client is gone.
const SECOND_LOOK: Duration = Duration::from_secs(2);

/// A Secret that this launch has created.
#[derive(Debug)]
pub(super) struct Lent {
    name: String,
    /// The uid, or `None` if the creation was not confirmed.
    uid: Option<String>,
    /// The creation, until the Job owns the Secret.
    live: Option<Live>,
}

impl Launch<'_> {
    /// Creates a Job. If the request has credentials, creates their Secret before, so that it
    /// exists when a node pulls the images.
    pub(super) async fn create_job_with_credentials(
        &self,
        mut job: Job,
        facts: &Facts,
    ) -> Result<Created<Job>, Failure> {
        let Some(secret) = self.plan.secret(&job.name_any(), Some(&self.id), facts) else {
            return self.create_job(&self.retrier(), job).await;
        };
        attach(&mut job, &secret);
        let name = secret.name_any();
        let uid = self.lend(secret).await?;
        let retrier = self.retrier();
        let created = self.create_job(&retrier, job).await;
        match &created {
            Ok(Created::Own(job)) => self.hand_over(&name, uid, job).await,
            // The Job may exist although its creation was not confirmed, and its pod needs the
            // Secret.
            Err(failure) if retrier.had_outage() => {
                warn!(%failure, secret = name, "the Secret stays until its owner is deleted");
            }
            // Nobody uses the Secret.
            _ => self.withdraw_credentials().await,
        }
        created
    }

    /// Creates the Secret, and returns its uid.
    async fn lend(&self, secret: Secret) -> Result<Option<String>, Failure> {
        let name = secret.name_any();
        let live = Some(self.announce(Requested::Secret(name.clone())));
        *self.lent() = Some(Lent { name: name.clone(), uid: None, live });
        let retrier = self.retrier();
        let failure = match self.create_with(&retrier, secret).await {
            Ok(Created::Own(secret)) => {
                if let Some(lent) = &mut *self.lent() {
                    lent.uid = secret.uid();
                }
                return Ok(secret.uid());
            }
            Ok(Created::Theirs(_)) => super::name_taken("Secret", &name),
            // The Secret may exist although its creation was not confirmed.
            Err(failure) if retrier.had_outage() => {
                self.withdraw_credentials().await;
                return Err(failure);
            }
            Err(failure) => failure,
        };
        let refused = self.lent().take();
        if let Some(live) = refused.and_then(|lent| lent.live) {
            live.settle();
        }
        Err(failure)
    }

    /// Makes the Job the owner of the Secret. Until then, the ConfigMap is, which lives longer.
    async fn hand_over(&self, name: &str, uid: Option<String>, job: &Job) {
        let patch = Patch::Merge(json!({"metadata": {"uid": uid, "ownerReferences": [{
            "apiVersion": "batch/v1", "kind": "Job", "name": job.name_any(), "uid": job.uid(),
            "controller": false, "blockOwnerDeletion": false,
        }]}}));
        let api = self.api::<Secret>();
        let doing = format!("make the Job the owner of the Secret {name}");
        let params = PatchParams::default();
        let retrier = self.brief_retrier();
        let response = retrier.send(&doing, || api.patch_metadata(name, &params, &patch)).await;
        if let Err(failure) = response.and_then(|response| response.expect_value(&doing)) {
            warn!(%failure, secret = name, "the Secret is not deleted with the Job");
            return;
        }
        let live = self.lent().as_mut().and_then(|lent| lent.live.take());
        if let Some(live) = live {
            live.settle();
        }
    }

    /// Deletes the Secret, because no pod of the attempt pulls an image any longer.
    pub(super) async fn withdraw_credentials(&self) {
        // If the Secret may still exist, `live` is dropped unsettled, and a cancellation finds it.
        let Some(Lent { name, uid, live }) = self.lent().take() else { return };
        let is_gone = delete_secret(&self.api(), &self.brief_retrier(), &name, uid).await;
        if let Some(live) = live.filter(|_| is_gone) {
            live.settle();
        }
    }

    /// Returns the name of the Secret of the running attempt, if this launch has created one.
    pub(super) fn lent_secret_name(&self) -> Option<String> {
        self.lent().as_ref().map(|lent| lent.name.clone())
    }

    fn lent(&self) -> MutexGuard<'_, Option<Lent>> {
        self.lent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Deletes a Secret. Its name is random, so it can be deleted without its uid. If the uid is
/// unknown, the API server may still be creating the Secret, so this looks for it twice. Returns
/// whether the Secret is gone, and logs a warning if it is not.
pub(super) async fn delete_secret(
    api: &Api<Secret>,
    retrier: &Retrier<'_>,
    name: &str,
    uid: Option<String>,
) -> bool {
    let doing = format!("delete the Secret {name}");
    let is_confirmed = uid.is_some();
    let preconditions = Preconditions { uid, resource_version: None };
    let params = DeleteParams::default().preconditions(preconditions);
    let delete = || retrier.send(&doing, || api.delete(name, &params));
    let mut reply = delete().await;
    if !is_confirmed && matches!(reply, Ok(Reply::Missing)) {
        sleep(SECOND_LOOK).await;
        reply = delete().await;
    }
    match reply {
        Ok(Reply::Missing) if !is_confirmed => {
            warn!(secret = name, "the Secret may still appear: its creation got no response");
            false
        }
        Ok(_) => true,
        Err(failure) => {
            let reason = failure.reason;
            warn!(%failure, ?reason, secret = name, "the Secret stays until its owner is deleted");
            false
        }
    }
}
