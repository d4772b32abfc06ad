//! Classification of admission errors. The messages come from the API server's admission plug-ins.
//! The launcher finds them in responses and in the events of the Job controller.

use super::bound::quoted;
use super::rule::{self, Rule};
use super::{Failure, Reason, Remedy};

/// The meaning of the messages. The sources are files of Kubernetes 1.36.
pub(super) const RULES: &[Rule] = &[
    // A quota that requires requests or limits (plugin/pkg/admission/resourcequota).
    Rule::new(Reason::Quota, &["failed quota:"])
        .permanent()
        .hint("check which requests or limits the quota requires")
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
        .hint("ask an administrator for the permissions get and update on ConfigMaps in this \
               namespace: only a user who has a permission can grant it")
        .remedies(&[Remedy::ServiceAccount]),
    Rule::new(Reason::Webhook, &["failed calling webhook", "failed to call webhook"])
        .transient()
        .hint("repair the webhook's service, or remove the webhook's configuration (kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations)"),
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

/// What the message of a webhook's rejection contains (apiserver `ToStatusErr`).
const DENIED: [&str; 2] = ["admission webhook \"", "images rejected by webhook backend"];

/// Classifies `message`, which is about the admission of `object`, if it matches a rule.
pub(super) fn classify(message: &str, object: &str) -> Option<Failure> {
    // A webhook chooses its message freely, so the message may contain the phrases of a rule.
    if DENIED.iter().any(|phrase| message.contains(phrase)) {
        return Some(failure(Reason::Webhook, message, object).with_transience(false));
    }
    let rule = rule::find_first(RULES, message).or_else(|| missing_namespace(message))?;
    Some(rule.apply(failure(rule.reason, message, object)))
}

/// Returns a rule if `message` is `namespaces "x" not found`, and not about another kind.
fn missing_namespace(message: &str) -> Option<&'static Rule> {
    const RULE: Rule = Rule::new(Reason::Namespace, &[]);
    let is_missing = message.contains("namespaces \"") && message.ends_with("not found");
    is_missing.then_some(&RULE)
}

fn failure(reason: Reason, message: &str, object: &str) -> Failure {
    let cause = quoted(cause(message));
    Failure::new(
        reason,
        match reason {
            Reason::Quota => format!("a quota does not allow {object}: {cause}"),
            Reason::LimitRange => format!("a LimitRange does not allow {object}: {cause}"),
            Reason::PodSecurity => format!("Pod Security does not allow {object}: {cause}"),
            Reason::Webhook => {
                format!("an admission webhook prevents the creation of {object}: {cause}")
            }
            Reason::AdmissionPolicy => {
                format!("an admission policy does not allow {object}: {cause}")
            }
            Reason::NoServiceAccount => {
                format!("the service account of {object} does not exist: {cause}")
            }
            Reason::Namespace => {
                format!("the namespace of {object} does not exist or is being deleted: {cause}")
            }
            _ => format!("the API server rejects {object}: {cause}"),
        },
    )
}

/// Removes the generated name of a pod that was never created.
fn cause(message: &str) -> &str {
    let message = message.strip_prefix("Error creating: ").unwrap_or(message);
    let after =
        message.strip_prefix("pods \"").and_then(|rest| rest.split_once("\" is forbidden: "));
    after.map_or(message, |(_, cause)| cause)
}
