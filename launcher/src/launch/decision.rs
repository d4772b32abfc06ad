//! Decides what follows from the failure of an attempt. This is a pure function, and its test is
//! the table of all cases.

use crate::Reason;

#[cfg(test)]
mod tests;

/// In what way an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttemptEnd {
    /// The attempt failed, and another one of the same kind will not help.
    Fatal,
    /// The attempt failed, and another one may help.
    Retryable,
    /// The Job is still running, but this launch has no time left to wait for it.
    DeadlineExceeded,
    /// The Job is still waiting for something, and only because of the options of the launch that
    /// created it.
    Superseded,
}

/// Which launch created the Job of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobOwnership {
    /// This launch.
    Own,
    /// Another launch, with the same options.
    Same,
    /// Another launch, with other options.
    Other,
}

/// What a launch does after an attempt has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) continuation: Continuation,
    /// Whether the failure is recorded on the ConfigMap.
    pub(super) record: bool,
    pub(super) end_job: EndJob,
}

/// How a launch continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Continuation {
    /// It returns the failure.
    Fail,
    /// It makes another attempt after a pause.
    Retry,
    /// It makes another attempt that injects the unpacker instead of mounting the bundle image.
    Inject,
}

/// Whether the Job is ended in place, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndJob {
    /// The Job is left as it is.
    Never,
    /// The Job is ended before the failure is recorded, so that it cannot write after its content
    /// was removed.
    BeforeRecording,
    /// The Job is ended after the failure is recorded, because keeping the evidence is more
    /// important.
    AfterRecording,
}

/// Decides what follows if an attempt fails for this `reason`. `ownership` is `None` if no Job
/// could be created; `may_inject` says whether injection may replace the image volume of the
/// attempt.
///
/// The launch that created a Job may have longer deadlines, more rights and other options. So a
/// launch ends the Job of another launch and records its failure only for a reason that the other
/// launch would find as well.
pub(super) fn decide(
    ending: AttemptEnd,
    ownership: Option<JobOwnership>,
    reason: Reason,
    may_inject: bool,
) -> Decision {
    let is_reported_here = match ownership {
        _ if ending == AttemptEnd::Superseded => false,
        None | Some(JobOwnership::Own) => true,
        Some(_) if ending == AttemptEnd::DeadlineExceeded || reason.is_of_launcher() => false,
        Some(JobOwnership::Same) => true,
        Some(JobOwnership::Other) => !reason.depends_on_options(),
    };
    let is_gone =
        matches!(reason, Reason::JobDeleted | Reason::ConfigMapDeleted | Reason::Namespace);
    let end_job = match ownership {
        None => EndJob::Never,
        Some(_) if !is_reported_here || is_gone => EndJob::Never,
        Some(_) if reason.is_of_image() => EndJob::BeforeRecording,
        Some(_) => EndJob::AfterRecording,
    };
    let ended_for_other_launcher = match ownership {
        None | Some(JobOwnership::Own) => false,
        // The deadline comes from the launch that created the Job.
        Some(_) if reason == Reason::Deadline => true,
        Some(JobOwnership::Same) => false,
        Some(JobOwnership::Other) => reason.depends_on_options(),
    };
    // A Job of another launch may never end. It must not block later launches.
    let is_replaceable = matches!(ownership, Some(JobOwnership::Same | JobOwnership::Other))
        && !is_gone
        && !matches!(
            reason,
            Reason::Forbidden | Reason::ApiUnreachable | Reason::Cancelled | Reason::NameTaken
        );
    let continuation = match ending {
        AttemptEnd::Retryable | AttemptEnd::Superseded => Continuation::Retry,
        AttemptEnd::Fatal if may_inject && reason == Reason::VolumeUnsupported => {
            Continuation::Inject
        }
        AttemptEnd::Fatal if ended_for_other_launcher => Continuation::Retry,
        AttemptEnd::DeadlineExceeded if is_replaceable => Continuation::Retry,
        AttemptEnd::Fatal | AttemptEnd::DeadlineExceeded => Continuation::Fail,
    };
    // If the name is taken, the ConfigMap belongs to someone else.
    Decision { continuation, record: is_reported_here && reason != Reason::NameTaken, end_job }
}
