//! Why the API server doesn't admit an object: words of its admission plug-ins, which the Job
//! controller repeats in its events and the launcher gets in answers.

use super::bound::quoted;
use super::rule::{self, Rule};
use super::{Failure, Reason, Remedy};

/// What the messages mean; sources are files of Kubernetes 1.36.
pub(super) const RULES: &[Rule] = &[
    // A quota that wants requests or limits set (plugin/pkg/admission/resourcequota).
    Rule::new(Reason::Quota, &["failed quota:"])
        .lasting()
        .hint("the quota requires requests or limits")
        .remedies(&[Remedy::Resources]),
    Rule::new(
        Reason::Quota,
        &["exceeded quota:", "status unknown for quota", "resourcequotas \""],
    ),
    Rule::new(
        Reason::LimitRange,
        // plugin/pkg/admission/limitranger
        &["usage per container is", "usage per pod is", "limit to request ratio per"],
    ),
    // pod-security-admission, and OpenShift's own.
    Rule::new(Reason::PodSecurity, &["violates podsecurity"]),
    Rule::new(
        Reason::PodSecurity,
        &["unable to validate against any security context constraint"],
    )
    .remedies(&[Remedy::UnsetUser]),
    Rule::new(Reason::Forbidden, &["attempting to grant rbac permissions not currently held"])
        .hint("hold get and update on ConfigMaps in this namespace yourself")
        .remedies(&[Remedy::ServiceAccount]),
    Rule::new(Reason::Webhook, &["failed calling webhook", "failed to call webhook"])
        .passing()
        .hint("the webhook's service must answer, or its configuration be removed (kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations)"),
    Rule::new(
        Reason::AdmissionPolicy,
        &["validatingadmissionpolicy '", "mutatingadmissionpolicy '"],
    ),
    Rule::new(Reason::NoServiceAccount, &["error looking up service account"]),
    Rule::new(
        Reason::Namespace,
        &["because it is being terminated"],
    ),
    Rule::new(Reason::ApiRefused, &["no priorityclass with name"])
        .hint("create the PriorityClass")
        .remedies(&[Remedy::PriorityClass]),
];

/// What a webhook's refusal begins with or contains (apiserver `ToStatusErr`).
const DENIED: [&str; 2] = ["admission webhook \"", "images rejected by webhook backend"];

/// Why `object` wasn't admitted, if `said` tells it.
pub(super) fn of_message(said: &str, object: &str) -> Option<Failure> {
    // A webhook's words may be anything, those of the rules too.
    if DENIED.iter().any(|phrase| said.contains(phrase)) {
        return Some(failure(Reason::Webhook, said, object).transient(false));
    }
    let rule = rule::first(RULES, said).or_else(|| missing_namespace(said))?;
    let failure = rule.advise(failure(rule.reason, said, object));
    let is_transient = rule.is_transient.unwrap_or(failure.is_transient);
    Some(failure.transient(is_transient))
}

/// `namespaces "x" not found`, but no other kind.
fn missing_namespace(said: &str) -> Option<&'static Rule> {
    const RULE: Rule = Rule::new(Reason::Namespace, &[]);
    let is_missing = said.contains("namespaces \"") && said.ends_with("not found");
    is_missing.then_some(&RULE)
}

fn failure(reason: Reason, said: &str, object: &str) -> Failure {
    let cause = quoted(cause(said));
    Failure::new(
        reason,
        match reason {
            Reason::Quota => format!("a quota doesn't allow {object}: {cause}"),
            Reason::LimitRange => format!("a LimitRange doesn't allow {object}: {cause}"),
            Reason::PodSecurity => format!("Pod Security doesn't allow {object}: {cause}"),
            Reason::Webhook => {
                format!("an admission webhook keeps {object} from being created: {cause}")
            }
            Reason::AdmissionPolicy => {
                format!("an admission policy doesn't allow {object}: {cause}")
            }
            Reason::NoServiceAccount => {
                format!("the service account of {object} is missing: {cause}")
            }
            Reason::Namespace => {
                format!("the namespace of {object} is missing or on its way out: {cause}")
            }
            _ => format!("the API server refuses {object}: {cause}"),
        },
    )
}

/// `said` without the generated name of a pod that never was.
fn cause(said: &str) -> &str {
    let said = said.strip_prefix("Error creating: ").unwrap_or(said);
    let after = said.strip_prefix("pods \"").and_then(|rest| rest.split_once("\" is forbidden: "));
    after.map_or(said, |(_, cause)| cause)
}
