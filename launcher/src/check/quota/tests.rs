use serde_json::{Value, json};

use super::*;

fn ours(resources: &Value) -> BTreeMap<String, Amount> {
    let pod = json!({"containers": [{"name": "unpack", "resources": resources}]});
    needs(&serde_json::from_value(pod).unwrap(), true, false)
}

fn usual() -> BTreeMap<String, Amount> {
    ours(&json!({"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}}))
}

fn quota(hard: &Value, used: &Value) -> ResourceQuota {
    let quota = json!({"metadata": {"name": "q"}, "status": {"hard": hard, "used": used}});
    serde_json::from_value(quota).unwrap()
}

#[test]
fn a_quota_has_room_or_not() {
    for (hard, used, is_enough) in [
        (json!({"pods": "1"}), json!({"pods": "0"}), true),
        (json!({"pods": "1"}), json!({"pods": "1"}), false),
        (json!({"pods": "1"}), json!({}), true),
        (json!({"pods": "0"}), json!({}), false),
        (json!({"count/jobs.batch": "3"}), json!({"count/jobs.batch": "3"}), false),
        (json!({"configmaps": "3"}), json!({"configmaps": "3"}), false),
        (json!({"count/serviceaccounts": "1"}), json!({"count/serviceaccounts": "1"}), false),
        (json!({"requests.cpu": "1"}), json!({"requests.cpu": "990m"}), true),
        (json!({"requests.cpu": "1"}), json!({"requests.cpu": "991m"}), false),
        (json!({"cpu": "1"}), json!({"cpu": "991m"}), false),
        (json!({"limits.memory": "1Gi"}), json!({"limits.memory": "768Mi"}), true),
        (json!({"limits.memory": "1Gi"}), json!({"limits.memory": "769Mi"}), false),
        (json!({"requests.memory": "1Gi"}), json!({"requests.memory": "992Mi"}), true),
        (json!({"services": "0"}), json!({"services": "0"}), true),
    ] {
        let quota = quota(&hard, &used);
        let check = judge(std::slice::from_ref(&quota), &usual(), true);
        let outcome = if is_enough { Outcome::Ok } else { Outcome::Failed };
        assert_eq!(check.outcome, outcome, "{quota:?}");
    }
    assert_eq!(judge(&[], &usual(), true).outcome, Outcome::Ok);
}

#[test]
fn a_limit_range_may_set_what_a_quota_requires() {
    let quotas = [quota(&json!({"limits.cpu": "9"}), &json!({}))];
    assert_eq!(judge(&quotas, &usual(), true).outcome, Outcome::Failed);
    assert_eq!(judge(&quotas, &usual(), false).outcome, Outcome::Warning);
    let set = ours(&json!({"limits": {"cpu": "1"}}));
    assert_eq!(judge(&quotas, &set, false).outcome, Outcome::Ok);
}

#[test]
fn objects_of_an_account_are_not_counted_with_a_given_one() {
    let full = json!({"count/roles.rbac.authorization.k8s.io": "0"});
    let quotas = [quota(&full, &json!({}))];
    assert_eq!(judge(&quotas, &usual(), true).outcome, Outcome::Failed);
    assert_eq!(
        judge(&quotas, &needs(&PodSpec::default(), false, false), true).outcome,
        Outcome::Ok
    );
}

#[test]
fn the_secret_of_a_launch_is_counted_only_with_credentials() {
    for name in ["secrets", "count/secrets"] {
        let quotas = [quota(&json!({name: "0"}), &json!({}))];
        let outcome = |lends_credentials| {
            let needs = needs(&PodSpec::default(), true, lends_credentials);
            judge(&quotas, &needs, true).outcome
        };
        assert_eq!(outcome(true), Outcome::Failed, "{name}");
        assert_eq!(outcome(false), Outcome::Ok, "{name}");
    }
}

#[test]
fn a_quota_with_a_scope_does_not_count() {
    let selector =
        json!({"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]});
    for (spec, outcome) in [
        (json!({}), Outcome::Failed),
        (json!({"scopes": []}), Outcome::Failed),
        (json!({"scopes": ["NotTerminating"]}), Outcome::Ok),
        (json!({"scopeSelector": selector}), Outcome::Ok),
    ] {
        let mut quotas = [quota(&json!({"pods": "0"}), &json!({}))];
        quotas[0].spec = serde_json::from_value(spec).unwrap();
        assert_eq!(judge(&quotas, &usual(), true).outcome, outcome, "{quotas:?}");
    }
}
