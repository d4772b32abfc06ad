//! Reports events, with the time since the launch began.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use tokio::time::Instant;
use tracing::info;

use crate::{Event, Failure, Reason, Step, Timings};

/// Thirty years, in place of what no clock can tell.
const FAR: Duration = Duration::from_hours(24 * 365 * 30);

/// One launch's story.
#[derive(Debug)]
pub(super) struct Report {
    start: Instant,
    events: UnboundedSender<Event>,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    timings: Timings,
    /// How many parts of the launch are waiting for something.
    n_waiting: usize,
    /// What was reported since any of them began to wait. This is kept because the kubelet repeats
    /// the same messages.
    waits: HashSet<(Reason, String)>,
}

/// A part of a launch that may wait for something. If it is dropped while it waits, it reports
/// nothing, because the step or the failure that ended the wait is reported instead.
#[derive(Debug)]
pub(super) struct Wait<'r> {
    report: &'r Report,
    is_waiting: AtomicBool,
}

impl Report {
    /// Begins now.
    pub(super) fn start(events: UnboundedSender<Event>) -> Self {
        Self { start: Instant::now(), events, told: Mutex::default() }
    }

    /// The time since the beginning.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// The moment at which so much time will have passed.
    pub(super) fn at(&self, elapsed: Duration) -> Instant {
        later(self.start, elapsed)
    }

    /// Reports a step.
    pub(super) fn step(&self, step: Step) {
        let at = self.elapsed();
        log(&step);
        let mut told = self.told();
        let timings = &mut told.timings;
        match &step {
            Step::Created { .. } | Step::Adopted { .. } => timings.created = Some(at),
            Step::Scheduled { .. } => timings.scheduled = Some(at),
            Step::Running => timings.running = Some(at),
            Step::Written => timings.written = Some(at),
            _ => {}
        }
        if !matches!(step, Step::Waiting { .. } | Step::ImageChanged { .. }) {
            // Whoever reads the events takes any other step for the end of a wait.
            told.waits.clear();
        }
        drop(told);
        // Nobody need listen.
        let _ = self.events.unbounded_send(Event { at, step });
    }

    /// A part of the launch that may wait.
    pub(super) fn wait(&self) -> Wait<'_> {
        Wait { report: self, is_waiting: AtomicBool::new(false) }
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The times at which steps were first or last seen.
    pub(super) fn timings(&self) -> Timings {
        self.told().timings
    }
}

impl<'r> Wait<'r> {
    /// Another part of the same launch.
    pub(super) fn another(&self) -> Wait<'r> {
        self.report.wait()
    }

    /// Starts to wait for this, and reports it unless it was already reported since the launch
    /// began to wait.
    pub(super) fn on(&self, failure: Failure) {
        let words = (failure.reason, failure.message.clone());
        let mut told = self.report.told();
        if !self.is_waiting.swap(true, Ordering::Relaxed) {
            told.n_waiting += 1;
        }
        let is_new = told.waits.insert(words);
        drop(told);
        if is_new {
            self.report.step(Step::Waiting { failure: Box::new(failure) });
        }
    }

    /// Stops waiting, and reports this if no other part of the launch is waiting.
    pub(super) fn end(&self) {
        if self.stop() {
            self.report.step(Step::Resumed);
        }
    }

    /// Stops waiting. Returns whether this was the last part that waited.
    fn stop(&self) -> bool {
        if !self.is_waiting.swap(false, Ordering::Relaxed) {
            return false;
        }
        let mut told = self.report.told();
        told.n_waiting = told.n_waiting.saturating_sub(1);
        let is_last = told.n_waiting == 0;
        if is_last {
            told.waits.clear();
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
    let (what, failure) = match step {
        Step::Waiting { failure } => ("waiting", failure),
        Step::Retrying { failure, .. } => ("retrying", failure),
        Step::Failed { failure } => ("failed", failure),
        step => return info!("{step:?}"),
    };
    info!(reason = ?failure.reason, failure = failure.message, "{what}");
}

/// So much later, or as late as makes no difference.
pub(super) fn later(instant: Instant, time: Duration) -> Instant {
    instant.checked_add(time).unwrap_or_else(|| instant + FAR)
}
