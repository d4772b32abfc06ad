//! The end of an attempt that failed: the evidence is kept, and the Job ended where it stands.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret};
use kube::Api;
use kube::api::{LogParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::{Instant, timeout, timeout_at};
use unlade_format::record::FAILURE;

use super::Launch;
use super::judge::condition::ENDED;
use super::judge::pod::has_failed;
use super::judge::{Attempt, Verdict, is_written};
use super::patience::{Answer, Patience};
use super::record::Record;
use super::watch::Watch;
use crate::failure::{LOG_LINES, of_pull_secret};
use crate::{Failure, Reason};

/// How long the end may take. What fails is known by then; nothing of this is worth more time.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a pod may take to end once its container has.
const ENDING: Duration = Duration::from_secs(2);

/// Most bytes of a log that are asked for.
const LOG_SIZE: i64 = 16 << 10;

impl Launch<'_> {
    /// The verdict, once everything about it is done. What looked like a failure is none if the
    /// ConfigMap bears the mark after all: the watches aren't in step with each other.
    pub(super) async fn settle(
        &self,
        attempt: Option<(&Attempt, &mut Watch)>,
        verdict: Verdict,
    ) -> Verdict {
        let (failure, is_over) = match verdict {
            Verdict::Over(failure) => (failure, true),
            Verdict::Again(failure) => (failure, false),
            written @ Verdict::Written(_) => return written,
        };
        let failure = self.with_log(self.with_pull_secrets(failure).await).await;
        let failure = match self.keep(attempt.as_ref().map(|it| it.0), failure).await {
            Ok(written) => return Verdict::Written(written),
            Err(failure) => failure,
        };
        if let Some((attempt, watch)) = attempt {
            let_pod_end(watch, &failure).await;
            self.end(attempt, &failure).await;
        }
        if is_over { Verdict::Over(failure) } else { Verdict::Again(failure) }
    }

    /// A failure before there was an attempt, once it is written down.
    pub(super) async fn kept(&self, failure: Failure) -> Failure {
        self.keep(None, failure.clone()).await.err().unwrap_or(failure)
    }

    /// What is wrong with the pull secrets, where the registry refuses and none of them is of use.
    /// Who may not read them isn't told.
    async fn with_pull_secrets(&self, failure: Failure) -> Failure {
        let pod = &self.options.pod;
        if failure.reason != Reason::Unauthorized || pod.pull_secrets.is_empty() {
            return failure;
        }
        // Beside an image volume it is the same container that waits for both.
        let (tool, bundle) = (self.plan.tool_image(), self.plan.image());
        let image = if failure.message.contains(tool.as_str()) { tool } else { bundle };
        let api = self.api::<Secret>();
        let patience = Patience::of(&self.report, PATIENCE);
        let mut found = Vec::new();
        for name in &pod.pull_secrets {
            let doing = format!("read Secret {name}");
            let Ok(answer) = patience.ask(&doing, || api.get(name)).await else { return failure };
            match of_pull_secret(name, answer.done().as_ref(), image) {
                Some(problem) => found.push(problem),
                None => return failure,
            }
        }
        let Some(mut first) = found.into_iter().next() else { return failure };
        first.evidence.said = failure.evidence.said;
        first
    }

    /// The failure with the end of the log of the container that failed.
    async fn with_log(&self, failure: Failure) -> Failure {
        let evidence = &failure.evidence;
        let (Some(object), Some(container), Some(_)) =
            (&evidence.object, &evidence.container, evidence.exit_code)
        else {
            return failure;
        };
        let Some(pod) = object.strip_prefix("pod/") else { return failure };
        let params = LogParams {
            container: Some(container.clone()),
            tail_lines: i64::try_from(LOG_LINES).ok(),
            limit_bytes: Some(LOG_SIZE),
            ..LogParams::default()
        };
        let pods = self.api::<Pod>();
        match timeout(PATIENCE, pods.logs(pod, &params)).await {
            Ok(Ok(log)) => failure.with_log(log.lines()),
            // Without it there is still the termination message.
            _ => failure,
        }
    }

    /// Writes the failure down on the ConfigMap, unless it is filled. Gives what is to be told.
    async fn keep(
        &self,
        attempt: Option<&Attempt>,
        failure: Failure,
    ) -> Result<Box<ConfigMap>, Failure> {
        let api = self.api::<ConfigMap>();
        let patience = Patience::of(&self.report, PATIENCE);
        loop {
            let doing = format!("read ConfigMap {}", self.plan.name());
            let found = match patience.ask(&doing, || api.get(self.plan.name())).await {
                Ok(Answer::Done(found)) => found,
                Ok(_) => return Err(self.of_missing(failure).await),
                // What was to be told matters more than that it couldn't be kept.
                Err(_) => return Err(failure),
            };
            if attempt.is_some_and(|attempt| is_written(&found, &attempt.uid)) {
                return Ok(Box::new(found));
            }
            if found.metadata.deletion_timestamp.is_some() {
                return Err(self.of_missing(failure).await);
            }
            let record = Record {
                attempt: attempt.map(|attempt| attempt.uid.clone()),
                job: attempt.map(|attempt| attempt.job.clone()),
                failure: failure.clone(),
            };
            // Only if nothing has been written since it was read.
            let patch = Patch::Merge(json!({"metadata": {
                "resourceVersion": found.metadata.resource_version,
                "annotations": {FAILURE: serde_json::to_string(&record).unwrap_or_default()},
            }}));
            let doing = format!("annotate ConfigMap {}", self.plan.name());
            let params = PatchParams::default();
            let request = || api.patch(self.plan.name(), &params, &patch);
            if !matches!(patience.ask(&doing, request).await, Ok(Answer::Changed)) {
                return Err(failure);
            }
        }
    }

    /// Whether the namespace is gone or on its way out. Who mayn't read namespaces isn't told.
    async fn is_namespace_going(&self) -> bool {
        let namespace = &self.request.namespace;
        let api: Api<Namespace> = Api::all(self.client.clone());
        let patience = Patience::of(&self.report, PATIENCE);
        let doing = format!("read namespace {namespace}");
        match patience.ask(&doing, || api.get(namespace)).await {
            Ok(Answer::Done(found)) => found.metadata.deletion_timestamp.is_some(),
            Ok(_) => true,
            Err(_) => false,
        }
    }

    /// The failure where the ConfigMap is gone: that, or the namespace on its way out.
    async fn of_missing(&self, failure: Failure) -> Failure {
        if self.is_namespace_going().await {
            return super::judge::namespace_going(&self.request.namespace);
        }
        match failure.reason {
            Reason::ConfigMapDeleted | Reason::Namespace => failure,
            _ => {
                let message = format!("someone deleted the ConfigMap {}", self.plan.name());
                Failure::new(Reason::ConfigMapDeleted, message)
            }
        }
    }

    /// Ends the Job where it stands: it and its pods stay as long as a failure is to be seen.
    async fn end(&self, attempt: &Attempt, failure: &Failure) {
        // Who made it may be more patient. Its own deadline stands behind it.
        let is_others = attempt.is_adopted && failure.reason == Reason::Deadline;
        let is_gone = matches!(
            failure.reason,
            Reason::JobDeleted | Reason::ConfigMapDeleted | Reason::Namespace
        );
        if is_others || is_gone {
            return;
        }
        let patch = Patch::Merge(json!({
            "metadata": {"uid": attempt.uid},
            "spec": {
                "activeDeadlineSeconds": ENDED,
                "ttlSecondsAfterFinished": self.options.retention.failure.as_secs(),
            },
        }));
        let api = self.api::<Job>();
        let patience = Patience::of(&self.report, PATIENCE);
        let doing = format!("end Job {}", attempt.job);
        let params = PatchParams::default();
        let _ = patience.ask(&doing, || api.patch(&attempt.job, &params, &patch)).await;
    }
}

/// Waits until the pod whose container ended has ended too, which it does a moment later: ending
/// the Job deletes the pods that haven't, and this one is evidence.
async fn let_pod_end(watch: &mut Watch, failure: &Failure) {
    let pod = failure.evidence.object.as_deref().and_then(|object| object.strip_prefix("pod/"));
    let Some(pod) = pod.filter(|_| failure.evidence.exit_code.is_some()) else { return };
    let end = Instant::now() + ENDING;
    while watch.seen.pods.get(pod).is_some_and(|pod| !has_failed(pod)) {
        let Ok(Ok(())) = timeout_at(end, watch.changed()).await else { return };
    }
}
