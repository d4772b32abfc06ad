//! Answers the questions of the [course](super::course) of an attempt with requests: they collect
//! and record the evidence of a failure, and end the Job in place. They are retried only briefly,
//! because the failure is already known.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod, Secret};
use kube::Api;
use kube::api::{ListParams, LogParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::timeout;
use unlade_diagnose::{MAX_LOG_LINES, classify_pod, classify_pull_secret, unretrieved_secrets};

use super::Launch;
use super::attempt::LaunchBaseline;
use super::course::recording::{NextRequest, Recording, Returned};
use super::course::{Answer, Question};
use super::decision::{AttemptEnd, decide};
use super::judge::condition::ENDED;
use super::judge::{Attempt, Written};
use super::watch::Seen;
use crate::call::{BRIEF, Reply, backoff};
use crate::object::ttl;
use crate::{Failure, Reason};

/// The maximum size of a requested log, in bytes.
const MAX_LOG: i64 = 16 << 10;

/// The maximum number of events of a pod that are read.
const MAX_EVENTS: u32 = 100;

impl Launch<'_> {
    /// Answers a question of the course of an attempt.
    pub(super) async fn answer(
        &self,
        question: Question<'_>,
        attempt: &Attempt,
        seen: &Seen,
    ) -> Answer {
        match question {
            Question::Confirm(failure) => {
                let is_confirmed = self.confirms(&failure, seen.job.object()).await;
                Answer::Confirmed(is_confirmed.then_some(failure))
            }
            Question::Explain(failure) => {
                let failure = self.with_pull_secrets(failure, seen).await;
                Answer::Explained(self.with_log(failure).await)
            }
            Question::EndJob => {
                _ = self.end_job(attempt).await;
                Answer::JobEnded
            }
            Question::Record(recording) => {
                Answer::Recorded(self.record_failure(*recording, seen).await)
            }
        }
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
        let record = decide(AttemptEnd::Fatal, None, failure.reason, false).record;
        let recording =
            Recording::new(&self.plan, baseline, None, failure.clone(), record && is_alone);
        self.record_failure(recording, &Seen::default()).await.err().unwrap_or(failure)
    }

    /// Explains a failure for which the registry denied access: returns what is wrong with the pull
    /// secrets, if they are the cause.
    ///
    /// A slow kubelet also reports that it failed to retrieve a Secret that exists. For the Secret
    /// of this launch, which does exist, the report makes the failure transient. For a given pull
    /// secret, the launch reads the Secret, and relies on the report alone only if it may not read
    /// it.
    async fn with_pull_secrets(&self, failure: Failure, seen: &Seen) -> Failure {
        let names = &self.launcher.options.pod.pull_secrets;
        let is_denied = matches!(failure.reason, Reason::Unauthorized | Reason::NoPullSecret);
        // Some registries respond to requests without credentials that the image does not exist.
        // The Secret of this launch existed before the pod, so the event means that the kubelet was
        // too slow. The launch may lack the permission to read the Secret.
        let lent = self.lent_secret_name();
        let is_of_lent = lent.is_some() && (is_denied || failure.reason == Reason::ImageNotFound);
        let listed = if is_of_lent { self.pod_events(&failure, seen).await } else { None };
        if let (Some(secret), Some((_, events))) = (&lent, &listed)
            && events.iter().filter_map(unretrieved_secrets).any(|it| it.contains(secret.as_str()))
        {
            let hint = "launch again: a busy node did not retrieve the credentials in time";
            return failure.with_transience(true).with_advice(hint, &[]);
        }
        // With an image volume the same container waits for both images, so only the message tells
        // them apart.
        let (tool, bundle) = (self.plan.tool_image(), self.plan.image());
        let is_of_tool = failure.message.contains(tool.as_str());
        let image = if is_of_tool { tool } else { bundle };
        if !is_denied || names.is_empty() {
            return failure;
        }
        // If the launch lends credentials for the image, the registry has denied them, and a given
        // pull secret for other images is not the cause.
        let is_covered = !is_of_tool && lent.is_some();
        let failure = match listed {
            Some((pod, events)) if is_covered => denial(failure, pod, events),
            _ => failure,
        };
        let api = self.api::<Secret>();
        let retrier = self.brief_retrier();
        let mut problems = Vec::new();
        for name in names {
            let doing = format!("read the Secret {name}");
            let Ok(answer) = retrier.send(&doing, || api.get(name)).await else {
                if is_covered {
                    return failure;
                }
                let found = self.unretrieved_pull_secret(&failure, seen).await;
                // The caller may not read the secret, so the launcher cannot know whether it
                // exists.
                let hint = "create the secret, or run the same command again if it exists";
                return found.map_or(failure, |found| found.with_advice(hint, &[]));
            };
            problems.extend(classify_pull_secret(name, answer.value().as_ref(), image));
        }
        if is_covered || problems.len() < names.len() {
            if !problems.is_empty() {
                return failure;
            }
            let failure = self.unretrieved_pull_secret(&failure, seen).await.unwrap_or(failure);
            if failure.reason != Reason::NoPullSecret {
                return failure;
            }
            // All secrets exist, so the kubelet may retrieve them for the next pod.
            let hint =
                "launch again: the pull secrets exist, and a busy node may retrieve them later";
            return failure.with_transience(true).with_advice(hint, &[]);
        }
        let Some(mut first) = problems.into_iter().next() else { return failure };
        first.evidence.message = failure.evidence.message;
        first
    }

    /// Returns the failure that includes the kubelet's event about a pull secret.
    async fn unretrieved_pull_secret(&self, failure: &Failure, seen: &Seen) -> Option<Failure> {
        let (pod, events) = self.pod_events(failure, seen).await?;
        classify_pod(pod, &events).filter(|found| found.reason == Reason::NoPullSecret)
    }

    /// Returns the failed pod, and its events. They are listed, because an event may come after the
    /// failure that it explains.
    async fn pod_events<'s>(
        &self,
        failure: &Failure,
        seen: &'s Seen,
    ) -> Option<(&'s Pod, Vec<Event>)> {
        let name = failure.evidence.object.as_ref()?.pod_name()?;
        let pod = seen.pods.get(name)?;
        let api = self.api::<Event>();
        let retrier = self.brief_retrier();
        let fields = format!("involvedObject.name={name}");
        let params = ListParams::default().fields(&fields).limit(MAX_EVENTS);
        let doing = format!("list the events of the Pod {name}");
        let events = retrier.send(&doing, || api.list(&params)).await.ok()?.value()?.items;
        Some((pod, events))
    }

    /// Adds the end of the log of the failed container to the failure.
    async fn with_log(&self, failure: Failure) -> Failure {
        let evidence = &failure.evidence;
        let (Some(object), Some(container), Some(_)) =
            (&evidence.object, &evidence.container, evidence.exit_code)
        else {
            return failure;
        };
        let Some(pod) = object.pod_name() else { return failure };
        let params = LogParams {
            container: Some(container.clone()),
            tail_lines: i64::try_from(MAX_LOG_LINES).ok(),
            limit_bytes: Some(MAX_LOG),
            ..LogParams::default()
        };
        let pods = self.api::<Pod>();
        match timeout(BRIEF, pods.logs(pod, &params)).await {
            Ok(Ok(log)) => failure.with_log(log.lines()),
            // The termination message is still available.
            _ => failure,
        }
    }

    /// Carries out what the recording of a failure decides.
    pub(super) async fn record_failure(
        &self,
        mut recording: Recording<'_>,
        seen: &Seen,
    ) -> Result<Box<Written>, Failure> {
        let api = self.api::<ConfigMap>();
        let retrier = self.brief_retrier();
        let name = self.plan.name();
        let mut waits = backoff::REQUEST.waits();
        let mut returned = None;
        loop {
            returned = Some(match recording.step(seen, returned.take()) {
                NextRequest::ReadConfigMap => {
                    let doing = format!("read the ConfigMap {name}");
                    Returned::ConfigMap(retrier.send(&doing, || api.get(name)).await)
                }
                NextRequest::ReadSeal(found) => {
                    let seal = self.read_seal(&found).await;
                    Returned::Seal(found, seal)
                }
                NextRequest::ReadNamespace => {
                    Returned::Namespace { is_terminating: self.is_namespace_terminating().await }
                }
                NextRequest::Patch(patch) => {
                    let reply = self.annotate_config_map(&retrier, &mut waits, patch).await;
                    Returned::Patch(reply)
                }
                NextRequest::Done(result) => return result,
            });
        }
    }

    /// Finds out whether the namespace is gone or is being deleted. Returns false if the caller may
    /// not read namespaces.
    async fn is_namespace_terminating(&self) -> bool {
        let namespace = &self.request.namespace;
        let api: Api<Namespace> = Api::all(self.launcher.client.clone());
        let retrier = self.brief_retrier();
        let doing = format!("read the namespace {namespace}");
        match retrier.send(&doing, || api.get(namespace)).await {
            Ok(Reply::Done(found)) => found.metadata.deletion_timestamp.is_some(),
            Ok(_) => true,
            Err(_) => false,
        }
    }

    /// Ends the Job in place. The Job and its pods stay for the retention time of a failure.
    /// Returns whether the Job ends.
    pub(super) async fn end_job(&self, attempt: &Attempt) -> bool {
        let patch = Patch::Merge(json!({
            "metadata": {"uid": attempt.uid},
            "spec": {
                "activeDeadlineSeconds": ENDED,
                "ttlSecondsAfterFinished": ttl(self.launcher.options.retention.failure),
            },
        }));
        let api = self.api::<Job>();
        let retrier = self.brief_retrier();
        let doing = format!("end the Job {}", attempt.job);
        let params = PatchParams::default();
        let reply = retrier.send(&doing, || api.patch(&attempt.job, &params, &patch)).await;
        matches!(reply, Ok(Reply::Done(_) | Reply::Missing))
    }
}

/// Returns the failure without what the kubelet reports about pull secrets.
fn denial(failure: Failure, pod: &Pod, mut events: Vec<Event>) -> Failure {
    if failure.reason != Reason::NoPullSecret {
        return failure;
    }
    events.retain(|event| unretrieved_secrets(event).is_none());
    classify_pod(pod, &events).unwrap_or(failure)
}
