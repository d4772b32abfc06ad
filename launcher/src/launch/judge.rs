//! What to make of everything that was observed of an attempt. Pure: objects and the time in,
//! steps and a verdict out.

mod budget;
pub(crate) mod condition;
pub(super) mod pod;
mod written;

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::ResourceExt;

use super::image::{Comparison, Observed, Sighting, Wanted, compare};
use super::next::{Ending, JobOwnership};
use super::record::Record;
use super::watch::{Presence, Seen};
use crate::strategy::{WithPod, keeps_volume};
use crate::{Failure, Reason, Step, Strategy, failure};

pub(super) use budget::{Budget, Phase};
pub(super) use written::{bears_mark, compared};

/// How long things may take before events are asked for. Where everything goes well they aren't.
const QUIET: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;

/// One Job and its pods.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Attempt {
    /// The Job's name.
    pub(super) job: String,
    /// The Job's uid: the attempt's id.
    pub(super) uid: String,
    /// The images that it is to use.
    pub(super) wanted: Wanted,
    /// The uid of the ConfigMap that is to be filled.
    pub(super) config_map_uid: String,
    /// Whose Job it is.
    pub(super) ownership: JobOwnership,
}

/// What is known of an attempt.
#[derive(Debug)]
pub(super) struct Judgement {
    /// What has happened since the last time.
    pub(super) steps: Vec<Step>,
    pub(super) state: State,
}

/// Whether an attempt is over.
#[derive(Debug)]
pub(super) enum State {
    Ended(Verdict),
    Waiting(Waiting),
}

/// How an attempt ended.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "each lives for a moment")]
pub(super) enum Verdict {
    /// The ConfigMap bears its mark, and the content came from the image that was asked for.
    Written(Box<Written>),
    /// The attempt failed, or this launch stops waiting for it.
    Failed(Ending, Failure),
}

/// A ConfigMap that an attempt filled.
#[derive(Debug, Clone)]
pub(super) struct Written {
    pub(super) config_map: ConfigMap,
    /// The images that it used.
    pub(super) images: Observed,
}

/// What an attempt waits for.
#[derive(Debug)]
pub(super) struct Waiting {
    /// What it is, if it is more than time.
    pub(super) on: Option<Box<Failure>>,
    /// When it has to be looked at again even if nothing changes.
    pub(super) until: Duration,
    /// The uid of the object whose events would tell more.
    pub(super) events_of: Option<String>,
    /// What would end the attempt, if it weren't for events alone that say so: anyone who may create
    /// events may say anything. Something else has to confirm it.
    pub(super) unconfirmed: Option<Box<Failure>>,
}

/// Judges one attempt. The budget is the whole launch's.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    attempt: &'a Attempt,
    budget: &'a mut Budget,
    began: Duration,
    /// When the mark was seen first.
    written: Option<Duration>,
    /// The pod that the steps were told of, and which.
    told_of: String,
    told: BTreeSet<&'static str>,
}

impl<'a> Judge<'a> {
    /// Of an attempt that began at `now`.
    pub(super) fn new(attempt: &'a Attempt, budget: &'a mut Budget, now: Duration) -> Self {
        budget.enter(Phase::Schedule, now);
        Self {
            attempt,
            budget,
            began: now,
            written: None,
            told_of: String::new(),
            told: BTreeSet::new(),
        }
    }

