//! The digest of the image: known of some pods, and recorded where that is asked for.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::time::{Instant, timeout_at};
use unlade_format::mark;
use unlade_format::record::IMAGE_DIGEST;

use super::Launch;
use super::judge::{Attempt, Verdict, pod};
use super::patience::{Answer, Patience};
use super::watch::Watch;
use crate::Strategy;

/// How long the kubelet may take to tell the digest of an image that runs already.
const PATIENCE: Duration = Duration::from_secs(10);

impl Launch<'_> {
    /// The digest of the image that a success came from. Where it is to be recorded and the pod
    /// will tell it, it is waited for: the ConfigMap is often written before the kubelet says that
    /// the container has started.
    pub(super) async fn image_digest(
        &self,
        attempt: &Attempt,
        watch: &mut Watch,
        verdict: &Verdict,
    ) -> Option<String> {
        if let Some(digest) = self.plan.image().digest() {
            return Some(digest.to_owned());
        }
        if !matches!(verdict, Verdict::Written(_)) {
            return None;
        }
        let end = Instant::now() + PATIENCE;
        loop {
            let pods = pod::of_attempt(&watch.seen, attempt);
            // A tag may have moved since an earlier one was made.
            let newest = pods.into_iter().find(|pod| !pod::has_failed(pod));
            let digest = newest.and_then(|pod| pod::image_digest(pod, attempt.strategy));
            let is_to_come = self.options.records_digest() && attempt.strategy == Strategy::Inject;
            if digest.is_some() || !is_to_come {
                return digest;
            }
            match timeout_at(end, watch.changed()).await {
                Ok(Ok(())) => {}
                _ => return None,
            }
        }
    }

    /// The ConfigMap with the digest on it, where a tag's is to be recorded.
    pub(super) async fn record_digest(
        &self,
        mut written: Box<ConfigMap>,
        image_digest: Option<&str>,
    ) -> Box<ConfigMap> {
        let is_wanted = self.options.records_digest() && self.plan.image().digest().is_none();
        let Some(digest) = image_digest.filter(|_| is_wanted) else {
            return written;
        };
        let api = self.api::<ConfigMap>();
        let patience = Patience::of(&self.report, PATIENCE);
        let attempt = written.annotations().get(mark::ATTEMPT).cloned();
        loop {
            // Only on the content that it is the digest of.
            let patch = Patch::Merge(json!({"metadata": {
                "resourceVersion": written.metadata.resource_version,
                "annotations": {IMAGE_DIGEST: digest},
            }}));
            let doing = format!("annotate ConfigMap {}", self.plan.name());
            let params = PatchParams::default();
            match patience.ask(&doing, || api.patch(self.plan.name(), &params, &patch)).await {
                Ok(Answer::Done(recorded)) => return Box::new(recorded),
                Ok(Answer::Changed) => {}
                // The bundle is there; only reuse will miss the digest.
                _ => return written,
            }
            match patience.ask(&doing, || api.get(self.plan.name())).await {
                Ok(Answer::Done(found))
                    if found.annotations().get(mark::ATTEMPT) == attempt.as_ref() =>
                {
                    *written = found;
                }
                _ => return written,
            }
        }
    }
}
