//! [`Judge`]: derives steps and a conclusion from everything that was observed of an attempt and
//! from the time. It performs no I/O.

mod budget;
pub(crate) mod condition;
pub(super) mod pod_progress;
mod written;

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;
use unlade_diagnose::worst;

use super::decision::{AttemptEnd, JobOwnership};
use super::image::{Comparison, Observed, Sighting, Wanted, compare};
use super::watch::{Presence, Seen};
use crate::record::FailureRecord;
use crate::strategy::{WithPod, keeps_volume};
use crate::{Failure, Reason, Step, Strategy};

pub(super) use budget::{Budget, Phase};
pub(super) use written::{bears_mark, compared, verify_content};

/// How long an attempt may take before its events are watched. A launch without problems does not
/// need them.
const QUIET: Duration = Duration::from_secs(1);

#[cfg(test)]
pub(super) mod tests;

/// A Job and its pods.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attempt {
    /// The name of the Job.
    pub(super) job: String,
    /// The uid of the Job, which identifies the attempt.
    pub(super) uid: String,
    /// The images that the attempt should use.
    pub(super) wanted: Wanted,
    /// The name of the ConfigMap to fill.
    pub(super) config_map: String,
    /// The uid of the ConfigMap to fill.
    pub(super) config_map_uid: String,
    /// Which launch created the Job.
    pub(super) ownership: JobOwnership,
}

/// The judgement of an attempt.
#[derive(Debug)]
pub(super) struct Judgement {
    /// The steps since the last judgement.
    pub(super) steps: Vec<Step>,
    pub(super) state: State,
}

/// Whether an attempt has ended.
#[derive(Debug)]
pub(super) enum State {
    Ended(Conclusion),
    Waiting(Waiting),
}

/// How an attempt ended.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "each lives for a moment")]
pub(super) enum Conclusion {
    /// The ConfigMap has the mark of the attempt, and the content came from the requested image.
    Written(Box<Written>),
    /// The attempt failed, or this launch stops waiting for it.
    Failed(AttemptEnd, Failure),
}

/// A ConfigMap that an attempt filled.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) config_map: ConfigMap,
    /// The images that the attempt used.
    pub(super) images: Observed,
}

/// What an attempt waits for.
#[derive(Debug)]
pub(super) struct Waiting {
    /// The problem that it waits for, or `None` if the attempt makes progress.
    pub(super) on: Option<Box<Failure>>,
    /// When to judge again even if nothing changes.
    pub(super) until: Duration,
    /// The uid of the object whose events to watch.
    pub(super) events_of: Option<String>,
    /// A fatal failure that only an event reports. Anyone who may create events can write anything
    /// in them, so something else has to confirm the failure.
    pub(super) unconfirmed: Option<Box<Failure>>,
}

/// Judges one attempt. The budget is that of the whole launch.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    attempt: &'a Attempt,
    budget: &'a mut Budget,
    began: Duration,
    /// When the mark of the attempt was first observed.
    written: Option<Duration>,
    /// The resource version of the ConfigMap that was decoded last, and the digest of its content.
    decoded: Option<(Option<String>, Option<String>)>,
    /// The uid of the pod whose steps were reported last.
    reported_pod: String,
    reported: BTreeSet<&'static str>,
}

impl<'a> Judge<'a> {
    /// Returns the judge of an attempt that began at `now`.
    pub(super) fn new(attempt: &'a Attempt, budget: &'a mut Budget, now: Duration) -> Self {
        budget.enter(Phase::Schedule, now);
        Self {
            attempt,
            budget,
            began: now,
            written: None,
            decoded: None,
            reported_pod: String::new(),
            reported: BTreeSet::new(),
        }
    }

    /// Judges what was `seen` by the time `now`, which is relative to the beginning of the launch.
    pub(super) fn judge(&mut self, seen: &Seen, now: Duration) -> Judgement {
        let pods = pod_progress::attempt_pods(seen, self.attempt);
        let current = pods.iter().find(|pod| !pod_progress::has_failed(pod)).copied();
        let steps = current.map(|pod| self.new_steps(pod, seen)).unwrap_or_default();
        match current {
            Some(pod) => self.budget.enter(pod_progress::phase(pod), now),
            None if pods.is_empty() => self.budget.enter(Phase::Schedule, now),
            // Until there is another pod, the time counts for the phase in which the last one
            // failed.
            None => {}
        }
        let conclusion = self.judge_images(seen).or_else(|| self.judge_content(seen, now));
        if let Some(state) = conclusion {
            return Judgement { steps, state };
        }
        let mut unconfirmed = None;
        let conclusion =
            self.judge_interference(seen).or_else(|| self.judge_end(seen, &pods, &mut unconfirmed));
        let state = match conclusion {
            Some(conclusion) => State::Ended(conclusion),
            None => self.judge_wait(seen, current, &pods, unconfirmed, now),
        };
        Judgement { steps, state }
    }

