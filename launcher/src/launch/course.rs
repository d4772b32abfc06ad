//! [`Course`]: the course of an attempt, from the moment at which its Job exists until it is clear
//! what follows from its end. It performs no I/O: it decides from what was observed, from the
//! answers to its questions, and from the time (docs/decisions/0026).

pub(super) mod recording;
#[cfg(test)]
mod tests;

use std::mem;
use std::time::Duration;

use self::recording::Recording;
use super::attempt::LaunchBaseline;
use super::judge::condition::is_finished;
use super::judge::pod::has_failed;
use super::judge::{
    Attempt, Budget, Judge, Judgement, State, Verdict, Waiting, Written, bears_mark,
};
use super::next::{EndJob, Ending, Next, Then, next};
use super::watch::{Presence, Seen};
use crate::object::Plan;
use crate::strategy::without_applied_remedy;
use crate::{Failure, Reason, Step};

/// The interval between checks of an event that nothing else has confirmed.
const CONFIRMATION: Duration = Duration::from_secs(5);

/// How long a Job may take to end. Its controller terminates the pods, which get half a minute.
const STOPPING: Duration = Duration::from_secs(45);

/// How long a pod may take to end after its container has exited.
const ENDING: Duration = Duration::from_secs(2);

/// The result of an attempt: what was written, or why the attempt failed and how the launch
/// continues.
pub(super) type AttemptResult = Result<Box<Written>, (Failure, Then)>;

/// What the driver, which is the launch, does next. The last action of a step is
/// [`Ask`](Self::Ask), [`Wait`](Self::Wait) or [`Finish`](Self::Finish).
#[derive(Debug)]
pub(super) enum Action<'a> {
    /// Report this step.
    Report(Step),
    /// Report that the attempt waits for this.
    WaitOn(Box<Failure>),
    /// Report that the attempt makes progress.
    Proceed,
    /// Report nothing more about waiting, because the attempt has ended.
    StopWaiting,
    /// Watch the events of the object with this uid.
    WatchEvents(String),
    /// Answer this question, and pass the answer to the next step.
    Ask(Question<'a>),
    /// Wait until anything changes, but at most until this time, and take the next step.
    Wait { until: Duration },
    /// Return this result.
    Finish(AttemptResult),
}

/// A question that only requests to the API server can answer.
#[derive(Debug)]
pub(super) enum Question<'a> {
    /// Whether the API server confirms this failure, which only an event reports.
    Confirm(Box<Failure>),
    /// Which evidence the pull secrets and the log add to this failure.
    Explain(Failure),
    /// No question, but a request that ends the Job in place.
    EndJob,
    /// Whether the ConfigMap was filled after all. If it was not, the failure is recorded on it.
    Record(Box<Recording<'a>>),
}

/// The answer to a question, or the end of a wait.
#[derive(Debug)]
pub(super) enum Answer {
    /// The failure, if the API server confirms it.
    Confirmed(Option<Box<Failure>>),
    /// The failure with all evidence.
    Explained(Failure),
    /// The request to end the Job was sent.
    JobEnded,
    /// What was written after all, or the failure to report.
    Recorded(Result<Box<Written>, Failure>),
    /// The API server forbids a watch.
    WatchForbidden(Failure),
}

/// The course of one attempt.
#[derive(Debug)]
pub(super) struct Course<'a> {
    plan: &'a Plan<'a>,
    baseline: &'a LaunchBaseline,
    attempt: &'a Attempt,
    /// Whether injection may replace the image volume of the attempt.
    may_inject: bool,
    judge: Judge<'a>,
    /// When an event that nothing else has confirmed was last checked.
    asked: Option<Duration>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    /// The attempt has not ended.
    Following,
    /// The evidence of the failure is being collected.
    Explaining { ending: Ending, was_transient: bool },
    /// The Job is being ended before the failure is recorded.
    EndingJob { failure: Failure, next: Next },
    /// The Job was ended, but may still write.
    AwaitingJob { failure: Failure, next: Next, until: Duration },
    /// The failure is being recorded.
    Recording(Next),
    /// The failure was recorded, and its pod is about to end.
    AwaitingPod { failure: Failure, then: Then, until: Duration },
    /// The Job is being ended.
    Closing { failure: Failure, then: Then },
    /// The result was returned.
    Finished,
}

