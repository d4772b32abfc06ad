//! What follows from the failure of an attempt. Pure: its test is the whole table.

use crate::Reason;

#[cfg(test)]
mod tests;

/// In what way an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It failed, and another attempt of the same kind will not help.
    Fatal,
    /// It failed, and another attempt may help.
    Retryable,
    /// Its Job goes on, and this launch has no time left for it.
    DeadlineExceeded,
    /// Its Job goes on, and waits for something that only the options of whoever made it prevent.
    Superseded,
}

/// Whose Job an attempt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobOwnership {
    /// This launch made it.
    Own,
    /// Another launch made it, with the options of this one.
    Same,
    /// Another launch made it, with other options.
    Other,
}

/// What a launch does about an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) then: Then,
    /// Whether the failure is recorded on the ConfigMap.
    pub(super) record: bool,
    pub(super) end_job: EndJob,
}

/// How a launch goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// It returns the failure.
    Fail,
    /// It makes another attempt after a pause.
    Retry,
    /// It makes another attempt that injects the unpacker instead of mounting the bundle's image.
    Inject,
}

/// Whether the Job is ended in place, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EndJob {
    /// The Job is left as it is.
    Never,
    /// Before the failure is recorded, so that nothing is written after content was removed.
    BeforeRecording,
    /// After the failure was recorded: the evidence counts for more.
    AfterRecording,
}

/// What follows from the failure of an attempt for this `reason`. `ownership` is none if no Job
/// could be made; `may_inject` says whether injection may replace the image volume of the attempt.
///
/// Whoever made a Job may be more patient, have more rights and use other options. So a launch ends
/// and records the Job of another one only for what that other launch would find as well.
pub(super) fn next(
    ending: Ending,
    ownership: Option<JobOwnership>,
    reason: Reason,
    may_inject: bool,
) -> Next {
    let is_for_us_to_tell = match ownership {
        _ if ending == Ending::Superseded => false,
        None | Some(JobOwnership::Own) => true,
        Some(_) if ending == Ending::DeadlineExceeded || reason.is_of_launcher() => false,
        Some(JobOwnership::Same) => true,
        Some(JobOwnership::Other) => !reason.depends_on_options(),
    };
    let is_gone =
        matches!(reason, Reason::JobDeleted | Reason::ConfigMapDeleted | Reason::Namespace);
    let end_job = match ownership {
        None => EndJob::Never,
        Some(_) if !is_for_us_to_tell || is_gone => EndJob::Never,
        Some(_) if reason.is_of_image() => EndJob::BeforeRecording,
        Some(_) => EndJob::AfterRecording,
    };
    let is_end_of_others = match ownership {
        None | Some(JobOwnership::Own) => false,
        // The deadline that whoever made the Job gave it.
        Some(_) if reason == Reason::Deadline => true,
        Some(JobOwnership::Same) => false,
        Some(JobOwnership::Other) => reason.depends_on_options(),
    };
    let then = match ending {
        Ending::Retryable | Ending::Superseded => Then::Retry,
        Ending::Fatal if may_inject && reason == Reason::VolumeUnsupported => Then::Inject,
        Ending::Fatal if is_end_of_others => Then::Retry,
        Ending::Fatal | Ending::DeadlineExceeded => Then::Fail,
    };
    // The ConfigMap of a name that is taken belongs to someone else.
    Next { then, record: is_for_us_to_tell && reason != Reason::NameTaken, end_job }
}