    /// Judges changes to the objects by others.
    fn judge_interference(&self, seen: &Seen) -> Option<Conclusion> {
        let job = &self.attempt.job;
        if let Presence::There(namespace) = &seen.namespace
            && namespace.metadata.deletion_timestamp.is_some()
        {
            return Some(Conclusion::Failed(
                AttemptEnd::Fatal,
                namespace_terminating(&namespace.name_any()),
            ));
        }
        let failure = match (&seen.config_map, &seen.job) {
            (Presence::Gone, _) => config_map_deleted(&self.attempt.config_map),
            (Presence::There(there), _)
                if there.metadata.uid.as_ref() != Some(&self.attempt.config_map_uid) =>
            {
                let name = there.name_any();
                let message =
                    format!("someone deleted the ConfigMap {name} and created another one");
                Failure::new(Reason::ConfigMapDeleted, message)
            }
            (Presence::There(there), _) if there.metadata.deletion_timestamp.is_some() => {
                config_map_deleted(&there.name_any())
            }
            (Presence::There(there), _) if there.immutable == Some(true) => {
                let message = format!("someone made the ConfigMap {} immutable", there.name_any());
                Failure::new(Reason::ConfigMapImmutable, message)
            }
            (_, Presence::Gone) => {
                Failure::new(Reason::JobDeleted, format!("someone deleted the Job {job}"))
            }
            (_, Presence::There(there))
                if there.metadata.deletion_timestamp.is_some()
                    || there.metadata.uid.as_ref() != Some(&self.attempt.uid) =>
            {
                Failure::new(Reason::JobDeleted, format!("someone deleted the Job {job}"))
            }
            // Only possible if the options require an image volume, because there was no dry run
            // then.
            (_, Presence::There(there))
                if self.attempt.wanted.strategy == Strategy::ImageVolume
                    && !keeps_volume(there.pod(), &self.attempt.wanted.volume) =>
            {
                let message = format!("the API server drops the image volume of the Job {job}");
                Failure::new(Reason::VolumeUnsupported, message)
            }
            _ => return None,
        };
        Some(Conclusion::Failed(AttemptEnd::Fatal, failure))
    }

    /// Judges the end of the Job or of its pods.
    fn judge_end(
        &self,
        seen: &Seen,
        pods: &[&Pod],
        unconfirmed: &mut Option<Failure>,
    ) -> Option<Conclusion> {
        let of_pods: Vec<_> = pods.iter().filter_map(|pod| classify_pod(pod, seen)).collect();
        // Events only explain the state of pods and Jobs. An event alone concludes nothing.
        let is_shown = |pod: &&Pod| {
            unlade_diagnose::classify_pod(pod, &[]).is_some_and(|failure| !failure.is_transient)
        };
        if let Some(failure) = of_pods.iter().find(|failure| !failure.is_transient) {
            if pods.iter().any(is_shown) {
                return Some(Conclusion::Failed(AttemptEnd::Fatal, failure.clone()));
            }
            *unconfirmed = Some(failure.clone());
        }
        let job = seen.job.object()?;
        let name = &self.attempt.job;
        if condition::is_complete(job) {
            let message = format!(
                "the Job {name} is complete, but the ConfigMap does not have the mark of this Job: someone else has written the ConfigMap since then"
            );
            return Some(Conclusion::Failed(
                AttemptEnd::Retryable,
                Failure::new(Reason::Conflict, message),
            ));
        }
        if !condition::has_failed(job) {
            // Only an event says why a Job has no pod.
            let classify_job = classify_job(job, seen);
            if let Some(failure) =
                classify_job.filter(|failure| pods.is_empty() && !failure.is_transient)
            {
                *unconfirmed = Some(failure);
            }
            return None;
        }
        // Another launcher may have ended the Job and recorded evidence that no longer exists.
        let recorded = FailureRecord::read(seen.config_map.object(), &self.attempt.uid);
        let is_recorded = recorded.is_some();
        let failure = recorded
            .map(|record| record.failure)
            .or_else(|| worst(of_pods.into_iter().chain(classify_job(job, seen))))
            .unwrap_or_else(|| {
                Failure::new(Reason::Killed, format!("the Job {name} failed without a reason"))
            });
        let shown = pods.iter().filter_map(|pod| unlade_diagnose::classify_pod(pod, &[]));
        let shown = worst(shown.chain(unlade_diagnose::classify_job(job, &[])));
        let may_help =
            may_help(&failure) || (!is_recorded && shown.is_some_and(|it| may_help(&it)));
        let ending = if may_help { AttemptEnd::Retryable } else { AttemptEnd::Fatal };
        Some(Conclusion::Failed(ending, failure))
    }

