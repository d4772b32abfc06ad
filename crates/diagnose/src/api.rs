//! Classification of failed requests to the API server.

use super::bound::quoted;
use super::{Evidence, Failure, Reason, admission};

const UNTRUSTED: &str = "check the certificate authority of the cluster in the kubeconfig";

/// Why a request to the API server failed. The texts are those of the client, with all causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestError<'a> {
    /// The API server responded with an error.
    Status(Status<'a>),
    /// The client could not obtain credentials.
    Credentials(&'a str),
    /// The client could not build the request.
    Request(&'a str),
    /// The response does not come from an API server.
    Response(&'a str),
    /// The configuration of the client is missing or invalid.
    Configuration(&'a str),
    /// The API server did not respond.
    NoResponse(&'a str),
    /// No API server has ever responded at this address.
    Unreached {
        /// The whole message.
        message: &'a str,
        /// Whether the certificate of the server is not trusted.
        is_untrusted: bool,
    },
}

/// An error with which the API server responded, as in the `Status` of Kubernetes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Status<'a> {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason, such as `AlreadyExists`, or empty.
    pub reason: &'a str,
    /// The message.
    pub message: &'a str,
    /// Whether a cause in the details has the reason `NamespaceTerminating`.
    pub is_namespace_terminating: bool,
}

/// Classifies the error of a request. `doing` describes the request, such as `create the Job
/// etcd-1`.
///
/// A missing, existing or changed object is often not a failure. Callers handle these cases first.
pub fn classify_request_error(error: RequestError<'_>, doing: &str) -> Failure {
    let failed = |reason, how: &str, message: &str| {
        Failure::new(reason, format!("failed to {doing}: {how}{}", quoted(message)))
    };
    let failure = match error {
        RequestError::Status(status) => classify_status(status, doing),
        RequestError::Credentials(message) => {
            failed(Reason::Forbidden, "failed to obtain credentials: ", message).with_advice(
                "check the user in the kubeconfig, and whether kubectl works with it",
                &[],
            )
        }
        RequestError::Request(message) => failed(Reason::Internal, "", message),
        RequestError::Response(message) => {
            failed(Reason::ApiRefused, "the response does not come from an API server: ", message)
                .with_advice("check whether a proxy responded instead of the API server", &[])
        }
        RequestError::Configuration(message) => {
            failed(Reason::ApiUnreachable, "", message).with_transience(false)
        }
        RequestError::NoResponse(message) => no_reply(message, doing),
        RequestError::Unreached { message, is_untrusted } => {
            unreached_failure(message, is_untrusted)
        }
    };
    failure.bounded()
}

fn classify_status(status: Status<'_>, doing: &str) -> Failure {
    let message = status.message.trim();
    let object = doing.split_once(' ').map_or(doing, |(_, object)| object);
    let rejected = |reason, what: &str| {
        Failure::new(reason, format!("failed to {doing}: {what}: {}", quoted(message)))
    };
    let failure = match status.code {
        401 => rejected(Reason::Forbidden, "the API server rejects the credentials")
            .with_advice("log in again, and check the user in the kubeconfig", &[]),
        _ if status.is_namespace_terminating => {
            rejected(Reason::Namespace, "the namespace is being deleted")
        }
        _ => match admission::classify(message, object) {
            Some(failure) => failure,
            None => classify_code(status, rejected),
        },
    };
    let state = Some(status.reason).filter(|reason| !reason.is_empty()).map(str::to_owned);
    failure.with_evidence(Evidence {
        state: state.or_else(|| (status.code > 0).then(|| status.code.to_string())),
        message: Some(message.to_owned()).filter(|message| !message.is_empty()),
        ..Evidence::default()
    })
}

fn classify_code(status: Status<'_>, rejected: impl Fn(Reason, &str) -> Failure) -> Failure {
    match status.code {
        403 => rejected(Reason::Forbidden, "the request is forbidden"),
        // The name is free once the deletion is complete.
        409 if status.message.contains("is being deleted") => {
            rejected(Reason::Conflict, "the existing object is being deleted")
        }
        409 if status.reason == "AlreadyExists" => {
            rejected(Reason::NameTaken, "the object already exists")
        }
        409 => rejected(Reason::Conflict, "someone else changed the object"),
        // 410 is `Expired`: a list or watch was too slow, and has to start again.
        408 | 410 | 429 | 500..=599 => rejected(
            Reason::ApiUnreachable,
            &format!("the API server responded with status {}", status.code),
        ),
        _ => rejected(Reason::ApiRefused, "the API server rejects the request"),
    }
}

/// Checks whether the message comes from the API server's authorizer, and not from admission or
/// from the check against privilege escalation: `pods is forbidden: User "a" cannot create resource
/// "pods" ...`.
pub fn is_from_authorizer(message: &str) -> bool {
    message.contains("cannot create resource")
}

/// Returns a permanent failure: the server has never responded, so waiting for it is pointless.
fn unreached_failure(message: &str, is_untrusted: bool) -> Failure {
    let hint = if is_untrusted {
        UNTRUSTED
    } else {
        "check the server address in the kubeconfig, and that the cluster is running"
    };
    Failure::new(Reason::ApiUnreachable, message).with_transience(false).with_advice(hint, &[])
}

/// Classifies a request that got no response, by the text of the client's error, which has no type.
fn no_reply(message: &str, doing: &str) -> Failure {
    let is_untrusted = message.contains("certificate") || message.contains("UnknownIssuer");
    let what = if is_untrusted {
        "the API server's certificate is not trusted"
    } else {
        "the API server does not respond"
    };
    let failure = Failure::new(
        Reason::ApiUnreachable,
        format!("failed to {doing}: {what}: {}", quoted(message)),
    );
    let failure = if is_untrusted { failure.with_advice(UNTRUSTED, &[]) } else { failure };
    failure
        .with_transience(!is_untrusted)
        .with_evidence(Evidence { message: Some(message.to_owned()), ..Evidence::default() })
}
