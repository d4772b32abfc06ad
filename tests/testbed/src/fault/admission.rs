//! Admission policies: rules in CEL that the API server checks by itself, without a webhook.

use serde_json::{Value, json};

const VERSION: &str = "admissionregistration.k8s.io/v1";

/// Returns a policy and its binding, which deny what `rule` matches.
pub(crate) fn denying(name: &str, rule: &Value, message: &str, namespaces: &Value) -> [Value; 2] {
    let policy = json!({
        "apiVersion": VERSION,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": "false", "message": message}],
        },
    });
    let binding = json!({
        "apiVersion": VERSION,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": namespaces},
        },
    });
    [policy, binding]
}

/// Returns a policy and its binding, which change what `rule` matches by a CEL expression of the
/// patch.
pub(crate) fn mutating(
    name: &str,
    rule: &Value,
    expression: &str,
    namespaces: Option<&Value>,
) -> [Value; 2] {
    let patch = json!({
        "patchType": "ApplyConfiguration",
        "applyConfiguration": {"expression": expression},
    });
    let policy = json!({
        "apiVersion": VERSION,
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {"resourceRules": [rule]},
            "mutations": [patch],
        },
    });
    let everywhere = json!({});
    let binding = json!({
        "apiVersion": VERSION,
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "matchResources": {"namespaceSelector": namespaces.unwrap_or(&everywhere)},
        },
    });
    [policy, binding]
}
