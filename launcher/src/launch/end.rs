//! The end of an attempt that failed: the evidence is kept, and the Job ended where it stands.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod, Secret};
use kube::api::{ListParams, LogParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};
use unlade_format::record::FAILURE;
use unlade_format::{Limits, decode, emptied, mark};

use super::Launch;
use super::attempt::Ground;
use super::image::{Comparison, Observed};
use super::judge::condition::{ENDED, is_finished};
use super::judge::pod::has_failed;
use super::judge::{Attempt, Standing, Verdict, Written, bears_mark, compared};
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
    /// The verdict, once everything about it is done. What looked like a failure is none if the
    /// ConfigMap bears the mark after all: the watches aren't in step with each other.
    pub(super) async fn settle(
        &self,
        ground: &Ground,
        attempt: Option<(&Attempt, &mut Watch)>,
        verdict: Verdict,
    ) -> Verdict {
        let is_late = matches!(verdict, Verdict::Late(_));
        let (failure, told): (_, fn(Failure) -> Verdict) = match verdict {
            Verdict::Written(_) | Verdict::Leave(_) => return verdict,
            Verdict::Over(failure) => (failure, Verdict::Over),
            Verdict::Again(failure) => (failure, Verdict::Again),
            Verdict::Late(failure) => (failure, Verdict::Late),
        };
        let failure = self.with_log(self.with_pull_secrets(failure).await).await;
        // Who made the Job may be more patient, be allowed more, and have other options: what
        // isn't a fact of the bundle is theirs to find out. The Job's own deadline stands behind.
        let is_mine = match attempt.as_ref().map(|it| it.0.standing) {
            None | Some(Standing::Own) => true,
            Some(Standing::Same) => !is_late && !failure.reason.is_of_launcher(),
            Some(Standing::Other) => {
                !is_late && !failure.reason.is_of_launcher() && !failure.reason.depends_on_options()
            }
        };
        let Some((attempt, watch)) = attempt else {
            return match self.keep(ground, None, failure, is_mine).await {
                Ok(written) => Verdict::Written(written),
                Err(failure) => told(failure),
            };
        };
        let is_of_image = failure.reason.is_of_image();
        if is_of_image && is_mine {
            // First, so that nothing is written after the content is taken away.
            self.end(attempt, &failure).await;
            let_job_end(watch, attempt).await;
        }
        let failure = match self.keep(ground, Some((attempt, &watch.seen)), failure, is_mine).await
        {
            Ok(written) => return Verdict::Written(written),
            Err(failure) => failure,
        };
        if is_mine && !is_of_image {
            let_pod_end(watch, &failure).await;
            self.end(attempt, &failure).await;
        }
        told(failure)
    }

    /// A failure before there was an attempt, once it is written down.
    pub(super) async fn kept(&self, ground: &Ground, failure: Failure) -> Failure {
        self.keep(ground, None, failure.clone(), true).await.err().unwrap_or(failure)
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

    /// Writes the failure down on the ConfigMap if it is to be written, unless that is filled, and
    /// takes content away that came from another image, or from one that nobody knows. Gives what is
    /// to be told.
    async fn keep(
        &self,
        ground: &Ground,
        attempt: Option<(&Attempt, &Seen)>,
        mut failure: Failure,
        is_written_down: bool,
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
                    Accepted::No(why) => failure = why,
                    Accepted::Broken => {}
                }
            }
            if found.metadata.deletion_timestamp.is_some() {
                return Err(self.of_missing(failure).await);
            }
            let is_withdrawn = marked.is_some() && failure.reason.is_of_image();
            // Someone else has filled it meanwhile, or fills it with another image.
            let is_others = found.annotations().get(mark::ATTEMPT) != ground.written_by.as_ref()
                || failure.reason == Reason::NameTaken;
            if (is_others && !is_withdrawn) || !is_written_down {
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
    async fn end(&self, attempt: &Attempt, failure: &Failure) {
        let is_gone = matches!(
            failure.reason,
            Reason::JobDeleted | Reason::ConfigMapDeleted | Reason::Namespace
        );
        if is_gone {
            return;
        }
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
