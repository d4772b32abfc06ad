use serde_json::json;

use super::*;
use crate::Failure;
use crate::Reason;

fn refused(reason: Reason) -> DryRunResult<()> {
    Err(Refusal::Rejected(Failure::new(reason, "no")))
}

#[test]
fn rejected_objects_are_reported() {
    let outcome = |response| judge(CONFIG_MAP, response, Outcome::Failed).outcome;
    assert_eq!(outcome(Ok(())), Outcome::Ok);
    assert_eq!(outcome(refused(Reason::Quota)), Outcome::Failed);
    let failure = || Failure::new(Reason::Forbidden, "no");
    assert_eq!(outcome(Err(Refusal::Forbidden(failure()))), Outcome::Skipped);
    assert_eq!(outcome(Err(Refusal::NoDryRun(failure()))), Outcome::Warning);
}

#[test]
fn one_accepted_pod_is_enough() {
    use Outcome::{Failed, Ok as Well, Skipped, Warning};
    let pod = || Some(Ok(()));
    let denied = || Some(refused(Reason::PodSecurity));
    let forbidden = || Some(Err(Refusal::Forbidden(Failure::new(Reason::Forbidden, "no"))));
    for (inject, mount, outcomes) in [
        (pod(), pod(), &[Well, Well][..]),
        (denied(), pod(), &[Warning, Well]),
        (pod(), denied(), &[Well, Warning]),
        (denied(), denied(), &[Failed, Failed]),
        (denied(), None, &[Failed]),
        (None, denied(), &[Failed]),
        (forbidden(), forbidden(), &[Skipped, Skipped]),
    ] {
        let checks = pods(inject, mount);
        let found: Vec<_> = checks.iter().map(|check| check.outcome).collect();
        assert_eq!(found, outcomes, "{checks:?}");
    }
}

#[test]
fn image_volumes_are_supported_if_they_are_kept() {
    for (by_pod, by_job, strategy, outcome) in [
        (Some(true), Some(false), Strategy::Auto, Outcome::Ok),
        (Some(false), Some(true), Strategy::Auto, Outcome::Warning),
        (Some(false), Some(true), Strategy::ImageVolume, Outcome::Failed),
        (None, Some(true), Strategy::ImageVolume, Outcome::Ok),
        (None, Some(false), Strategy::Auto, Outcome::Warning),
        (None, None, Strategy::Auto, Outcome::Skipped),
    ] {
        assert_eq!(volumes(by_pod, by_job, strategy).outcome, outcome, "{by_pod:?} {by_job:?}");
    }
}

#[test]
fn the_level_of_pod_security_is_read_from_the_label() {
    let level_of = |label: Option<&str>| {
        let labels = label.map(|label| json!({ENFORCE: label}));
        let namespace = json!({"metadata": {"labels": labels}});
        level(Some(&serde_json::from_value(namespace).unwrap())).outcome
    };
    for label in [None, Some("privileged"), Some("baseline"), Some("restricted")] {
        assert_eq!(level_of(label), Outcome::Ok, "{label:?}");
    }
    assert_eq!(level_of(Some("strict")), Outcome::Warning);
    assert_eq!(level(None).outcome, Outcome::Skipped);
}
