//! Telling what happens, with the time since the launch began.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use tokio::time::Instant;

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
    /// What has been waited for already: the kubelet says the same again and again.
    waits: HashSet<(Reason, String)>,
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

    /// Tells a step.
    pub(super) fn step(&self, step: Step) {
        let at = self.elapsed();
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let timings = &mut told.timings;
        match &step {
            Step::Created { .. } | Step::Adopted { .. } => timings.created = Some(at),
            Step::Scheduled { .. } => timings.scheduled = Some(at),
            Step::Running => timings.running = Some(at),
            Step::Written => timings.written = Some(at),
            _ => {}
        }
        drop(told);
        // Nobody need listen.
        let _ = self.events.unbounded_send(Event { at, step });
    }

    /// Tells what is waited for, once for each thing that it says.
    pub(super) fn waiting(&self, failure: Failure) {
        let words = (failure.reason, failure.message.clone());
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = told.waits.insert(words);
        drop(told);
        if is_new {
            self.step(Step::Waiting { failure: Box::new(failure) });
        }
    }

    /// When what was first or last seen to happen.
    pub(super) fn timings(&self) -> Timings {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).timings
    }
}

/// So much later, or as late as makes no difference.
pub(super) fn later(instant: Instant, time: Duration) -> Instant {
    instant.checked_add(time).unwrap_or_else(|| instant + FAR)
}
