//! Dry runs: the API server checks an object as if it created it, but stores nothing.

mod preview;

use std::fmt::Debug;

use kube::Api;
use kube::api::PostParams;
use serde::{Serialize, de::DeserializeOwned};
use unlade_diagnose::is_from_authorizer;

use crate::client::classify_request_error;
use crate::{Failure, Reason};

/// Why the API server refuses a dry run.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The current user may not create such objects.
    Forbidden(Failure),
    /// A webhook with side effects does not support dry runs, and says so in this failure. It is
    /// unknown whether the API server would accept the object.
    NoDryRun(Failure),
    /// The API server would not accept the object.
    Rejected(Failure),
}

/// Creates an object as a dry run. Does not retry the request.
pub(crate) async fn create<K>(api: &Api<K>, object: &K) -> kube::Result<K>
where
    K: Clone + Debug + Serialize + DeserializeOwned,
{
    let params = PostParams { dry_run: true, ..PostParams::default() };
    api.create(&params, object).await
}

impl Refusal {
    /// Returns why a dry run failed.
    pub(crate) fn from_failure(failure: Failure) -> Self {
        let message = failure.evidence.message.as_deref().unwrap_or_default();
        if failure.reason == Reason::Forbidden && is_from_authorizer(message) {
            Self::Forbidden(failure)
        } else if message.contains("does not support dry run") {
            Self::NoDryRun(failure)
        } else {
            Self::Rejected(failure)
        }
    }

    /// Returns why a dry run failed, or `None` if the error does not concern the object, such as
    /// one of an overloaded server. `doing` describes the request.
    pub(crate) fn from_error(error: &kube::Error, doing: &str) -> Option<Self> {
        let kube::Error::Api(status) = error else { return None };
        let message = &status.message;
        // A webhook may not respond (500), or reject the object with a status of its own.
        let is_of_webhook =
            message.contains("admission webhook") || message.contains("calling webhook");
        (matches!(status.code, 400 | 403 | 422) || is_of_webhook)
            .then(|| Self::from_failure(classify_request_error(error, doing)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_that_was_not_possible_is_not_a_rejection() {
        let refusal = |reason, message: &str| {
            let mut failure = Failure::new(reason, "x");
            failure.evidence.message = Some(message.to_owned());
            Refusal::from_failure(failure)
        };
        let forbidden =
            r#"pods is forbidden: User "a" cannot create resource "pods" in API group """#;
        assert!(matches!(refusal(Reason::Forbidden, forbidden), Refusal::Forbidden(_)));
        let webhook = r#"admission webhook "a.example" does not support dry run"#;
        assert!(matches!(refusal(Reason::Webhook, webhook), Refusal::NoDryRun(_)));
        let escalation =
            r#"roles "a" is forbidden: user "a" is attempting to grant RBAC permissions"#;
        assert!(matches!(refusal(Reason::Forbidden, escalation), Refusal::Rejected(_)));
    }

    #[test]
    fn errors_that_do_not_concern_the_object_are_not_refusals() {
        let refusal = |code, message: &str| {
            let status = kube::core::Status::failure(message, "x").with_code(code);
            Refusal::from_error(&kube::Error::Api(Box::new(status)), "create the Pod")
        };
        for code in [400, 403, 422] {
            assert!(matches!(refusal(code, "no"), Some(Refusal::Rejected(_))), "{code}");
        }
        for code in [401, 404, 429, 500, 503] {
            assert!(refusal(code, "no").is_none(), "{code}");
        }
        let calling = r#"Internal error occurred: failed calling webhook "a.example": refused"#;
        assert!(matches!(refusal(500, calling), Some(Refusal::Rejected(_))));
    }
}
