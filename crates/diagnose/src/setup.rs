//! Failures of a node to set up a pod, before any container exists.

use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod};

use super::bound::quoted;
use super::{Failure, ObjectRef, Reason, container, event};

/// Classifies the newest event of a pod whose containers have not been created.
pub(super) fn classify_setup(pod: &Pod, object: &ObjectRef, events: &[&Event]) -> Option<Failure> {
    let is_pending =
        |status: &ContainerStatus| matches!(container::state(status), container::State::Pending);
    if !container::statuses(pod).all(is_pending) {
        return None;
    }
    let event = events.iter().find(|event| is_relevant(event::reason(event)))?;
    let message = &*event::message(event);
    let cause = quoted(message);
    let failure = match event::reason(event) {
        // The node has made progress since.
        reason if PROGRESS.contains(&reason) => return None,
        "FailedMount" | "FailedAttachVolume" if is_missing_account(message) => Failure::new(
            Reason::NoServiceAccount,
            format!("the service account of {object} does not exist: {cause}"),
        ),
        _ if message.contains(container::BELOW_MINIMUM) => Failure::new(
            Reason::OutOfMemory,
            format!("the memory limit of {object} is too low to start it: {cause}"),
        ),
        _ => Failure::new(Reason::Sandbox, format!("the node failed to set up {object}: {cause}")),
    };
    Some(failure.with_evidence(event::evidence(event, object)))
}

/// The reasons of events that show that a node has set up the pod.
const PROGRESS: [&str; 4] = ["Pulling", "Pulled", "Created", "Started"];

fn is_relevant(reason: &str) -> bool {
    const FAILED: [&str; 7] = [
        "FailedMount",
        "FailedAttachVolume",
        "FailedCreatePodSandBox",
        "FailedPodSandBoxStatus",
        "NetworkNotReady",
        "FailedCreatePodContainer",
        "FailedSync",
    ];
    FAILED.contains(&reason) || PROGRESS.contains(&reason)
}

/// Checks whether the message is `failed to fetch token: serviceaccounts "NAME" not found`.
fn is_missing_account(message: &str) -> bool {
    message.contains("serviceaccounts \"") && message.contains("not found")
}
