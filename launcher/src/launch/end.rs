//! The end of an attempt that failed: the evidence is kept, and the Job ended where it stands.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod, Secret};
use kube::api::{ListParams, LogParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use unlade_bundle::Limits;
use unlade_config_map::{decode, emptied, mark, record::FAILURE};

use super::Launch;
use super::attempt::LaunchBaseline;
use super::image::{Comparison, Observed};
use super::judge::condition::{ENDED, is_finished};
use super::judge::pod::has_failed;
use super::judge::{Attempt, Written, bears_mark, compared};
use super::next::{EndJob, Ending, Next, Then, next};
use super::patience::{Answer, Patience};
use super::record::Record;
use super::watch::{Presence, Seen, Watch};
use crate::config_map::of_format;
use crate::failure::{LOG_LINES, of_pull_secret};
use crate::object::ttl;
use crate::{Failure, Reason, failure};

/// How long the end may take. What fails is known by then; nothing of this is worth more time.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a Job may take to end: its controller ends the pods, which have half a minute.
const STOPPING: Duration = Duration::from_secs(45);

/// How long a pod may take to end once its container has.
const ENDING: Duration = Duration::from_secs(2);

/// Most bytes of a log that are asked for.
const LOG_SIZE: i64 = 16 << 10;

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
        let what_follows = |reason| next(ending, Some(attempt.ownership), reason, may_inject);
        if ending == Ending::Superseded {
            let then = what_follows(failure.reason).then;
            return Err((failure, then));
        }
        let failure = failure.under(attempt.wanted.strategy);
        let failure = self.with_log(self.with_pull_secrets(failure).await).await;
        let Next { then, record, end_job } = what_follows(failure.reason);
        if end_job == EndJob::BeforeRecording {
            self.end(attempt).await;
            let_job_end(watch, attempt).await;
        }
        let failure = self.keep(baseline, Some((attempt, &watch.seen)), failure, record).await;
        let failure = match failure {
            Ok(written) => return Ok(written),
            Err(failure) => failure,
        };
        if end_job == EndJob::AfterRecording {
            let_pod_end(watch, &failure).await;
            self.end(attempt).await;
        }
        Err((failure, then))
    }

    /// Records and returns a failure that came before the first attempt. It is not recorded while
    /// one of `jobs` is filling the ConfigMap, because the creator of that Job may have more
    /// rights.
    pub(super) async fn recorded(
        &self,
        baseline: &LaunchBaseline,
        jobs: &[Job],
        failure: Failure,
    ) -> Failure {
        let is_alone = matches!(self.under_way(baseline, jobs), Ok(None));
        let record = next(Ending::Fatal, None, failure.reason, false).record;
        let recorded = self.keep(baseline, None, failure.clone(), record && is_alone).await;
        recorded.err().unwrap_or(failure)
    }

    /// What is wrong with the pull secrets, where the registry refuses and none of them is of use.
    /// Who may not read them is told what the kubelet says of them.
    async fn with_pull_secrets(&self, failure: Failure) -> Failure {
        let pod = &self.options.pod;
        if failure.reason != Reason::Unauthorized || pod.pull_secrets.is_empty() {
            return failure;
        }
        if let Some(missing) = self.missing_pull_secret(&failure).await {
            return missing;
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

    /// The event by which the kubelet tells that a pull secret is missing; it may come after the
    /// refusal.
    async fn missing_pull_secret(&self, failure: &Failure) -> Option<Failure> {
        let name = failure.evidence.object.as_ref()?.strip_prefix("pod/")?;
        let patience = Patience::of(&self.report, PATIENCE);
        let (pods, events) = (self.api::<Pod>(), self.api::<Event>());
        let doing = format!("read Pod {name}");
        let pod = patience.ask(&doing, || pods.get(name)).await.ok()?.done()?;
        let params = ListParams::default().fields(&format!("involvedObject.name={name}"));
        let doing = format!("list events of Pod {name}");
        let events = patience.ask(&doing, || events.list(&params)).await.ok()?.done()?.items;
        failure::of_pod(&pod, &events).filter(|found| found.reason == Reason::NoPullSecret)
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

    /// Records the failure on the ConfigMap if it `is_recorded`, unless the ConfigMap was filled,
    /// and removes content that came from another or an unknown image. Returns the failure to
    /// report.
    async fn keep(
        &self,
        baseline: &LaunchBaseline,
        attempt: Option<(&Attempt, &Seen)>,
        mut failure: Failure,
        is_recorded: bool,
    ) -> Result<Box<Written>, Failure> {
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
            let marked = attempt.filter(|(attempt, _)| bears_mark(&found, &attempt.uid));
            if let Some((attempt, seen)) = marked {
                match self.accepted(&found, attempt, seen, &failure).await {
                    Accepted::Yes(images) => {
                        return Ok(Box::new(Written { config_map: found, images }));
                    }
                    Accepted::No(why) => failure = why.under(attempt.wanted.strategy),
                    Accepted::Broken => {}
                }
            }
            if found.metadata.deletion_timestamp.is_some() {
                return Err(self.of_missing(failure).await);
            }
            let is_withdrawn = marked.is_some() && failure.reason.is_of_image();
            // Meanwhile someone else has filled the ConfigMap, or created another one of this name.
            let is_others = found.annotations().get(mark::ATTEMPT) != baseline.written_by.as_ref()
                || found.uid() != baseline.facts.config_map_uid;
            if (is_others && !is_withdrawn) || !is_recorded {
                return Err(failure);
            }
            let attempt = attempt.map(|it| it.0);
            // The first who saw it saw the cause, and not its consequences.
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
            let patch = Patch::Merge(noting(&record, &found, is_withdrawn));
            let doing = format!("annotate ConfigMap {}", self.plan.name());
            let params = PatchParams::default();
            let request = || api.patch(self.plan.name(), &params, &patch);
            match patience.ask(&doing, request).await {
                Ok(Answer::Changed) => {}
                Err(_) if is_withdrawn => {
                    let name = self.plan.name();
                    let hint = format!("delete the ConfigMap {name}: it still holds the content");
                    return Err(failure.hinted(Some(hint)));
                }
                Ok(_) | Err(_) => return Err(failure),
            }
        }
    }

    /// Whether content that bears the mark of the attempt is taken, whatever else went wrong.
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
                let seal = self.sealed(found).await;
                let observed = seal.zip(content).and_then(|(seal, content)| {
                    super::reuse::taken(&seal, self.plan.image(), content)
                });
                let is_whole = decode(&[of_format(found)], &Limits::default()).is_ok();
                return match observed.filter(|_| is_whole) {
                    Some(bundle) => Accepted::Yes(Observed { bundle, ..Observed::default() }),
                    None => Accepted::No(failure.clone()),
                };
            }
            _ => {}
        }
        if decode(&[of_format(found)], &Limits::default()).is_err() {
            return Accepted::Broken;
        }
        match compared(seen, attempt) {
            Comparison::Same(images) | Comparison::Open(images, None) => Accepted::Yes(images),
            Comparison::Open(_, Some(why)) | Comparison::Replaced(why) => Accepted::No(why),
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
    async fn end(&self, attempt: &Attempt) {
        let patch = Patch::Merge(json!({
            "metadata": {"uid": attempt.uid},
            "spec": {
                "activeDeadlineSeconds": ENDED,
                "ttlSecondsAfterFinished": ttl(self.options.retention.failure),
            },
        }));
        let api = self.api::<Job>();
        let patience = Patience::of(&self.report, PATIENCE);
        let doing = format!("end Job {}", attempt.job);
        let params = PatchParams::default();
        let _ = patience.ask(&doing, || api.patch(&attempt.job, &params, &patch)).await;
    }
}

/// Whether content is taken.
enum Accepted {
    Yes(Observed),
    /// It isn't known to be that of the image.
    No(Failure),
    /// It isn't what was written.
    Broken,
}

/// The patch that writes `record` down, and takes content and marks away where it `is_withdrawn`. It
/// applies only if nothing was written since `found` was read.
fn noting(record: &str, found: &ConfigMap, is_withdrawn: bool) -> Value {
    let version = &found.metadata.resource_version;
    if !is_withdrawn {
        return json!({"metadata": {"resourceVersion": version, "annotations": {FAILURE: record}}});
    }
    let full = of_format(found);
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

/// Waits until nothing of the Job can write any more, or has written already.
async fn let_job_end(watch: &mut Watch, attempt: &Attempt) {
    let end = Instant::now() + STOPPING;
    loop {
        let seen = &watch.seen;
        let is_over = match &seen.job {
            Presence::There(job) => is_finished(job),
            Presence::Gone => true,
            Presence::Unknown => false,
        };
        let is_marked = seen.config_map.there().is_none_or(|there| bears_mark(there, &attempt.uid));
        if is_over || is_marked {
            return;
        }
        let Ok(Ok(())) = timeout_at(end, watch.changed()).await else { return };
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
