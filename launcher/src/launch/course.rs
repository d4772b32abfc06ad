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
use super::decision::{AttemptEnd, Continuation, Decision, EndJob, decide};
use super::judge::condition::is_finished;
use super::judge::pod_progress::has_failed;
use super::judge::{Attempt, Budget, Conclusion, Judge, Judgement, State, Waiting, Written};
use super::watch::{Presence, Seen};
use crate::object::Plan;
use crate::strategy::without_applied_remedy;
use crate::{Failure, ObjectRef, Reason, Step};

/// The interval between checks of an event that nothing else has confirmed.
pub(super) const CONFIRMATION: Duration = Duration::from_secs(5);

/// How long a Job may take to end. Its controller terminates the pods, which get half a minute.
pub(super) const STOPPING: Duration = Duration::from_secs(45);

/// How long a pod may take to end after its container has exited.
const POD_GRACE: Duration = Duration::from_secs(2);

/// The result of an attempt: what was written, or why the attempt failed and how the launch
/// continues.
pub(super) type AttemptResult = Result<Box<Written>, (Failure, Continuation)>;

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
    Explaining { ending: AttemptEnd, was_transient: bool },
    /// The Job is being ended before the failure is recorded.
    EndingJob { failure: Failure, decision: Decision },
    /// The Job was ended, but may still write.
    AwaitingJob { failure: Failure, decision: Decision, until: Duration },
    /// The failure is being recorded.
    Recording(Decision),
    /// The failure was recorded, and its pod is about to end.
    AwaitingPod { failure: Failure, continuation: Continuation, until: Duration },
    /// The Job is being ended.
    Closing { failure: Failure, continuation: Continuation },
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
                self.settle(AttemptEnd::Fatal, failure)
            }
            (Stage::Following, Some(Answer::Confirmed(Some(failure)))) => {
                self.settle(AttemptEnd::Fatal, *failure)
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
                self.follow_up(ending, was_transient, failure)
            }
            (Stage::EndingJob { failure, decision }, Some(Answer::JobEnded)) => {
                self.await_job(failure, decision, seen, now, now + STOPPING)
            }
            (Stage::AwaitingJob { failure, decision, .. }, Some(Answer::WatchForbidden(_))) => {
                self.record(failure, decision)
            }
            (Stage::AwaitingJob { failure, decision, until }, _) => {
                self.await_job(failure, decision, seen, now, until)
            }
            (Stage::Recording(_), Some(Answer::Recorded(Ok(written)))) => {
                vec![Action::Finish(Ok(written))]
            }
            (Stage::Recording(decision), Some(Answer::Recorded(Err(failure)))) => {
                if decision.end_job == EndJob::AfterRecording {
                    self.await_pod(failure, decision.continuation, seen, now, now + POD_GRACE)
                } else {
                    vec![Action::Finish(Err((failure, decision.continuation)))]
                }
            }
            (Stage::AwaitingPod { failure, continuation, .. }, Some(Answer::WatchForbidden(_))) => {
                self.close(failure, continuation)
            }
            (Stage::AwaitingPod { failure, continuation, until }, _) => {
                self.await_pod(failure, continuation, seen, now, until)
            }
            (Stage::Closing { failure, continuation }, Some(Answer::JobEnded)) => {
                vec![Action::Finish(Err((failure, continuation)))]
            }
            // Impossible, because the driver answers what it is asked.
            _ => {
                let message = "the launcher received a result of another step";
                vec![Action::Finish(Err((
                    Failure::new(Reason::Internal, message),
                    Continuation::Fail,
                )))]
            }
        }
    }

    /// Follows the attempt until it ends.
    fn follow(&mut self, seen: &Seen, now: Duration) -> Vec<Action<'a>> {
        let Judgement { steps, state } = self.judge.judge(seen, now);
        let mut actions: Vec<_> = steps.into_iter().map(Action::Report).collect();
        let Waiting { on, mut until, events_of, unconfirmed } = match state {
            State::Ended(Conclusion::Written(written)) => {
                actions.push(Action::Finish(Ok(written)));
                return actions;
            }
            State::Ended(Conclusion::Failed(ending, failure)) => {
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
    fn settle(&mut self, ending: AttemptEnd, failure: Failure) -> Vec<Action<'a>> {
        if ending == AttemptEnd::Superseded {
            let continuation = self.decide(ending, failure.reason).continuation;
            return vec![Action::Finish(Err((failure, continuation)))];
        }
        self.stage = Stage::Explaining { ending, was_transient: failure.is_transient };
        let failure = self.advise(failure);
        vec![Action::StopWaiting, Action::Ask(Question::Explain(failure))]
    }

    /// Decides what follows from a failure whose evidence is complete.
    fn follow_up(
        &mut self,
        ending: AttemptEnd,
        was_transient: bool,
        failure: Failure,
    ) -> Vec<Action<'a>> {
        // The pull secrets exist after all, so another pod may get them.
        let is_retryable = ending == AttemptEnd::Fatal && !was_transient && failure.is_transient;
        let ending = if is_retryable { AttemptEnd::Retryable } else { ending };
        let decision = self.decide(ending, failure.reason);
        if decision.end_job != EndJob::BeforeRecording {
            return self.record(failure, decision);
        }
        self.stage = Stage::EndingJob { failure, decision };
        vec![Action::Ask(Question::EndJob)]
    }

    /// Waits until the Job can no longer write the ConfigMap. It may write again what was removed,
    /// so content that is already there does not shorten the wait.
    fn await_job(
        &mut self,
        failure: Failure,
        decision: Decision,
        seen: &Seen,
        now: Duration,
        until: Duration,
    ) -> Vec<Action<'a>> {
        let is_over = match &seen.job {
            Presence::There(job) => is_finished(job),
            Presence::Gone => true,
            Presence::Unknown => false,
        };
        if is_over || now >= until {
            return self.record(failure, decision);
        }
        self.stage = Stage::AwaitingJob { failure, decision, until };
        vec![Action::Wait { until }]
    }

    fn record(&mut self, failure: Failure, decision: Decision) -> Vec<Action<'a>> {
        self.stage = Stage::Recording(decision);
        let attempt = Some(self.attempt);
        let recording = Recording::new(self.plan, self.baseline, attempt, failure, decision.record);
        vec![Action::Ask(Question::Record(Box::new(recording)))]
    }

    /// Waits until the pod of the exited container has ended, which is a moment later. Ending the
    /// Job deletes the pods that are still running, and this pod is evidence.
    fn await_pod(
        &mut self,
        failure: Failure,
        continuation: Continuation,
        seen: &Seen,
        now: Duration,
        until: Duration,
    ) -> Vec<Action<'a>> {
        let object =
            failure.evidence.object.as_ref().filter(|_| failure.evidence.exit_code.is_some());
        let pod = object.and_then(ObjectRef::pod_name);
        let is_ending = pod.and_then(|pod| seen.pods.get(pod)).is_some_and(|pod| !has_failed(pod));
        if !is_ending || now >= until {
            return self.close(failure, continuation);
        }
        self.stage = Stage::AwaitingPod { failure, continuation, until };
        vec![Action::Wait { until }]
    }

    fn close(&mut self, failure: Failure, continuation: Continuation) -> Vec<Action<'a>> {
        self.stage = Stage::Closing { failure, continuation };
        vec![Action::Ask(Question::EndJob)]
    }

    fn decide(&self, ending: AttemptEnd, reason: Reason) -> Decision {
        decide(ending, Some(self.attempt.ownership), reason, self.may_inject)
    }

    fn advise(&self, failure: Failure) -> Failure {
        without_applied_remedy(self.attempt.wanted.strategy, failure)
    }
}
