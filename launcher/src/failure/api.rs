//! Why the API server doesn't do what the launcher asks.

use std::error::Error as _;

use kube::core::Status;

use super::bound::quoted;
use super::{Evidence, Failure, Reason, admission};
use crate::client::Unreached;

const UNTRUSTED: &str = "check the certificate authority of the cluster in the kubeconfig";

/// Why a request failed that was to be `doing` something, such as `create Job etcd-1`.
///
/// That an object is missing, is there already or was changed is often no failure at all: the
/// caller looks at that first.
pub fn of_api(error: &kube::Error, doing: &str) -> Failure {
    let failure = match error {
        kube::Error::Api(status) => of_status(status, doing),
        kube::Error::Auth(_) => Failure::new(
            Reason::Forbidden,
            format!("cannot {doing}: the credentials can't be had: {}", quoted(&chain(error))),
        )
        .hinted(Some("look at the user of the kubeconfig; kubectl must work")),
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => {
            Failure::new(Reason::Internal, format!("cannot {doing}: {}", quoted(&chain(error))))
        }
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => Failure::new(
            Reason::ApiRefused,
            format!(
                "cannot {doing}: the answer isn't that of an API server: {}",
                quoted(&chain(error))
            ),
        )
        .hinted(Some("a proxy may have answered in its place")),
        kube::Error::InferConfig(_) | kube::Error::InferKubeconfig(_) => {
            let said = quoted(&chain(error));
            Failure::new(Reason::ApiUnreachable, format!("cannot {doing}: {said}")).transient(false)
        }
        kube::Error::Service(cause) => match cause.downcast_ref() {
            Some(unreached) => of_unreached(unreached),
            None => unreachable(&chain(error), doing),
        },
        _ => unreachable(&chain(error), doing),
    };
    failure.bounded()
}

fn of_status(status: &Status, doing: &str) -> Failure {
    let said = status.message.trim();
    let object = doing.split_once(' ').map_or(doing, |(_, object)| object);
    let refused = |reason, what: &str| {
        Failure::new(reason, format!("cannot {doing}: {what}: {}", quoted(said)))
    };
    let failure = match status.code {
        401 => refused(Reason::Forbidden, "the API server doesn't take the credentials")
            .hinted(Some("log in again; look at the user of the kubeconfig")),
        _ if is_terminating(status) => {
            refused(Reason::Namespace, "the namespace is on its way out")
        }
        _ => match admission::of_message(said, object) {
            Some(failure) => failure,
            None => of_code(status, refused),
        },
    };
    let state = Some(&status.reason).filter(|reason| !reason.is_empty()).cloned();
    failure.seen(Evidence {
        state: state.or_else(|| (status.code > 0).then(|| status.code.to_string())),
        said: Some(said.to_owned()).filter(|said| !said.is_empty()),
        ..Evidence::default()
    })
}

fn of_code(status: &Status, refused: impl Fn(Reason, &str) -> Failure) -> Failure {
    match status.code {
        403 => refused(Reason::Forbidden, "it is forbidden"),
        // It is being deleted, and then it isn't there.
        409 if status.message.contains("is being deleted") => {
            refused(Reason::Conflict, "the old one is being deleted")
        }
        409 if status.reason == "AlreadyExists" => {
            refused(Reason::NameTaken, "it is there already")
        }
        409 => refused(Reason::Conflict, "it was changed by others"),
        // `Expired`: a list or watch was too slow, and begins anew.
        408 | 410 | 429 | 500..=599 => {
            refused(Reason::ApiUnreachable, &format!("the API server answered {}", status.code))
        }
        _ => refused(Reason::ApiRefused, "the API server refuses it"),
    }
}

/// Whether the API server's words are its authorizer's, not those of admission or of the checks
/// that keep anyone from granting more than they have: `pods is forbidden: User "a" cannot create
/// resource "pods" ...`.
pub(crate) fn is_of_authorizer(said: &str) -> bool {
    said.contains("cannot create resource")
}

fn is_terminating(status: &Status) -> bool {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| cause.reason.as_str()).any(|reason| reason == "NamespaceTerminating")
}

/// The server has never answered, so the launcher does not wait for it, whatever the request was.
fn of_unreached(unreached: &Unreached) -> Failure {
    let hint = if unreached.is_untrusted {
        UNTRUSTED
    } else {
        "check the address of the server in the kubeconfig, and that the cluster is running"
    };
    Failure::new(Reason::ApiUnreachable, unreached).transient(false).hinted(Some(hint))
}

/// No answer at all. What the client says of it has no types of its own.
fn unreachable(said: &str, doing: &str) -> Failure {
    let is_untrusted = said.contains("certificate") || said.contains("UnknownIssuer");
    let what = if is_untrusted {
        "the API server's certificate isn't trusted"
    } else {
        "the API server doesn't answer"
    };
    let failure =
        Failure::new(Reason::ApiUnreachable, format!("cannot {doing}: {what}: {}", quoted(said)));
    let hint = is_untrusted.then_some(UNTRUSTED);
    failure
        .transient(!is_untrusted)
        .hinted(hint)
        .seen(Evidence { said: Some(said.to_owned()), ..Evidence::default() })
}

/// An error and its causes. Some repeat their cause in their own text: that isn't said twice.
fn chain(error: &kube::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        cause = error.source();
    }
    text
}
