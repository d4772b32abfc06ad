//! What is wrong with a pod.

use k8s_openapi::api::core::v1::{ContainerStateWaiting, ContainerStatus, Event, Pod};

use super::container::{self, State};
use super::{Failure, Reason, event, pull, schedule, setup, worst};

/// How the event that a pull failed begins; the image's name and the cause follow.
const PULL_FAILED: &str = "Failed to pull image";

/// What keeps `pod` from its end, or made it fail; nothing if it is on its way or has succeeded.
///
/// `events` may hold those of other objects: only those about the pod are looked at. Without them
/// less is known: why a pod isn't set up, and, from kubelets that don't repeat it in the container's
/// state, why an image isn't pulled.
pub fn of_pod(pod: &Pod, events: &[Event]) -> Option<Failure> {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    if phase == Some("Succeeded") {
        return None;
    }
    let object = &format!("pod/{}", pod.metadata.name.as_deref().unwrap_or_default());
    let events = &event::about(events, &pod.metadata);
    let containers =
        container::statuses(pod).filter_map(|status| of_container(pod, status, object, events));
    let of_pod = [
        schedule::taken_down(pod, object),
        schedule::disrupted(pod, object),
        schedule::unscheduled(pod, object),
        schedule::unready(pod, object, events),
        setup::failed(pod, object, events),
    ];
    worst(containers.chain(of_pod.into_iter().flatten())).map(Failure::bounded)
}

fn of_container(
    pod: &Pod,
    status: &ContainerStatus,
    object: &str,
    events: &[&Event],
) -> Option<Failure> {
    let name = &status.name;
    let failure = match container::state(status) {
        State::Well | State::Coming => return None,
        State::Pulling(waiting) => unpulled(pod, waiting, status, events),
        State::Stuck(waiting) => {
            container::stuck(waiting, name, &image(pod, status, container::said(waiting), events))
        }
        State::Ended(ended) => container::ended(ended, name, &status.image),
    };
    let evidence = container::evidence(object, status);
    Some(failure.seen(evidence))
}

fn unpulled(
    pod: &Pod,
    waiting: &ContainerStateWaiting,
    status: &ContainerStatus,
    events: &[&Event],
) -> Failure {
    let (state, said) = (container::reason(waiting), container::said(waiting));
    let image = &image(pod, status, said, events);
    let failure = pull::of_message(state, said, image)
        .or_else(|| {
            // A kubelet that backs off may not say any more what from; its event does.
            let is_cause = |event: &&&Event| {
                let message = event::message(event);
                event::reason(event) == "Failed"
                    && message.starts_with(PULL_FAILED)
                    && message.contains(image)
            };
            let event = events.iter().find(is_cause)?;
            pull::of_message(state, event::message(event), image)
        })
        .unwrap_or_else(|| pull::unknown(said, image));
    let missing =
        events.iter().find(|event| event::reason(event) == "FailedToRetrieveImagePullSecret");
    match missing.map(|event| event::message(event)) {
        Some(missing) if failure.reason == Reason::Unauthorized => Failure::new(
            Reason::NoPullSecret,
            format!("{}, and {}", secrets(missing), failure.message),
        ),
        Some(missing) if failure.reason == Reason::ImageNotFound => {
            let hint = failure.hint.clone().map(|hint| format!("{hint}; {}", secrets(missing)));
            failure.hinted(hint)
        }
        _ => failure,
    }
}

/// `Unable to retrieve some image pull secrets (a, b); attempting ...` as half a sentence.
fn secrets(said: &str) -> String {
    let names = said.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
    let names = names.map_or(said, |(names, _)| names);
    if names.contains(", ") {
        format!("pull secrets {names} are missing")
    } else {
        format!("pull secret {names} is missing")
    }
}

/// The image that `said` speaks of, or an event that says the same, or that was being pulled: that
/// of a volume, or the container's own. Events may come later than the state that they explain, and
/// not every message has a name; then it is either.
fn image(pod: &Pod, status: &ContainerStatus, said: &str, events: &[&Event]) -> String {
    let spec = pod.spec.as_ref();
    let volumes = spec.and_then(|spec| spec.volumes.as_ref()).into_iter().flatten();
    let volumes = volumes.filter_map(|volume| volume.image.as_ref()?.reference.as_deref());
    let init = spec.and_then(|spec| spec.init_containers.as_ref()).into_iter().flatten();
    let main = spec.into_iter().flat_map(|spec| &spec.containers);
    let own = init.chain(main).find(|container| container.name == status.name);
    // That of the status may be the digest that another name led to.
    let own = own.and_then(|container| container.image.as_deref()).unwrap_or(&status.image);
    let images: Vec<_> = volumes.chain([own]).filter(|image| !image.is_empty()).collect();
    let named = |text: &str| {
        let named = images.iter().filter(|image| text.contains(**image));
        named.max_by_key(|image| image.len()).map(|image| (*image).to_owned())
    };
    let messages = || events.iter().map(|event| event::message(event));
    let same = || messages().filter(|it| it.starts_with(PULL_FAILED) && it.contains(said));
    let pulling = || messages().filter(|it| it.starts_with("Pulling image"));
    named(said)
        .or_else(|| same().find_map(named))
        .or_else(|| pulling().find_map(named))
        .unwrap_or_else(|| images.join(" or "))
}
