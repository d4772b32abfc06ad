//! The end of a shared attempt that did not fill all of its ConfigMaps.

use std::mem;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use tokio::time::{Instant, timeout_at};

use super::{AfterShared, AfterSharedByPlace, Following, GivenUp};
use crate::launch::course::STOPPING;
use crate::launch::course::recording::Recording;
use crate::launch::decision::{AttemptEnd, EndJob, decide};
use crate::launch::judge::condition::{is_finished, is_over};
use crate::launch::watch::Presence;
use crate::progress::report::later;
use crate::{Failure, Reason, Step};

impl Following<'_> {
    /// Ends the Job because a node fails to pull the image of the launch at this place, so that no
    /// container has started.
    pub(super) async fn start_again(
        &mut self,
        culprit: usize,
        failure: &Failure,
    ) -> AfterSharedByPlace {
        let is_ended = self.stop(&[(AttemptEnd::Fatal, failure.reason)]).await;
        let continues = |place: &usize| {
            let continuation = match *place == culprit {
                // The Job may have filled ConfigMaps after all.
                _ if !is_ended => AfterShared::StartOver,
                true => AfterShared::Alone,
                false => AfterShared::Share,
            };
            (*place, continuation)
        };
        let mut continuations: AfterSharedByPlace = self.open.keys().map(continues).collect();
        let step = self.retrying(failure);
        for open in mem::take(&mut self.open).into_values() {
            open.wait.stop();
            open.member.launch.report.step(step.clone());
        }
        let failed = mem::take(&mut self.failed).into_iter();
        continuations.extend(failed.map(|(place, _)| (place, AfterShared::StartOver)));
        continuations
    }

    /// Finds out whether the attempt has filled ConfigMaps after all, and removes content that may
    /// not be that of the image. The Job can no longer write by then.
    pub(super) async fn settle(&mut self) -> AfterSharedByPlace {
        let mut continuations = AfterSharedByPlace::new();
        let failed = mem::take(&mut self.failed);
        if failed.is_empty() {
            return continuations;
        }
        let failures: Vec<_> = failed.values().map(|it| (it.ending, it.failure.reason)).collect();
        self.stop(&failures).await;
        for (place, GivenUp { open, failure, .. }) in failed {
            open.wait.stop();
            let launch = open.member.launch;
            self.watch.show(launch.plan.name());
            let baseline = &open.member.opened.baseline;
            // The watch also loses a ConfigMap whose label someone has removed. The recording finds
            // out whether it still exists.
            let is_lost = failure.reason == Reason::ConfigMapDeleted
                && matches!(self.watch.seen.config_map, Presence::Gone);
            let failure =
                if is_lost { Failure::new(Reason::Conflict, failure.message) } else { failure };
            // Other failures are recorded only when the launch makes an attempt alone.
            let recording = Recording::of_withdrawal(&launch.plan, baseline, open.attempt, failure);
            let result = launch.record_failure(recording, &self.watch.seen).await;
            self.lock().remove(&place);
            match result {
                Ok(written) => self.end(open, written).await,
                // Another attempt would create again what someone has deleted.
                Err(failure) if is_gone(failure.reason) => {
                    (self.ended)(open.member.index, Err(failure));
                }
                Err(failure) => {
                    launch.report.step(self.retrying(&failure));
                    continuations.insert(place, AfterShared::StartOver);
                }
            }
        }
        continuations
    }

    /// Ends the Job if one of these failures ends the Job of a single launch, and waits until all
    /// pods of the Job have ended. Returns whether the Job can no longer write. The
    /// launches continue in any case: it is not worth waiting any longer for a Job that did not end
    /// in time, that can no longer be watched, or that only the options of another launcher block.
    async fn stop(&mut self, failures: &[(AttemptEnd, Reason)]) -> bool {
        let ownership = Some(self.attempt.ownership);
        let ends = |(ending, reason): &(AttemptEnd, Reason)| {
            decide(*ending, ownership, *reason, false).end_job != EndJob::Never
        };
        let longest = if !self.is_job(|job| !is_over(job))
            || (failures.iter().any(ends) && self.lead.end_job(self.attempt).await)
        {
            STOPPING
        } else if failures.iter().all(|(ending, _)| *ending == AttemptEnd::Superseded) {
            // A single launch does not wait for such a Job either.
            return false;
        } else {
            // The Job's own deadline has expired by then.
            self.lead.launcher.options.deadlines.total()
        };
        let end = later(Instant::now(), longest);
        while self.is_job(|job| !is_finished(job)) {
            let Ok(Ok(())) = timeout_at(end, self.watch.changed()).await else { return false };
        }
        true
    }

    /// Checks the Job that may still exist.
    fn is_job(&self, is_wanted: impl Fn(&Job) -> bool) -> bool {
        match &self.watch.seen.job {
            Presence::There(job) => is_wanted(job),
            Presence::Gone => false,
            Presence::Unknown => true,
        }
    }

    /// Returns the step of a launch that makes another attempt. The cause may be another bundle.
    fn retrying(&self, cause: &Failure) -> Step {
        let message = format!("the shared Job {} did not fill the ConfigMap", self.attempt.job);
        let mut evidence = cause.evidence.clone();
        evidence.message = Some(cause.message.clone());
        let failure = Failure::new(cause.reason, message).with_evidence(evidence);
        Step::Retrying { failure: Box::new(failure), after: Duration::ZERO }
    }
}

/// Checks whether the ConfigMap no longer exists.
fn is_gone(reason: Reason) -> bool {
    matches!(reason, Reason::ConfigMapDeleted | Reason::Namespace)
}
