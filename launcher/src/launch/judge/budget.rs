//! [`Budget`]: the time that is left for each phase, over all attempts of a launch.

use std::time::Duration;

use crate::{Deadlines, Evidence, Failure, ObjectRef, Reason};

/// The phase of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::launch) enum Phase {
    /// The pod does not exist, or is not assigned to a node.
    Schedule,
    /// The images are pulled, and the containers created.
    Pull,
    /// The unpacker is running.
    Run,
}

/// The remaining time of each phase. Re-entering a phase resumes its remaining budget.
#[derive(Debug)]
pub(in crate::launch) struct Budget {
    deadlines: Deadlines,
    spent: [Duration; 3],
    phase: Phase,
    since: Duration,
}

impl Budget {
    /// Returns the whole budget, starting at the time `now`.
    pub(in crate::launch) fn new(deadlines: Deadlines, now: Duration) -> Self {
        Self { deadlines, spent: [Duration::ZERO; 3], phase: Phase::Schedule, since: now }
    }

    /// Enters or continues a phase.
    pub(in crate::launch) fn enter(&mut self, phase: Phase, now: Duration) {
        if phase != self.phase {
            let spent = now.saturating_sub(self.since);
            *self.spent_in(self.phase) += spent;
            self.phase = phase;
            self.since = now;
        }
    }

    /// Excludes this time, which has just passed, from the current phase.
    pub(in crate::launch) fn exclude(&mut self, time: Duration) {
        self.since = self.since.saturating_add(time);
    }

    /// Returns the remaining time of the current phase.
    pub(in crate::launch) fn left(&self, now: Duration) -> Duration {
        let [schedule, pull, run] = self.spent;
        let (deadline, spent) = match self.phase {
            Phase::Schedule => (self.deadlines.schedule, schedule),
            Phase::Pull => (self.deadlines.pull, pull),
            Phase::Run => (self.deadlines.run, run),
        };
        deadline.saturating_sub(spent + now.saturating_sub(self.since))
    }

    /// Returns the failure of a phase whose time has expired: the problem that it waited for or, if
    /// none is known, the deadline.
    pub(in crate::launch) fn deadline(&self, job: &str, on: Option<Failure>) -> Failure {
        let (time, what) = match self.phase {
            Phase::Schedule => (self.deadlines.schedule, "the pod to be scheduled"),
            Phase::Pull => (self.deadlines.pull, "the images to be pulled"),
            Phase::Run => (self.deadlines.run, "the result of the unpacker"),
        };
        let cause = on.as_ref().map(|on| format!(": {}", on.message)).unwrap_or_default();
        let message = format!("timed out after {} s waiting for {what}{cause}", time.as_secs());
        let Some(mut on) = on else {
            let evidence = Evidence::of_object(ObjectRef::job(job));
            return Failure::new(Reason::Deadline, message).with_evidence(evidence);
        };
        on.message = message;
        on
    }

    fn spent_in(&mut self, phase: Phase) -> &mut Duration {
        let [schedule, pull, run] = &mut self.spent;
        match phase {
            Phase::Schedule => schedule,
            Phase::Pull => pull,
            Phase::Run => run,
        }
    }
}