    fn judge_wait(
        &self,
        seen: &Seen,
        current: Option<&Pod>,
        pods: &[&Pod],
        unconfirmed: Option<Failure>,
        now: Duration,
    ) -> State {
        // Without a running pod, the last failed pod has the reason, or else the Job.
        let of_pods = || pods.first().and_then(|pod| classify_pod(pod, seen));
        let classify_job = || seen.job.object().and_then(|job| classify_job(job, seen));
        let on = match current {
            Some(pod) => classify_pod(pod, seen),
            None => of_pods().or_else(classify_job),
        };
        let on = on.or_else(|| seen.trouble.clone());
        if self.budget.left(now).is_zero() {
            let failure = self.budget.deadline(&self.attempt.job, on);
            return State::Ended(Conclusion::Failed(AttemptEnd::DeadlineExceeded, failure));
        }
        if self.attempt.ownership == JobOwnership::Other
            && let Some(on) = on.as_ref().filter(|on| on.reason.depends_on_options())
        {
            return State::Ended(Conclusion::Failed(AttemptEnd::Superseded, on.clone()));
        }
        let quiet_until = self.began + QUIET;
        let end = now.saturating_add(self.budget.left(now));
        let is_quiet = on.is_none() && now < quiet_until;
        let uid = current.map_or_else(|| Some(self.attempt.uid.clone()), ResourceExt::uid);
        State::Waiting(Waiting {
            on: on.map(Box::new),
            until: if is_quiet { end.min(quiet_until) } else { end },
            events_of: uid.filter(|_| !is_quiet),
            unconfirmed: unconfirmed.map(Box::new),
        })
    }

    /// Returns the steps of a pod that have not been reported yet.
    fn new_steps(&mut self, pod: &Pod, seen: &Seen) -> Vec<Step> {
        let uid = pod.uid().unwrap_or_default();
        if self.reported_pod != uid {
            self.reported_pod = uid;
            self.reported.clear();
        }
        let mut steps = Vec::new();
        let mut report = |name, step: Option<Step>| {
            if let Some(step) = step
                && self.reported.insert(name)
            {
                steps.push(step);
            }
        };
        let node = pod_progress::node(pod).map(str::to_owned);
        report("scheduled", node.map(|node| Step::Scheduled { node }));
        let wanted = &self.attempt.wanted;
        let events = seen.events.about(pod.metadata.uid.as_ref());
        let pulled = pod_progress::pulled(pod, wanted, &events);
        let mut sighting = Sighting::default();
        sighting.note(pod);
        let images = match compare(wanted, None, &[&sighting]) {
            Comparison::Same(images) | Comparison::Open(images, _) => images,
            Comparison::Replaced(_) => Observed::default(),
        };
        for (name, image, observed) in [
            ("changed bundle", Some(&wanted.bundle), &images.bundle),
            ("changed tool", wanted.tool.as_ref(), &images.tool),
        ] {
            let admitted = observed.reference.as_ref();
            let changed = image.zip(admitted).filter(|(image, it)| image.as_str() != it.as_str());
            let step = changed.map(|(image, admitted)| Step::ImageChanged {
                requested: image.to_string(),
                admitted: admitted.clone(),
            });
            report(name, step);
        }
        report("tool", pulled.tool.then_some(Step::ToolPulled));
        let digest = images.bundle.digest;
        report("bundle", pulled.bundle.then_some(Step::BundlePulled { digest }));
        report("running", pod_progress::has_started(pod).then_some(Step::Running));
        steps
    }
}

/// Returns the failure for a namespace that is being deleted together with its objects.
pub(super) fn namespace_terminating(name: &str) -> Failure {
    Failure::new(Reason::Namespace, format!("the namespace {name} is being deleted"))
}

/// Returns the failure for a ConfigMap that was deleted during the launch.
pub(super) fn config_map_deleted(name: &str) -> Failure {
    let message = format!("someone deleted the ConfigMap {name}");
    Failure::new(Reason::ConfigMapDeleted, message)
}

/// Checks whether another attempt may succeed after this failure.
pub(super) fn may_help(failure: &Failure) -> bool {
    let is_over = matches!(
        failure.reason,
        Reason::Deadline
            | Reason::JobDeleted
            | Reason::ConfigMapDeleted
            | Reason::Namespace
            | Reason::Cancelled
    );
    failure.is_transient && !is_over
}

fn classify_pod(pod: &Pod, seen: &Seen) -> Option<Failure> {
    unlade_diagnose::classify_pod(pod, &seen.events.about(pod.metadata.uid.as_ref()))
}

fn classify_job(job: &Job, seen: &Seen) -> Option<Failure> {
    unlade_diagnose::classify_job(job, &seen.events.about(job.metadata.uid.as_ref()))
}
