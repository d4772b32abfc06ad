//! The Secret with the credentials of a launch: it exists only while an attempt can need it. The
//! requests to hand it over and to delete it are retried only briefly, because it is deleted with
//! its owner in any case.

use std::sync::PoisonError;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use serde_json::json;
use tracing::warn;

use super::Launch;
use super::creation::Created;
use crate::object::{Facts, attach};
use crate::{Failure, Reason};

/// A Secret that this launch has created.
#[derive(Debug)]
pub(super) struct Lent {
    name: String,
    uid: Option<String>,
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
            return self.create_job(&self.retrier(), job, None).await;
        };
        attach(&mut job, &secret);
        let name = secret.name_any();
        // The Secret may exist although its creation was not confirmed. Its name is random, so it
        // can be deleted without its uid.
        self.set_lent(Some(Lent { name: name.clone(), uid: None }));
        let secret = match self.create(secret).await {
            Ok(Created::Own(secret)) => secret,
            Ok(Created::Theirs(_)) => {
                self.set_lent(None);
                return Err(super::name_taken("Secret", &name));
            }
            Err(failure) => {
                self.withdraw_credentials().await;
                return Err(failure);
            }
        };
        self.set_lent(Some(Lent { name: name.clone(), uid: secret.uid() }));
        let retrier = self.retrier();
        let created = self.create_job(&retrier, job, Some(name.clone())).await;
        match &created {
            Ok(Created::Own(job)) => self.hand_over(&name, secret.uid(), job).await,
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
        }
    }

    /// Deletes the Secret, because no pod of the attempt pulls an image any longer.
    pub(super) async fn withdraw_credentials(&self) {
        let Some(Lent { name, uid }) = self.set_lent(None) else { return };
        let preconditions = Preconditions { uid, resource_version: None };
        let params = DeleteParams::default().preconditions(preconditions);
        let api = self.api::<Secret>();
        let doing = format!("delete the Secret {name}");
        let retrier = self.brief_retrier();
        let response = retrier.send(&doing, || api.delete(&name, &params)).await;
        if let Err(failure) = response {
            let reason: Reason = failure.reason;
            warn!(%failure, ?reason, secret = name, "the Secret stays until its owner is deleted");
        }
    }

    /// Returns the name of the Secret of the running attempt, if this launch has created one.
    pub(super) fn lent_secret_name(&self) -> Option<String> {
        let lent = self.lent.lock().unwrap_or_else(PoisonError::into_inner);
        lent.as_ref().map(|lent| lent.name.clone())
    }

    fn set_lent(&self, lent: Option<Lent>) -> Option<Lent> {
        std::mem::replace(&mut *self.lent.lock().unwrap_or_else(PoisonError::into_inner), lent)
    }
}
