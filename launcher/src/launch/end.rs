//! The end of a failed attempt: collects and records the evidence, and ends the Job in place.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod, Secret};
use kube::api::{ListParams, LogParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use unlade_config_map::{emptied, mark, record::FAILURE};
use unlade_diagnose::{MAX_LOG_LINES, classify_pod, classify_pull_secret};

use super::Launch;
use super::attempt::LaunchBaseline;
use super::image::{Comparison, Observed};
use super::judge::condition::{ENDED, is_finished};
use super::judge::pod::has_failed;
use super::judge::{Attempt, Written, bears_mark, compared, verify_content};
use super::next::{EndJob, Ending, Next, Then, next};
use super::record::Record;
use super::retrier::{Reply, Retrier};
use super::watch::{Presence, Seen, Watch};
use crate::config_map::to_config_map;
use crate::object::ttl;
use crate::strategy::without_applied_remedy;
use crate::{Failure, Reason};

/// How long each request may be retried. The failure is already known, so these requests are not
/// worth more time.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a Job may take to end. Its controller terminates the pods, which get half a minute.
const STOPPING: Duration = Duration::from_secs(45);

/// How long a pod may take to end after its container has exited.
const ENDING: Duration = Duration::from_secs(2);

/// The maximum size of a requested log, in bytes.
const MAX_LOG: i64 = 16 << 10;

impl Launch<'_> {
    /// Does what follows from the failure of an attempt ([`next`]), and returns how the launch goes
    /// on. The attempt has succeeded after all if the ConfigMap has its mark by then, because the
    /// watches are not synchronised with each other.
    pub(super) async fn settle(
        &self,
        baseline: &LaunchBaseline,
        attempt: &Attempt,
        watch: &mut Watch,
        (ending, failure): (Ending, Failure),
        may_inject: bool,
    ) -> Result<Box<Written>, (Failure, Then)> {
        let what_follows =
            |ending, reason| next(ending, Some(attempt.ownership), reason, may_inject);
        if ending == Ending::Superseded {
            let then = what_follows(ending, failure.reason).then;
            return Err((failure, then));
        }
        let was_transient = failure.is_transient;
        let failure = without_applied_remedy(attempt.wanted.strategy, failure);
        let failure = self.with_log(self.with_pull_secrets(failure).await).await;
        // The pull secrets exist after all, so another pod may get them.
        let is_retryable = ending == Ending::Fatal && !was_transient && failure.is_transient;
        let ending = if is_retryable { Ending::Retryable } else { ending };
        let Next { then, record, end_job } = what_follows(ending, failure.reason);
        if end_job == EndJob::BeforeRecording {
            self.end_job(attempt).await;
            wait_for_job_end(watch, attempt).await;
        }
        let failure =
            self.record_failure(baseline, Some((attempt, &watch.seen)), failure, record).await;
        let failure = match failure {
            Ok(written) => return Ok(written),
            Err(failure) => failure,
        };
        if end_job == EndJob::AfterRecording {
            wait_for_pod_exit(watch, &failure).await;
            self.end_job(attempt).await;
        }
        Err((failure, then))
    }

    /// Records and returns a failure that came before the first attempt. It is not recorded while
    /// one of `jobs` is filling the ConfigMap, because the creator of that Job may have more
    /// rights.
    pub(super) async fn record_early_failure(
        &self,
        baseline: &LaunchBaseline,
        jobs: &[Job],
        failure: Failure,
    ) -> Failure {
        let is_alone = matches!(self.find_running_job(baseline, jobs), Ok(None));
        let record = next(Ending::Fatal, None, failure.reason, false).record;
        let recorded =
            self.record_failure(baseline, None, failure.clone(), record && is_alone).await;
        recorded.err().unwrap_or(failure)
    }

    /// Returns what is wrong with the pull secrets if the registry denied access and none of them is
    /// of use.
    ///
    /// What the kubelet reports counts only if the caller may not read the secrets: a slow kubelet
    /// also reports that it could not retrieve a secret that exists.
    async fn with_pull_secrets(&self, failure: Failure) -> Failure {
        let names = &self.options.pod.pull_secrets;
        let is_denied = matches!(failure.reason, Reason::Unauthorized | Reason::NoPullSecret);
        if !is_denied || names.is_empty() {
            return failure;
        }
        // With an image volume the same container waits for both images, so only the message tells
        // them apart.
        let (tool, bundle) = (self.plan.tool_image(), self.plan.image());
        let image = if failure.message.contains(tool.as_str()) { tool } else { bundle };
        let api = self.api::<Secret>();
        let retrier = Retrier::new(&self.report, TIMEOUT);
        let mut problems = Vec::new();
        for name in names {
            let doing = format!("read Secret {name}");
            let Ok(answer) = retrier.send(&doing, || api.get(name)).await else {
                return self.unretrieved_pull_secret(&failure).await.unwrap_or(failure);
            };
            problems.extend(classify_pull_secret(name, answer.value().as_ref(), image.into()));
        }
        if problems.len() < names.len() {
            if !problems.is_empty() {
                return failure;
            }
            let failure = self.unretrieved_pull_secret(&failure).await.unwrap_or(failure);
            if failure.reason != Reason::NoPullSecret {
                return failure;
            }
            // All secrets exist, so the kubelet may retrieve them for the next pod.
            let hint = "the pull secrets exist; a busy node may retrieve them later";
            return failure.with_transience(true).with_hint(Some(hint));
        }
        let Some(mut first) = problems.into_iter().next() else { return failure };
        first.evidence.message = failure.evidence.message;
        first
    }

    /// Returns the failure that includes the kubelet's event about a pull secret. The event may come
    /// after the failure that it explains.
    async fn unretrieved_pull_secret(&self, failure: &Failure) -> Option<Failure> {
        let name = failure.evidence.object.as_ref()?.strip_prefix("pod/")?;
        let retrier = Retrier::new(&self.report, TIMEOUT);
        let (pods, events) = (self.api::<Pod>(), self.api::<Event>());
        let doing = format!("read Pod {name}");
        let pod = retrier.send(&doing, || pods.get(name)).await.ok()?.value()?;
        let params = ListParams::default().fields(&format!("involvedObject.name={name}"));
        let doing = format!("list events of Pod {name}");
        let events = retrier.send(&doing, || events.list(&params)).await.ok()?.value()?.items;
        classify_pod(&pod, &events).filter(|found| found.reason == Reason::NoPullSecret)
    }

    /// Adds the end of the log of the failed container to the failure.
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
            tail_lines: i64::try_from(MAX_LOG_LINES).ok(),
            limit_bytes: Some(MAX_LOG),
            ..LogParams::default()
        };
        let pods = self.api::<Pod>();
        match timeout(TIMEOUT, pods.logs(pod, &params)).await {
            Ok(Ok(log)) => failure.with_log(log.lines()),
            // The termination message is still available.
            _ => failure,
        }
    }

    /// Records the failure on the ConfigMap if it `is_recorded`, unless the ConfigMap was filled,
    /// and removes content that came from another or an unknown image. Returns the failure to
    /// report.
    async fn record_failure(
        &self,
        baseline: &LaunchBaseline,
        attempt: Option<(&Attempt, &Seen)>,
        mut failure: Failure,
        is_recorded: bool,
    ) -> Result<Box<Written>, Failure> {
        let api = self.api::<ConfigMap>();
        let retrier = Retrier::new(&self.report, TIMEOUT);
        loop {
            let doing = format!("read ConfigMap {}", self.plan.name());
            let found = match retrier.send(&doing, || api.get(self.plan.name())).await {
                Ok(Reply::Done(found)) => found,
                Ok(_) => return Err(self.classify_missing(failure).await),
                // The failure matters more than the problem to record it.
                Err(_) => return Err(failure),
            };
            let marked = attempt.filter(|(attempt, _)| bears_mark(&found, &attempt.uid));
            if let Some((attempt, seen)) = marked {
                match self.accepted(&found, attempt, seen, &failure).await {
                    Accepted::Yes(images) => {
                        return Ok(Box::new(Written { config_map: found, images }));
                    }
                    Accepted::No(why) => {
                        failure = without_applied_remedy(attempt.wanted.strategy, why);
                    }
                    Accepted::Broken => {}
                }
            }
            if found.metadata.deletion_timestamp.is_some() {
                return Err(self.classify_missing(failure).await);
            }
            let is_withdrawn = marked.is_some() && failure.reason.is_of_image();
            // Someone else may have filled the ConfigMap meanwhile, or created another one with
            // this name.
            let is_others = found.annotations().get(mark::ATTEMPT) != baseline.written_by.as_ref()
                || found.uid() != baseline.facts.config_map_uid;
            if (is_others && !is_withdrawn) || !is_recorded {
                return Err(failure);
            }
            let attempt = attempt.map(|it| it.0);
            // The first launcher to record a failure saw the cause, and later ones may see only its
            // effects.
            let recorded = attempt.and_then(|attempt| Record::read(Some(&found), &attempt.uid));
            if let Some(recorded) = recorded.filter(|_| !is_withdrawn) {
                return Err(recorded.failure);
            }
            let record = Record {
                attempt: attempt.map(|attempt| attempt.uid.clone()),
                job: attempt.map(|attempt| attempt.job.clone()),
                failure: failure.clone(),
            };
            let record = serde_json::to_string(&record).unwrap_or_default();
            let patch = Patch::Merge(record_patch(&record, &found, is_withdrawn));
            let doing = format!("annotate ConfigMap {}", self.plan.name());
            let params = PatchParams::default();
            let request = || api.patch(self.plan.name(), &params, &patch);
            match retrier.send(&doing, request).await {
                Ok(Reply::Changed) => {}
                Err(_) if is_withdrawn => {
                    let name = self.plan.name();
                    let hint =
                        format!("delete the ConfigMap {name}, because it still holds the content");
                    return Err(failure.with_hint(Some(hint)));
                }
                Ok(_) | Err(_) => return Err(failure),
            }
        }
    }

    /// Decides whether content with the mark of the attempt is accepted, despite the failure.
    async fn accepted(
        &self,
        found: &ConfigMap,
        attempt: &Attempt,
        seen: &Seen,
        failure: &Failure,
    ) -> Accepted {
        match failure.reason {
            Reason::ImageReplaced => return Accepted::No(failure.clone()),
            // Another launcher may have seen more of the pod.
            Reason::ImageUnverified => {
                let content = found.annotations().get(mark::DIGEST);
                let seal = self.read_seal(found).await;
                let observed = seal.zip(content).and_then(|(seal, content)| {
                    super::reuse::verified_image(&seal, self.plan.image(), content)
                });
                let is_whole = verify_content(found, seen, attempt).is_ok();
                return match observed.filter(|_| is_whole) {
                    Some(bundle) => Accepted::Yes(Observed { bundle, ..Observed::default() }),
                    None => Accepted::No(failure.clone()),
                };
            }
            _ => {}
        }
        if verify_content(found, seen, attempt).is_err() {
            return Accepted::Broken;
        }
        match compared(seen, attempt) {
            Comparison::Same(images) | Comparison::Open(images, None) => Accepted::Yes(images),
            Comparison::Open(_, Some(why)) | Comparison::Replaced(why) => Accepted::No(why),
        }
    }

    /// Finds out whether the namespace is gone or is being deleted. Returns false if the caller may
    /// not read namespaces.
    async fn is_namespace_terminating(&self) -> bool {
        let namespace = &self.request.namespace;
        let api: Api<Namespace> = Api::all(self.client.clone());
        let retrier = Retrier::new(&self.report, TIMEOUT);
        let doing = format!("read namespace {namespace}");
        match retrier.send(&doing, || api.get(namespace)).await {
            Ok(Reply::Done(found)) => found.metadata.deletion_timestamp.is_some(),
            Ok(_) => true,
            Err(_) => false,
        }
    }

    /// Returns the failure for a ConfigMap that no longer exists. If the namespace is being
    /// deleted, that is the failure.
    async fn classify_missing(&self, failure: Failure) -> Failure {
        if self.is_namespace_terminating().await {
            return super::judge::namespace_terminating(&self.request.namespace);
        }
        match failure.reason {
            Reason::ConfigMapDeleted | Reason::Namespace => failure,
            _ => {
                let message = format!("someone deleted the ConfigMap {}", self.plan.name());
                Failure::new(Reason::ConfigMapDeleted, message)
            }
        }
    }

    /// Ends the Job in place. The Job and its pods stay for the retention time of a failure.
    async fn end_job(&self, attempt: &Attempt) {
        let patch = Patch::Merge(json!({
            "metadata": {"uid": attempt.uid},
            "spec": {
                "activeDeadlineSeconds": ENDED,
                "ttlSecondsAfterFinished": ttl(self.options.retention.failure),
            },
        }));
        let api = self.api::<Job>();
        let retrier = Retrier::new(&self.report, TIMEOUT);
        let doing = format!("end Job {}", attempt.job);
        let params = PatchParams::default();
        let _ = retrier.send(&doing, || api.patch(&attempt.job, &params, &patch)).await;
    }
}

