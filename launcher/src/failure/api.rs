//! Classification of failed requests to the API server.

use kube::core::Status;
use unlade_text::chain;

use super::bound::quoted;
use super::{Evidence, Failure, Reason, admission};
use crate::client::Unreached;

const UNTRUSTED: &str = "check the certificate authority of the cluster in the kubeconfig";

/// Classifies the error of a request. `doing` describes the request, such as `create Job etcd-1`.
///
/// A missing, existing or changed object is often not a failure. Callers handle these cases first.
pub fn classify_request_error(error: &kube::Error, doing: &str) -> Failure {
    let failure = match error {
        kube::Error::Api(status) => classify_status(status, doing),
        kube::Error::Auth(_) => Failure::new(
            Reason::Forbidden,
            format!("failed to {doing}: failed to obtain credentials: {}", quoted(&chain(error))),
        )
        .with_hint(Some("check the user in the kubeconfig, and whether kubectl works with it")),
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => {
            Failure::new(Reason::Internal, format!("failed to {doing}: {}", quoted(&chain(error))))
        }
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Failure::new(
            Reason::ApiRefused,
            format!(
                "failed to {doing}: the reply does not come from an API server: {}",
                quoted(&chain(error))
            ),
        )
        .with_hint(Some("a proxy may have replied instead")),
        kube::Error::InferConfig(_) | kube::Error::InferKubeconfig(_) => {
            let said = quoted(&chain(error));
            Failure::new(Reason::ApiUnreachable, format!("failed to {doing}: {said}"))
                .with_transience(false)
        }
        kube::Error::Service(cause) => match cause.downcast_ref() {
            Some(unreached) => unreached_failure(unreached),
            None => no_reply(&chain(error), doing),
        },
        _ => no_reply(&chain(error), doing),
    };
    failure.bounded()
}

fn classify_status(status: &Status, doing: &str) -> Failure {
    let said = status.message.trim();
    let object = doing.split_once(' ').map_or(doing, |(_, object)| object);
    let rejected = |reason, what: &str| {
        Failure::new(reason, format!("failed to {doing}: {what}: {}", quoted(said)))
    };
    let failure = match status.code {
        401 => rejected(Reason::Forbidden, "the API server rejects the credentials")
            .with_hint(Some("log in again, and check the user in the kubeconfig")),
        _ if is_terminating(status) => {
            rejected(Reason::Namespace, "the namespace is being deleted")
        }
        _ => match admission::classify(said, object) {
            Some(failure) => failure,
            None => classify_code(status, rejected),
        },
    };
    let state = Some(&status.reason).filter(|reason| !reason.is_empty()).cloned();
    failure.with_evidence(Evidence {
        state: state.or_else(|| (status.code > 0).then(|| status.code.to_string())),
        said: Some(said.to_owned()).filter(|said| !said.is_empty()),
        ..Evidence::default()
    })
}

fn classify_code(status: &Status, rejected: impl Fn(Reason, &str) -> Failure) -> Failure {
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
        408 | 410 | 429 | 500..=599 => {
            rejected(Reason::ApiUnreachable, &format!("the API server answered {}", status.code))
        }
        _ => rejected(Reason::ApiRefused, "the API server rejects the request"),
    }
}

/// Checks whether the message comes from the API server's authorizer, and not from admission or
/// from the check against privilege escalation: `pods is forbidden: User "a" cannot create resource
/// "pods" ...`.
pub(crate) fn is_from_authorizer(said: &str) -> bool {
    said.contains("cannot create resource")
}

fn is_terminating(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| cause.reason.as_str()).any(|reason| reason == "NamespaceTerminating")
}

/// Returns a permanent failure: the server has never answered, so waiting for it is pointless.
fn unreached_failure(unreached: &Unreached) -> Failure {
    let hint = if unreached.is_untrusted {
        UNTRUSTED
    } else {
        "check the server address in the kubeconfig, and that the cluster is running"
    };
    Failure::new(Reason::ApiUnreachable, unreached).with_transience(false).with_hint(Some(hint))
}

/// Classifies a request that got no reply, by the text of the client's error, which has no type.
fn no_reply(said: &str, doing: &str) -> Failure {
    let is_untrusted = said.contains("certificate") || said.contains("UnknownIssuer");
    let what = if is_untrusted {
        "the API server's certificate is not trusted"
    } else {
        "the API server does not answer"
    };
    let failure = Failure::new(
        Reason::ApiUnreachable,
        format!("failed to {doing}: {what}: {}", quoted(said)),
    );
    let hint = is_untrusted.then_some(UNTRUSTED);
    failure
        .with_transience(!is_untrusted)
        .with_hint(hint)
        .with_evidence(Evidence { said: Some(said.to_owned()), ..Evidence::default() })
}