    /// What `seen` means at the time `now`, counted from the beginning of the launch.
    pub(super) fn judge(&mut self, seen: &Seen, now: Duration) -> Judgement {
        let pods = pod::of_attempt(seen, self.attempt);
        let current = pods.iter().find(|pod| !pod::has_failed(pod)).copied();
        let steps = current.map(|pod| self.steps(pod, seen)).unwrap_or_default();
        match current {
            Some(pod) => self.budget.enter(pod::phase(pod), now),
            None if pods.is_empty() => self.budget.enter(Phase::Schedule, now),
            // Until there is another, what a pod failed at takes the time.
            None => {}
        }
        let verdict = self.replaced(seen).or_else(|| self.written(seen, now));
        if let Some(state) = verdict {
            return Judgement { steps, state };
        }
        let mut unconfirmed = None;
        let verdict = self.interfered(seen).or_else(|| self.ended(seen, &pods, &mut unconfirmed));
        let state = match verdict {
            Some(verdict) => State::Ended(verdict),
            None => self.waiting(seen, current, &pods, unconfirmed, now),
        };
        Judgement { steps, state }
    }

    /// What others did to the objects.
    fn interfered(&self, seen: &Seen) -> Option<Verdict> {
        let job = &self.attempt.job;
        if let Presence::There(namespace) = &seen.namespace
            && namespace.metadata.deletion_timestamp.is_some()
        {
            return Some(Verdict::Failed(Ending::Fatal, namespace_going(&namespace.name_any())));
        }
        let failure = match (&seen.config_map, &seen.job) {
            (Presence::Gone, _) => {
                Failure::new(Reason::ConfigMapDeleted, "someone deleted the ConfigMap")
            }
            (Presence::There(there), _)
                if there.metadata.uid.as_ref() != Some(&self.attempt.config_map_uid) =>
            {
                let name = there.name_any();
                let message = format!("someone deleted the ConfigMap {name} and made another");
                Failure::new(Reason::ConfigMapDeleted, message)
            }
            (Presence::There(there), _) if there.metadata.deletion_timestamp.is_some() => {
                let message = format!("someone deleted the ConfigMap {}", there.name_any());
                Failure::new(Reason::ConfigMapDeleted, message)
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
            // Who asks for the volume gets it unasked: there was no dry run.
            (_, Presence::There(there))
                if self.attempt.wanted.strategy == Strategy::ImageVolume
                    && !keeps_volume(there.pod()) =>
            {
                let message = format!("the API server drops the image volume of the Job {job}");
                Failure::new(Reason::VolumeUnsupported, message)
            }
            _ => return None,
        };
        Some(Verdict::Failed(Ending::Fatal, failure))
    }

    /// What the end of the Job or of its pod means.
    fn ended(
        &self,
        seen: &Seen,
        pods: &[&Pod],
        unconfirmed: &mut Option<Failure>,
    ) -> Option<Verdict> {
        let of_pods: Vec<_> = pods.iter().filter_map(|pod| of_pod(pod, seen)).collect();
        // Events explain what pods and Jobs show; by themselves they decide nothing.
        let is_shown =
            |pod: &&Pod| failure::of_pod(pod, &[]).is_some_and(|failure| !failure.is_transient);
        if let Some(failure) = of_pods.iter().find(|failure| !failure.is_transient) {
            if pods.iter().any(is_shown) {
                return Some(Verdict::Failed(Ending::Fatal, failure.clone()));
            }
            *unconfirmed = Some(failure.clone());
        }
        let job = seen.job.there()?;
        let name = &self.attempt.job;
        if condition::is_complete(job) {
            let message = format!(
                "the Job {name} is complete, but its ConfigMap doesn't bear its mark: someone else \
                 has written it since"
            );
            return Some(Verdict::Failed(
                Ending::Retryable,
                Failure::new(Reason::Conflict, message),
            ));
        }
        if !condition::has_failed(job) {
            // The only thing that says why a Job has no pod is an event.
            let of_job = of_job(job, seen);
            if let Some(failure) = of_job.filter(|failure| pods.is_empty() && !failure.is_transient)
            {
                *unconfirmed = Some(failure);
            }
            return None;
        }
        // What another launcher saw may be gone by now: it has ended the Job.
        let recorded = Record::read(seen.config_map.there(), &self.attempt.uid);
        let is_recorded = recorded.is_some();
        let failure = recorded
            .map(|record| record.failure)
            .or_else(|| failure::worst(of_pods.into_iter().chain(of_job(job, seen))))
            .unwrap_or_else(|| {
                Failure::new(Reason::Killed, format!("the Job {name} failed without saying why"))
            });
        let shown = pods.iter().filter_map(|pod| failure::of_pod(pod, &[]));
        let shown = failure::worst(shown.chain(failure::of_job(job, &[])));
        let may_help =
            may_help(&failure) || (!is_recorded && shown.is_some_and(|it| may_help(&it)));
        let ending = if may_help { Ending::Retryable } else { Ending::Fatal };
        Some(Verdict::Failed(ending, failure))
    }

    fn waiting(
        &self,
        seen: &Seen,
        current: Option<&Pod>,
        pods: &[&Pod],
        unconfirmed: Option<Failure>,
        now: Duration,
    ) -> State {
        // A pod that failed tells why there is none; a Job does where there hasn't been one.
        let of_pods = || pods.first().and_then(|pod| of_pod(pod, seen));
        let of_job = || seen.job.there().and_then(|job| of_job(job, seen));
        let on = match current {
            Some(pod) => of_pod(pod, seen),
            None => of_pods().or_else(of_job),
        };
        let on = on.or_else(|| seen.trouble.clone());
        if self.budget.left(now).is_zero() {
            let failure = self.budget.deadline(&self.attempt.job, on);
            return State::Ended(Verdict::Failed(Ending::DeadlineExceeded, failure));
        }
        if self.attempt.ownership == JobOwnership::Other
            && let Some(on) = on.as_ref().filter(|on| on.reason.depends_on_options())
        {
            return State::Ended(Verdict::Failed(Ending::Superseded, on.clone()));
        }
        let quiet_until = self.began + QUIET;
        let end = now + self.budget.left(now);
        let is_quiet = on.is_none() && now < quiet_until;
        let uid = current.map_or_else(|| Some(self.attempt.uid.clone()), ResourceExt::uid);
        State::Waiting(Waiting {
            on: on.map(Box::new),
            until: if is_quiet { end.min(quiet_until) } else { end },
            events_of: uid.filter(|_| !is_quiet),
            unconfirmed: unconfirmed.map(Box::new),
        })
    }

    /// What this pod has come to since the last time.
    fn steps(&mut self, pod: &Pod, seen: &Seen) -> Vec<Step> {
        let uid = pod.uid().unwrap_or_default();
        if self.told_of != uid {
            self.told_of = uid;
            self.told.clear();
        }
        let mut steps = Vec::new();
        let mut tell = |name, step: Option<Step>| {
            if let Some(step) = step
                && self.told.insert(name)
            {
                steps.push(step);
            }
        };
        tell("scheduled", pod::node(pod).map(|node| Step::Scheduled { node: node.to_owned() }));
        let wanted = &self.attempt.wanted;
        let events = seen.events.of(pod.metadata.uid.as_ref());
        let pulled = pod::pulled(pod, wanted.strategy, &events);
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
            tell(name, step);
        }
        tell("tool", pulled.tool.then_some(Step::ToolPulled));
        let digest = images.bundle.digest;
        tell("bundle", pulled.bundle.then_some(Step::BundlePulled { digest }));
        tell("running", pod::has_started(pod).then_some(Step::Running));
        steps
    }
}

/// That the namespace is on its way out, which takes all that is in it.
pub(super) fn namespace_going(name: &str) -> Failure {
    Failure::new(Reason::Namespace, format!("the namespace {name} is being deleted"))
}

/// Whether another attempt may help, where an attempt has failed for this.
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

fn of_pod(pod: &Pod, seen: &Seen) -> Option<Failure> {
    failure::of_pod(pod, &seen.events.of(pod.metadata.uid.as_ref()))
}

fn of_job(job: &Job, seen: &Seen) -> Option<Failure> {
    failure::of_job(job, &seen.events.of(job.metadata.uid.as_ref()))
}