impl<'a> Course<'a> {
    /// Returns the course of an attempt that began at `now`.
    pub(super) fn new(
        plan: &'a Plan<'a>,
        baseline: &'a LaunchBaseline,
        attempt: &'a Attempt,
        may_inject: bool,
        budget: &'a mut Budget,
        now: Duration,
    ) -> Self {
        let judge = Judge::new(attempt, budget, now);
        Self { plan, baseline, attempt, may_inject, judge, asked: None, stage: Stage::Following }
    }

    /// Decides what to do, from what was `seen` by the time `now`, and from the answer to the last
    /// question, if the last step asked one. The time is relative to the beginning of the launch.
    pub(super) fn step(
        &mut self,
        seen: &Seen,
        answer: Option<Answer>,
        now: Duration,
    ) -> Vec<Action<'a>> {
        match (mem::replace(&mut self.stage, Stage::Finished), answer) {
            (Stage::Following, Some(Answer::WatchForbidden(failure))) => {
                self.settle(Ending::Fatal, failure)
            }
            (Stage::Following, Some(Answer::Confirmed(Some(failure)))) => {
                self.settle(Ending::Fatal, *failure)
            }
            (Stage::Following, Some(Answer::Confirmed(None))) => {
                self.asked = Some(now);
                self.stage = Stage::Following;
                // The request took time. What the watches received meanwhile counts before a
                // deadline that has passed.
                vec![Action::Wait { until: now }]
            }
            (Stage::Following, _) => self.follow(seen, now),
            (Stage::Explaining { ending, was_transient }, Some(Answer::Explained(failure))) => {
                self.decide(ending, was_transient, failure)
            }
            (Stage::EndingJob { failure, next }, Some(Answer::JobEnded)) => {
                self.await_job(failure, next, seen, now, now + STOPPING)
            }
            (Stage::AwaitingJob { failure, next, .. }, Some(Answer::WatchForbidden(_))) => {
                self.record(failure, next)
            }
            (Stage::AwaitingJob { failure, next, until }, _) => {
                self.await_job(failure, next, seen, now, until)
            }
            (Stage::Recording(_), Some(Answer::Recorded(Ok(written)))) => {
                vec![Action::Finish(Ok(written))]
            }
            (Stage::Recording(next), Some(Answer::Recorded(Err(failure)))) => {
                if next.end_job == EndJob::AfterRecording {
                    self.await_pod(failure, next.then, seen, now, now + ENDING)
                } else {
                    vec![Action::Finish(Err((failure, next.then)))]
                }
            }
            (Stage::AwaitingPod { failure, then, .. }, Some(Answer::WatchForbidden(_))) => {
                self.close(failure, then)
            }
            (Stage::AwaitingPod { failure, then, until }, _) => {
                self.await_pod(failure, then, seen, now, until)
            }
            (Stage::Closing { failure, then }, Some(Answer::JobEnded)) => {
                vec![Action::Finish(Err((failure, then)))]
            }
            // Impossible, because the driver answers what it is asked.
            _ => {
                let message = "the launcher got an answer to another question";
                vec![Action::Finish(Err((Failure::new(Reason::Internal, message), Then::Fail)))]
            }
        }
    }

    /// Follows the attempt until it ends.
    fn follow(&mut self, seen: &Seen, now: Duration) -> Vec<Action<'a>> {
        let Judgement { steps, state } = self.judge.judge(seen, now);
        let mut actions: Vec<_> = steps.into_iter().map(Action::Report).collect();
        let Waiting { on, mut until, events_of, unconfirmed } = match state {
            State::Ended(Verdict::Written(written)) => {
                actions.push(Action::Finish(Ok(written)));
                return actions;
            }
            State::Ended(Verdict::Failed(ending, failure)) => {
                actions.extend(self.settle(ending, failure));
                return actions;
            }
            State::Waiting(waiting) => waiting,
        };
        self.stage = Stage::Following;
        actions.push(on.map_or(Action::Proceed, |on| Action::WaitOn(Box::new(self.advise(*on)))));
        if let Some(failure) = unconfirmed {
            match self.asked.map(|asked| asked + CONFIRMATION) {
                Some(again) if now < again => until = until.min(again),
                _ => {
                    actions.push(Action::Ask(Question::Confirm(failure)));
                    return actions;
                }
            }
        }
        actions.extend(events_of.map(Action::WatchEvents));
        actions.push(Action::Wait { until });
        actions
    }

    /// Ends the wait for the attempt, which has failed.
    fn settle(&mut self, ending: Ending, failure: Failure) -> Vec<Action<'a>> {
        if ending == Ending::Superseded {
            let then = self.next(ending, failure.reason).then;
            return vec![Action::Finish(Err((failure, then)))];
        }
        self.stage = Stage::Explaining { ending, was_transient: failure.is_transient };
        let failure = self.advise(failure);
        vec![Action::StopWaiting, Action::Ask(Question::Explain(failure))]
    }

    /// Decides what follows from a failure whose evidence is complete.
    fn decide(&mut self, ending: Ending, was_transient: bool, failure: Failure) -> Vec<Action<'a>> {
        // The pull secrets exist after all, so another pod may get them.
        let is_retryable = ending == Ending::Fatal && !was_transient && failure.is_transient;
        let ending = if is_retryable { Ending::Retryable } else { ending };
        let next = self.next(ending, failure.reason);
        if next.end_job != EndJob::BeforeRecording {
            return self.record(failure, next);
        }
        self.stage = Stage::EndingJob { failure, next };
        vec![Action::Ask(Question::EndJob)]
    }

    /// Waits until the Job can no longer write the ConfigMap, or has already written it.
    fn await_job(
        &mut self,
        failure: Failure,
        next: Next,
        seen: &Seen,
        now: Duration,
        until: Duration,
    ) -> Vec<Action<'a>> {
        let is_over = match &seen.job {
            Presence::There(job) => is_finished(job),
            Presence::Gone => true,
            Presence::Unknown => false,
        };
        let uid = &self.attempt.uid;
        let is_marked = seen.config_map.object().is_none_or(|there| bears_mark(there, uid));
        if is_over || is_marked || now >= until {
            return self.record(failure, next);
        }
        self.stage = Stage::AwaitingJob { failure, next, until };
        vec![Action::Wait { until }]
    }

    fn record(&mut self, failure: Failure, next: Next) -> Vec<Action<'a>> {
        self.stage = Stage::Recording(next);
        let attempt = Some(self.attempt);
        let recording = Recording::new(self.plan, self.baseline, attempt, failure, next.record);
        vec![Action::Ask(Question::Record(Box::new(recording)))]
    }

    /// Waits until the pod of the exited container has ended, which is a moment later. Ending the
    /// Job deletes the pods that are still running, and this pod is evidence.
    fn await_pod(
        &mut self,
        failure: Failure,
        then: Then,
        seen: &Seen,
        now: Duration,
        until: Duration,
    ) -> Vec<Action<'a>> {
        let object =
            failure.evidence.object.as_deref().filter(|_| failure.evidence.exit_code.is_some());
        let pod = object.and_then(|object| object.strip_prefix("pod/"));
        let is_ending = pod.and_then(|pod| seen.pods.get(pod)).is_some_and(|pod| !has_failed(pod));
        if !is_ending || now >= until {
            return self.close(failure, then);
        }
        self.stage = Stage::AwaitingPod { failure, then, until };
        vec![Action::Wait { until }]
    }

    fn close(&mut self, failure: Failure, then: Then) -> Vec<Action<'a>> {
        self.stage = Stage::Closing { failure, then };
        vec![Action::Ask(Question::EndJob)]
    }

    fn next(&self, ending: Ending, reason: Reason) -> Next {
        next(ending, Some(self.attempt.ownership), reason, self.may_inject)
    }

    fn advise(&self, failure: Failure) -> Failure {
        without_applied_remedy(self.attempt.wanted.strategy, failure)
    }
}
