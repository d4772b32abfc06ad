//! Classification of pods that cannot start or that failed.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{ContainerStateWaiting, ContainerStatus, Event, Pod};

use super::container::{self, State};
use super::{Failure, ObjectRef, Reason, event, pull, schedule, setup, worst};

/// The beginning of the message of an event about a failed pull. The image's name and the cause
/// follow.
const PULL_FAILED: &str = "Failed to pull image";

/// The reason of an event about pull secrets. The message contains their names.
const SECRET_NOT_RETRIEVED: &str = "FailedToRetrieveImagePullSecret";

/// Returns the message of an event which reports that a kubelet failed to retrieve pull secrets.
/// The message contains their names.
pub fn unretrieved_secrets(event: &Event) -> Option<Cow<'_, str>> {
    (event::reason(event) == SECRET_NOT_RETRIEVED).then(|| event::message(event))
}

/// Returns what prevents `pod` from completing, or why it failed. Returns `None` if the pod makes
/// progress or has succeeded.
///
/// `events` may include events about other objects, which are ignored. Without the events of the
/// pod two things remain unknown: why the pod is not set up and, with kubelets that do not repeat
/// the cause in the container's state, why an image is not pulled.
pub fn classify_pod(pod: &Pod, events: &[Event]) -> Option<Failure> {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if phase == Some("Succeeded") {
        return None;
    }
    let object = &ObjectRef::pod(pod.metadata.name.as_deref().unwrap_or_default());
    let events = &event::about(events, &pod.metadata);
    let containers = container::statuses(pod)
        .filter_map(|status| classify_container(pod, status, object, events));
    let of_the_pod = [
        schedule::classify_status(pod, object),
        schedule::classify_disruption(pod, object),
        schedule::classify_scheduling(pod, object),
        schedule::classify_node(pod, object, events),
        setup::classify_setup(pod, object, events),
    ];
    worst(containers.chain(of_the_pod.into_iter().flatten())).map(Failure::bounded)
}

fn classify_container(
    pod: &Pod,
    status: &ContainerStatus,
    object: &ObjectRef,
    events: &[&Event],
) -> Option<Failure> {
    let name = &status.name;
    let failure = match container::state(status) {
        State::Healthy | State::Pending => return None,
        State::Pulling(waiting) => classify_pull(pod, waiting, status, events),
        State::Stuck(waiting) => container::classify_waiting(
            waiting,
            name,
            &image(pod, status, &container::message(waiting), events),
        ),
        State::Terminated(ended) => container::classify_terminated(ended, name, &status.image),
    };
    let evidence = container::evidence(object, status);
    Some(failure.with_evidence(evidence))
}

fn classify_pull(
    pod: &Pod,
    waiting: &ContainerStateWaiting,
    status: &ContainerStatus,
    events: &[&Event],
) -> Failure {
    let (state, message) = (container::reason(waiting), &*container::message(waiting));
    let image = &image(pod, status, message, events);
    let failure = pull::classify(state, message, image)
        .or_else(|| {
            // While a kubelet backs off, the container's state may no longer name the cause. The
            // event does.
            let is_cause = |event: &&&Event| {
                let message = event::message(event);
                event::reason(event) == "Failed"
                    && message.starts_with(PULL_FAILED)
                    && message.contains(&format!("\"{image}\""))
            };
            let event = events.iter().find(is_cause)?;
            pull::classify(state, &event::message(event), image)
        })
        .unwrap_or_else(|| pull::unknown(message, image));
    let missing = events.iter().find_map(|event| unretrieved_secrets(event));
    match missing.as_deref() {
        Some(missing) if failure.reason == Reason::Unauthorized => Failure::new(
            Reason::NoPullSecret,
            format!("{}, and {}", describe_unretrieved_secrets(missing), failure.message),
        ),
        Some(missing) if failure.reason == Reason::ImageNotFound => match &failure.hint {
            Some(hint) => {
                let hint = format!("{hint}; {}", describe_unretrieved_secrets(missing));
                failure.with_advice(hint, &[])
            }
            None => failure,
        },
        _ => failure,
    }
}

/// Rephrases `Unable to retrieve some image pull secrets (a, b); attempting ...` as a clause.
fn describe_unretrieved_secrets(message: &str) -> String {
    let names = message.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let names = names.map_or(message, |(names, _)| names);
    if names.contains(", ") {
        format!("the kubelet failed to retrieve the pull secrets {names}")
    } else {
        format!("the kubelet failed to retrieve the pull secret {names}")
    }
}

/// Returns the image of a volume or of the container that `message` names. If `message` names none,
/// an event with the same message or about a pull in progress decides. Events may arrive later than
/// the state that they explain, and not every message names an image; then all candidates are
/// returned.
fn image(pod: &Pod, status: &ContainerStatus, message: &str, events: &[&Event]) -> String {
    let spec = pod.spec.as_ref();
    let volumes = spec.and_then(|spec| spec.volumes.as_ref()).into_iter().flatten();
    let volumes = volumes.filter_map(|volume| volume.image.as_ref()?.reference.as_deref());
    let init = spec.and_then(|spec| spec.init_containers.as_ref()).into_iter().flatten();
    let main = spec.into_iter().flat_map(|spec| &spec.containers);
    let own = init.chain(main).find(|container| container.name == status.name);
    // The image in the status may be a digest that was resolved from another name.
    let own = own.and_then(|container| container.image.as_deref()).unwrap_or(&status.image);
    let images: Vec<_> = volumes.chain([own]).filter(|image| !image.is_empty()).collect();
    let named = |text: &str| {
        let named = images.iter().filter(|image| text.contains(**image));
        named.max_by_key(|image| image.len()).map(|image| (*image).to_owned())
    };
    let messages = || events.iter().map(|event| event::message(event));
    let same = || messages().filter(|it| it.starts_with(PULL_FAILED) && it.contains(message));
    let pulling = || messages().filter(|it| it.starts_with("Pulling image"));
    named(message)
        .or_else(|| same().find_map(|it| named(&it)))
        .or_else(|| pulling().find_map(|it| named(&it)))
        .unwrap_or_else(|| images.join(" or "))
}
