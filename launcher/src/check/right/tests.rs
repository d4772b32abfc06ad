use super::*;
use crate::Reason;

fn judged(resource: &str, denied: &[&str]) -> Check {
    let right = ALWAYS.iter().chain(&ACCOUNT).find(|right| right.resource == resource).unwrap();
    let verbs = right.needed.iter().chain(right.wanted);
    let responses: Vec<_> = verbs.map(|verb| (*verb, !denied.contains(verb))).collect();
    judge(right, &responses)
}

/// Fails if a text names a flag: the library does not know which program shows it.
fn assert_names_no_flag(check: &Check) {
    let hint = check.hint.as_deref().unwrap_or_default();
    assert!(!check.message.contains("--") && !hint.contains("--"), "{check:?}");
}

#[test]
fn missing_needed_permissions_fail_and_wanted_ones_warn() {
    for (resource, denied, outcome, message) in [
        (
            "jobs",
            &[][..],
            Outcome::Ok,
            "the user may create, get, list, watch, patch and delete jobs",
        ),
        ("jobs", &["create"], Outcome::Failed, "the user may not create jobs"),
        ("jobs", &["watch", "delete"], Outcome::Failed, "the user may not watch or delete jobs"),
        ("configmaps", &["watch"], Outcome::Failed, "the user may not watch configmaps"),
        ("roles", &["create"], Outcome::Failed, "the user may not create roles"),
        ("pods/log", &[], Outcome::Ok, "the user may get pods/log"),
    ] {
        let check = judged(resource, denied);
        assert_eq!((check.outcome, check.message.as_str()), (outcome, message), "{denied:?}");
        assert_eq!(check.hint.is_some(), outcome != Outcome::Ok, "{check:?}");
        assert_names_no_flag(&check);
    }
    for (resource, denied) in [
        ("configmaps", &["patch"][..]),
        ("jobs", &["delete", "patch"]),
        ("pods", &["create"]),
        ("pods/log", &["get"]),
        ("events", &["list", "watch"]),
        ("namespaces", &["get"]),
        ("serviceaccounts", &["delete"]),
    ] {
        let check = judged(resource, denied);
        assert_eq!(check.outcome, Outcome::Warning, "{check:?}");
        assert!(check.message.contains(": "), "the effect is missing: {check:?}");
        assert_names_no_flag(&check);
    }
}

#[test]
fn a_review_that_is_forbidden_does_not_advise_to_run_the_check() {
    let failure = Failure::new(Reason::Forbidden, "it failed");
    assert_eq!(failure.remedies, [Remedy::Check]);
    assert_eq!(topic(&ALWAYS[0]).report(Outcome::Warning, failure).remedies, []);
}

#[test]
fn the_hint_is_a_rule_for_a_role() {
    let hint = judged("jobs", &["create", "patch"]).hint.unwrap();
    let rule = r#"{apiGroups: ["batch"], resources: [jobs], verbs: [create, patch]}"#;
    assert!(hint.ends_with(rule), "{hint}");
}

#[test]
fn granting_requires_the_permission_or_escalation() {
    for (held, escalate, bind, outcome) in [
        ([true, true], false, false, Outcome::Ok),
        ([false, false], true, true, Outcome::Ok),
        ([true, false], true, true, Outcome::Ok),
        ([true, false], false, true, Outcome::Failed),
        ([true, false], true, false, Outcome::Failed),
        ([false, true], false, false, Outcome::Failed),
        ([false, false], false, false, Outcome::Failed),
    ] {
        assert_eq!(
            judge_grant(held, escalate, bind).outcome,
            outcome,
            "{held:?} {escalate} {bind}"
        );
    }
    assert!(judge_grant([true, false], false, false).message.contains("to update its"));
}

#[test]
fn each_resource_is_listed_once() {
    let mut resources: Vec<_> = ALWAYS.iter().chain(&ACCOUNT).map(|right| right.resource).collect();
    resources.sort_unstable();
    resources.dedup();
    assert_eq!(resources.len(), ALWAYS.len() + ACCOUNT.len());
}
