//! Classification of the errors of kube's client.

use unlade_diagnose::{RequestError, Status};
use unlade_text::chain;

use super::Unreached;
use crate::Failure;

/// Classifies the error of a request. `doing` describes the request, such as `create the Job
/// etcd-1`.
pub(crate) fn classify_request_error(error: &kube::Error, doing: &str) -> Failure {
    let message = chain(error);
    let error = match error {
        kube::Error::Api(status) => RequestError::Status(Status {
            code: status.code,
            reason: &status.reason,
            message: &status.message,
            is_namespace_terminating: is_terminating(status),
        }),
        kube::Error::Auth(_) => RequestError::Credentials(&message),
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => RequestError::Request(&message),
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => RequestError::Response(&message),
        kube::Error::InferConfig(_) | kube::Error::InferKubeconfig(_) => {
            RequestError::Configuration(&message)
        }
        kube::Error::Service(cause) => match cause.downcast_ref::<Unreached>() {
            Some(unreached) => {
                let message = unreached.to_string();
                let error = RequestError::Unreached {
                    message: &message,
                    is_untrusted: unreached.is_untrusted,
                };
                return unlade_diagnose::classify_request_error(error, doing);
            }
            None => RequestError::NoResponse(&message),
        },
        _ => RequestError::NoResponse(&message),
    };
    unlade_diagnose::classify_request_error(error, doing)
}

fn is_terminating(status: &kube::core::Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| cause.reason.as_str()).any(|reason| reason == "NamespaceTerminating")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reason;

    #[test]
    fn a_terminating_namespace_is_known_by_the_cause_in_the_status() {
        let json = r#"{"code": 403, "message": "no", "reason": "Forbidden",
            "details": {"causes": [{"reason": "NamespaceTerminating", "message": "", "field": ""}]}}"#;
        let status: kube::core::Status = serde_json::from_str(json).unwrap();
        let error = kube::Error::Api(status.boxed());
        let failure = classify_request_error(&error, "create Job etcd-1");
        assert_eq!(failure.reason, Reason::Namespace);
        assert_eq!(failure.evidence.message.as_deref(), Some("no"));
    }

    #[test]
    fn an_error_is_reported_with_its_causes() {
        let message = "client error (Connect): tcp connect error: Connection refused";
        let failure =
            classify_request_error(&kube::Error::Service(message.into()), "get the ConfigMap etcd");
        assert_eq!(
            failure.message,
            format!(
                "failed to get the ConfigMap etcd: the API server does not respond: \
                 \"ServiceError: {message}\""
            )
        );
    }
}
