use crate::worst;
use crate::{Failure, Reason};

fn worst_of(reasons: &[Reason]) -> Option<Reason> {
    let failures = reasons.iter().map(|reason| Failure::new(*reason, format!("{reason:?}")));
    worst(failures).map(|failure| failure.reason)
}

#[test]
fn the_worst_failure_is_permanent_and_names_a_cause() {
    let cases: [(&[Reason], Reason); 9] = [
        (&[Reason::Killed], Reason::Killed),
        // A container that was killed because its pod was evicted.
        (&[Reason::Killed, Reason::Evicted], Reason::Evicted),
        (&[Reason::Interrupted, Reason::Evicted], Reason::Evicted),
        // The bundle is the cause, whatever happened to the pod.
        (&[Reason::Evicted, Reason::BadBundle], Reason::BadBundle),
        // The Job's deadline says less than the problem that it waited for.
        (&[Reason::Deadline, Reason::RateLimited], Reason::RateLimited),
        (&[Reason::Killed, Reason::Deadline], Reason::Deadline),
        (&[Reason::PullFailed, Reason::RegistryFailing], Reason::RegistryFailing),
        (&[Reason::ContainerConfig, Reason::ImageNotFound], Reason::ImageNotFound),
        // Of equals the first.
        (&[Reason::Quota, Reason::Unschedulable], Reason::Quota),
    ];
    for (reasons, expected) in cases {
        assert_eq!(worst_of(reasons), Some(expected), "{reasons:?}");
    }
    assert_eq!(worst_of(&[]), None);
}
