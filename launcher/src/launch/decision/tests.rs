use std::collections::BTreeSet;

use super::*;

/// What follows, for every ending and every kind of reason: `fail`, `retry` or `inject`, then `r`
/// if the failure is recorded, and `e` if the Job is ended, or `E` if it is ended before the
/// failure is recorded.
const TABLE: &str = "
ending      reason      | no Job    own        same       other
----------------------------------------------------------------
fatal       fact        | fail.r    fail.re    fail.re    fail.re
fatal       option      | fail.r    fail.re    fail.re    retry
fatal       volume      | fail.r    fail.re    fail.re    retry
fatal       replaceable | inject.r  inject.re  inject.re  inject
fatal       launcher    | fail.r    fail.re    fail       fail
fatal       name        | fail      fail.e     fail       fail
fatal       deadline    | fail.r    fail.re    retry      retry
fatal       replaced    | fail.r    fail.rE    fail.rE    fail.rE
fatal       unverified  | fail.r    fail.rE    fail       fail
fatal       gone        | fail.r    fail.r     fail.r     fail.r
retryable   fact        | retry.r   retry.re   retry.re   retry.re
retryable   option      | retry.r   retry.re   retry.re   retry
retryable   volume      | retry.r   retry.re   retry.re   retry
retryable   replaceable | retry.r   retry.re   retry.re   retry
retryable   launcher    | retry.r   retry.re   retry      retry
retryable   name        | retry     retry.e    retry      retry
retryable   deadline    | retry.r   retry.re   retry      retry
retryable   replaced    | retry.r   retry.rE   retry.rE   retry.rE
retryable   unverified  | retry.r   retry.rE   retry      retry
retryable   gone        | retry.r   retry.r    retry.r    retry.r
late        fact        | fail.r    fail.re    retry      retry
late        option      | fail.r    fail.re    retry      retry
late        volume      | fail.r    fail.re    retry      retry
late        replaceable | fail.r    fail.re    retry      retry
late        launcher    | fail.r    fail.re    fail       fail
late        name        | fail      fail.e     fail       fail
late        deadline    | fail.r    fail.re    retry      retry
late        replaced    | fail.r    fail.rE    retry      retry
late        unverified  | fail.r    fail.rE    retry      retry
late        gone        | fail.r    fail.r     fail       fail
superseded  fact        | retry     retry      retry      retry
superseded  option      | retry     retry      retry      retry
superseded  volume      | retry     retry      retry      retry
superseded  replaceable | retry     retry      retry      retry
superseded  launcher    | retry     retry      retry      retry
superseded  name        | retry     retry      retry      retry
superseded  deadline    | retry     retry      retry      retry
superseded  replaced    | retry     retry      retry      retry
superseded  unverified  | retry     retry      retry      retry
superseded  gone        | retry     retry      retry      retry
";

/// Returns the kind of a reason in the table.
fn kind(reason: Reason, may_inject: bool) -> &'static str {
    use Reason as R;
    match reason {
        R::VolumeUnsupported if may_inject => "replaceable",
        R::VolumeUnsupported => "volume",
        R::ImageNotFound
        | R::Unauthorized
        | R::NoMatchingPlatform
        | R::Quota
        | R::LimitRange
        | R::PodSecurity
        | R::AdmissionPolicy
        | R::NoServiceAccount
        | R::NoPullSecret
        | R::BadPullSecret
        | R::Unschedulable
        | R::RunAsNonRoot
        | R::ContainerConfig
        | R::ExecFormat
        | R::OutOfMemory
        | R::Usage
        | R::Unreadable
        | R::Configuration
        | R::NoPermission => "option",
        R::Forbidden | R::ApiUnreachable | R::Cancelled => "launcher",
        R::NameTaken => "name",
        R::Deadline => "deadline",
        R::ImageReplaced => "replaced",
        R::ImageUnverified => "unverified",
        R::JobDeleted | R::ConfigMapDeleted | R::Namespace => "gone",
        R::InvalidReference
        | R::InvalidOption
        | R::RateLimited
        | R::RegistryUnreachable
        | R::RegistryFailing
        | R::SignatureRefused
        | R::PullFailed
        | R::Webhook
        | R::Sandbox
        | R::Evicted
        | R::NodeLost
        | R::ConfigMapImmutable
        | R::ApiRefused
        | R::Conflict
        | R::Killed
        | R::BadBundle
        | R::TooLarge
        | R::NoConfigMap
        | R::Refused
        | R::Untrusted
        | R::ApiUnreachableFromPod
        | R::System
        | R::Interrupted
        | R::Internal => "fact",
        _ => panic!("assign the new {reason:?} to a row"),
    }
}

fn short(decision: Decision) -> String {
    let continuation = match decision.continuation {
        Continuation::Fail => "fail",
        Continuation::Retry => "retry",
        Continuation::Inject => "inject",
    };
    let record = if decision.record { "r" } else { "" };
    let end = match decision.end_job {
        EndJob::Never => "",
        EndJob::BeforeRecording => "E",
        EndJob::AfterRecording => "e",
    };
    let dot = if record.len() + end.len() > 0 { "." } else { "" };
    format!("{continuation}{dot}{record}{end}")
}

#[test]
fn ending_ownership_and_reason_decide_what_follows() {
    let rows: Vec<(Vec<_>, Vec<_>)> = TABLE
        .lines()
        .skip(3)
        .map(|line| line.split_once('|').unwrap())
        .map(|(head, cells)| {
            (head.split_whitespace().collect(), cells.split_whitespace().collect())
        })
        .collect();
    let mut used = BTreeSet::new();
    for (name, ending) in [
        ("fatal", AttemptEnd::Fatal),
        ("retryable", AttemptEnd::Retryable),
        ("late", AttemptEnd::DeadlineExceeded),
        ("superseded", AttemptEnd::Superseded),
    ] {
        for reason in Reason::ALL {
            for may_inject in [false, true] {
                let head = [name, kind(reason, may_inject)];
                let row = rows.iter().position(|row| row.0 == head).unwrap();
                used.insert(row);
                for (column, ownership) in [
                    None,
                    Some(JobOwnership::Own),
                    Some(JobOwnership::Same),
                    Some(JobOwnership::Other),
                ]
                .into_iter()
                .enumerate()
                {
                    let decision = decide(ending, ownership, reason, may_inject);
                    let expected = rows[row].1[column];
                    assert_eq!(short(decision), expected, "{head:?} {ownership:?}: {reason:?}");
                }
            }
        }
    }
    assert_eq!(used.len(), rows.len(), "rows that nothing leads to");
}
