//! Reports events, with the time since the launch began.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::info;

use crate::{Event, Failure, Reason, Step, Timings};

/// Thirty years, which replace a time that is too far in the future for the clock.
const FAR: Duration = Duration::from_hours(24 * 365 * 30);

/// Takes the events of a launch.
pub(crate) type Sink<'a> = &'a (dyn Fn(Event) + Send + Sync);

/// The events and timings of one launch.
pub(crate) struct Report<'a> {
    start: Instant,
    sink: Sink<'a>,
    reported: Mutex<Reported>,
}

#[derive(Debug, Default)]
struct Reported {
    timings: Timings,
    /// How many parts of the launch are waiting for something.
    n_waiting: usize,
    /// What was reported since any of them began to wait. This is kept because the kubelet repeats
    /// the same messages.
    waits: HashSet<(Reason, String)>,
}

/// A part of a launch that may wait for something. If it is dropped while it waits, it reports
/// nothing, because the step or the failure that ended the wait is reported instead.
pub(crate) struct Wait<'r> {
    report: &'r Report<'r>,
    is_waiting: AtomicBool,
}

impl<'a> Report<'a> {
    /// Returns the report of a launch that begins now.
    pub(crate) fn start(sink: Sink<'a>) -> Self {
        Self { start: Instant::now(), sink, reported: Mutex::default() }
    }

    /// Returns a report that is only logged.
    pub(crate) fn unobserved() -> Self {
        Self::start(&drop)
    }

    /// Returns the time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the moment at which this time has elapsed.
    pub(crate) fn at(&self, elapsed: Duration) -> Instant {
        later(self.start, elapsed)
    }

    /// Reports a step.
    pub(crate) fn step(&self, step: Step) {
        let at = self.elapsed();
        log(&step);
        let mut reported = self.reported();
        let timings = &mut reported.timings;
        match &step {
            // Another attempt goes through all phases again.
            Step::Created { .. } | Step::Adopted { .. } => {
                *timings = Timings { created: Some(at), ..Timings::default() };
            }
            Step::Scheduled { .. } => timings.scheduled = Some(at),
            Step::Running => timings.running = Some(at),
            Step::Written => timings.written = Some(at),
            _ => {}
        }
        if !matches!(step, Step::Waiting { .. } | Step::ImageChanged { .. }) {
            // For readers of the events, any other step ends the wait.
            reported.waits.clear();
        }
        drop(reported);
        (self.sink)(Event { at, step });
    }

    /// Returns a part of the launch that may wait.
    pub(crate) fn wait(&self) -> Wait<'_> {
        Wait { report: self, is_waiting: AtomicBool::new(false) }
    }

    fn reported(&self) -> std::sync::MutexGuard<'_, Reported> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when each phase ended.
    pub(crate) fn timings(&self) -> Timings {
        self.reported().timings
    }
}

impl<'r> Wait<'r> {
    /// Returns another part of the same launch.
    pub(crate) fn another(&self) -> Wait<'r> {
        self.report.wait()
    }

    /// Starts to wait for this, and reports it unless it was already reported since the launch
    /// began to wait.
    pub(crate) fn on(&self, failure: Failure) {
        let words = (failure.reason, failure.message.clone());
        let mut reported = self.report.reported();
        if !self.is_waiting.swap(true, Ordering::Relaxed) {
            reported.n_waiting += 1;
        }
        let is_new = reported.waits.insert(words);
        drop(reported);
        if is_new {
            self.report.step(Step::Waiting { failure: Box::new(failure) });
        }
    }

    /// Stops waiting, and reports this if no other part of the launch is waiting.
    pub(crate) fn end(&self) {
        if self.stop() {
            self.report.step(Step::Resumed);
        }
    }

    /// Stops waiting. Returns whether this was the last part that waited.
    pub(crate) fn stop(&self) -> bool {
        if !self.is_waiting.swap(false, Ordering::Relaxed) {
            return false;
        }
        let mut reported = self.report.reported();
        reported.n_waiting = reported.n_waiting.saturating_sub(1);
        let is_last = reported.n_waiting == 0;
        if is_last {
            reported.waits.clear();
        }
        is_last
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Logs phases and decisions, for anyone who debugs a launch.
fn log(step: &Step) {
    match step {
        Step::Prepared { config_map } => info!(name = ?config_map, "prepared the ConfigMap"),
        Step::Reused => info!("the ConfigMap already contains the content"),
        Step::Chosen { strategy, because } => {
            info!(strategy = strategy.name(), because = ?because, "chose the strategy");
        }
        Step::Created { job } => info!(name = ?job, "created the Job"),
        Step::Adopted { job, differs } => info!(name = ?job, differs, "found a running Job"),
        Step::Scheduled { node } => info!(?node, "the pod is scheduled"),
        Step::ImageChanged { requested, admitted } => {
            info!(?requested, ?admitted, "admission changed the image");
        }
        Step::ToolPulled => info!("the tool image is pulled"),
        Step::BundlePulled { digest } => info!(?digest, "the bundle image is pulled"),
        Step::Running => info!("the container is running"),
        Step::Waiting { failure } => {
            info!(reason = ?failure.reason, failure = failure.message, "waiting");
        }
        Step::Resumed => info!("no longer waiting"),
        Step::Retrying { failure, after } => {
            info!(reason = ?failure.reason, failure = failure.message, ?after, "retrying");
        }
        Step::Written => info!("the ConfigMap is written"),
    }
}

/// Adds a time to an instant. If the clock cannot represent the sum, thirty years are added.
pub(crate) fn later(instant: Instant, time: Duration) -> Instant {
    instant.checked_add(time).unwrap_or_else(|| instant + FAR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timings_are_those_of_the_last_attempt() {
        let report = Report::unobserved();
        let created = || Step::Created { job: "etcd-1".into() };
        report.step(created());
        report.step(Step::Scheduled { node: "one".into() });
        report.step(Step::Running);
        let first = report.timings();
        assert!(first.scheduled.is_some() && first.running.is_some(), "{first:?}");
        report.step(created());
        report.step(Step::Written);
        let Timings { created, scheduled, running, written } = report.timings();
        assert_eq!((scheduled, running), (None, None), "this attempt observed neither");
        assert!(created >= first.running && written >= created);
    }
}
