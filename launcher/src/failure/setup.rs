//! Why a node can't set a pod up, before there is any container.

use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod};

use super::bound::quoted;
use super::{Failure, Reason, container, event};

/// What the newest event of a pod that isn't set up tells.
pub(super) fn failed(pod: &Pod, object: &str, events: &[&Event]) -> Option<Failure> {
    let is_coming =
        |status: &ContainerStatus| matches!(container::state(status), container::State::Coming);
    if !container::statuses(pod).all(is_coming) {
        return None;
    }
    let event = events.iter().find(|event| matters(event::reason(event)))?;
    let said = event::message(event);
    let cause = quoted(said);
    let failure = match event::reason(event) {
        // The node got further since.
        "Pulling" | "Pulled" | "Created" | "Started" => return None,
        "FailedMount" | "FailedAttachVolume" if is_missing_account(said) => Failure::new(
            Reason::NoServiceAccount,
            format!("the service account of {object} is missing: {cause}"),
        ),
        _ => Failure::new(Reason::Sandbox, format!("the node can't set {object} up: {cause}")),
    };
    Some(failure.seen(event::evidence(event, object)))
}

fn matters(reason: &str) -> bool {
    const FAILED: [&str; 7] = [
        "FailedMount",
        "FailedAttachVolume",
        "FailedCreatePodSandBox",
        "FailedPodSandBoxStatus",
        "NetworkNotReady",
        "FailedCreatePodContainer",
        "FailedSync",
    ];
    const WENT_ON: [&str; 4] = ["Pulling", "Pulled", "Created", "Started"];
    FAILED.contains(&reason) || WENT_ON.contains(&reason)
}

/// `failed to fetch token: serviceaccounts "NAME" not found`.
fn is_missing_account(said: &str) -> bool {
    said.contains("serviceaccounts \"") && said.contains("not found")
}