/// Whether content is accepted.
enum Accepted {
    Yes(Observed),
    /// The content may not be that of the image.
    No(Failure),
    /// The content is not what the attempt wrote.
    Broken,
}

/// Returns the patch that records a failure and, if the content `is_withdrawn`, removes the content
/// and its marks. The patch applies only if nobody has written the ConfigMap since `found` was
/// read.
fn record_patch(record: &str, found: &ConfigMap, is_withdrawn: bool) -> Value {
    let version = &found.metadata.resource_version;
    if !is_withdrawn {
        return json!({"metadata": {"resourceVersion": version, "annotations": {FAILURE: record}}});
    }
    let full = to_config_map(found);
    let all: Vec<_> = full.metadata.annotations.keys().cloned().collect();
    let kept = emptied(full).map(|emptied| emptied.metadata.annotations).unwrap_or_default();
    let removed = all.into_iter().filter(|key| !kept.contains_key(key));
    let annotations: serde_json::Map<_, _> = removed
        .map(|key| (key, Value::Null))
        .chain([(FAILURE.to_owned(), Value::from(record))])
        .collect();
    json!({
        "metadata": {"resourceVersion": version, "annotations": annotations},
        "data": null,
        "binaryData": null,
    })
}

/// Waits until the Job can no longer write the ConfigMap, or has already written it.
async fn wait_for_job_end(watch: &mut Watch, attempt: &Attempt) {
    let end = Instant::now() + STOPPING;
    loop {
        let seen = &watch.seen;
        let is_over = match &seen.job {
            Presence::There(job) => is_finished(job),
            Presence::Gone => true,
            Presence::Unknown => false,
        };
        let is_marked =
            seen.config_map.object().is_none_or(|there| bears_mark(there, &attempt.uid));
        if is_over || is_marked {
            return;
        }
        let Ok(Ok(())) = timeout_at(end, watch.changed()).await else { return };
    }
}

/// Waits until the pod of the exited container has ended, which is a moment later. Ending the Job
/// deletes the pods that are still running, and this pod is evidence.
async fn wait_for_pod_exit(watch: &mut Watch, failure: &Failure) {
    let pod = failure.evidence.object.as_deref().and_then(|object| object.strip_prefix("pod/"));
    let Some(pod) = pod.filter(|_| failure.evidence.exit_code.is_some()) else { return };
    let end = Instant::now() + ENDING;
    while watch.seen.pods.get(pod).is_some_and(|pod| !has_failed(pod)) {
        let Ok(Ok(())) = timeout_at(end, watch.changed()).await else { return };
    }
}
