//! The progress of a pod.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerStatus, Event, Pod};
use kube::ResourceExt;
use unlade_config_map::protocol::outcome::{self, Outcome};
use unlade_diagnose::{INSTALL_CONTAINER, UNPACK_CONTAINER};

use super::Attempt;
use super::budget::Phase;
use crate::Strategy;
use crate::launch::image::Wanted;
use crate::launch::watch::Seen;
use crate::strategy::WithPod;

/// Whether the images are on the node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::launch) struct Pulled {
    pub(in crate::launch) tool: bool,
    pub(in crate::launch) bundle: bool,
}

/// Returns the strategy of a Job, which another launch may have created.
pub(in crate::launch) fn job_strategy(job: &Job) -> Strategy {
    let pod = job.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let containers = pod.and_then(|pod| pod.init_containers.as_ref());
    let is_injected = containers.is_some_and(|containers| {
        containers.iter().any(|container| container.name == INSTALL_CONTAINER)
    });
    if is_injected { Strategy::Inject } else { Strategy::ImageVolume }
}

/// Returns the reference of the tool image in the template of a Job.
pub(in crate::launch) fn job_tool(job: &Job) -> Option<&str> {
    let pod = job.pod()?;
    let mut install =
        pod.init_containers.iter().flatten().filter(|it| it.name == INSTALL_CONTAINER);
    let mut unpack = pod.containers.iter().filter(|it| it.name == UNPACK_CONTAINER);
    install.next().or_else(|| unpack.next())?.image.as_deref()
}

/// Returns the phase of a pod.
pub(super) fn phase(pod: &Pod) -> Phase {
    if has_started(pod) {
        Phase::Run
    } else if node(pod).is_some() {
        Phase::Pull
    } else {
        Phase::Schedule
    }
}

/// Returns the pods of an attempt's Job, the newest first.
pub(in crate::launch) fn attempt_pods<'s>(seen: &'s Seen, attempt: &Attempt) -> Vec<&'s Pod> {
    let is_ours = |pod: &&Pod| pod.owner_references().iter().any(|owner| owner.uid == attempt.uid);
    let mut pods: Vec<_> = seen.pods.values().filter(is_ours).collect();
    pods.sort_by_key(|pod| std::cmp::Reverse(pod.creation_timestamp().map(|time| time.0)));
    pods
}

/// Returns the node that the pod is bound to.
pub(in crate::launch) fn node(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref().filter(|node| !node.is_empty())
}

/// Checks whether the pod has failed or is being deleted.
pub(in crate::launch) fn has_failed(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Failed") || pod.metadata.deletion_timestamp.is_some()
}

/// Checks whether the container that writes the ConfigMap has started.
pub(super) fn has_started(pod: &Pod) -> bool {
    unpack(pod).is_some_and(was_created)
}

/// Checks whether the container that writes the ConfigMap is running.
pub(super) fn is_running(pod: &Pod) -> bool {
    unpack(pod).and_then(|status| status.state.as_ref()?.running.as_ref()).is_some()
}

/// Returns the pods of an attempt that have written the ConfigMap `name`, the newest first, each
/// with the digest of the content, according to the termination message of the unpacker.
pub(super) fn writers<'s>(seen: &'s Seen, attempt: &Attempt, name: &str) -> Vec<(&'s Pod, String)> {
    let written = |pod: &Pod| {
        let mut written = outcomes(pod, name).filter(|it| it.verdict.is_success());
        written.find_map(|outcome| outcome.digest)
    };
    let pods = attempt_pods(seen, attempt).into_iter();
    pods.filter_map(|pod| Some((pod, written(pod)?))).collect()
}

/// Returns the outcomes for the ConfigMap `name`, according to the termination message of the
/// unpacker.
pub(super) fn outcomes(pod: &Pod, name: &str) -> impl Iterator<Item = Outcome> {
    let terminated = unpack(pod).and_then(|status| status.state.as_ref()?.terminated.as_ref());
    let message = terminated.and_then(|ended| ended.message.as_deref());
    let outcomes = message.map(outcome::parse).unwrap_or_default().into_iter();
    outcomes.filter(move |it| it.config_map == name)
}

/// Checks whether this event reports that the image is on the node, because the kubelet has pulled
/// it or because it was already present.
pub(in crate::launch) fn reports_image_present(event: &Event, image: &str) -> bool {
    event.reason.as_deref() == Some("Pulled")
        && event.message.as_ref().is_some_and(|message| message.contains(&format!("\"{image}\"")))
}

/// Finds out which images are on the node, from the state of their containers and the kubelet's
/// events.
pub(super) fn pulled(pod: &Pod, wanted: &Wanted, events: &[Event]) -> Pulled {
    let spec = pod.spec.as_ref();
    let is_pulled = |image: Option<&str>| {
        image.is_some_and(|image| events.iter().any(|event| reports_image_present(event, image)))
    };
    let container =
        spec.and_then(|spec| spec.containers.iter().find(|it| it.name == UNPACK_CONTAINER));
    let image = container.and_then(|container| container.image.as_deref());
    let started = has_started(pod);
    if wanted.strategy == Strategy::ImageVolume {
        let mut volumes = spec.and_then(|spec| spec.volumes.as_ref()).into_iter().flatten();
        let volume = volumes.find(|volume| volume.name == wanted.volume);
        let bundle = volume.and_then(|volume| volume.image.as_ref()?.reference.as_deref());
        return Pulled { tool: started || is_pulled(image), bundle: started || is_pulled(bundle) };
    }
    let install = install(pod).is_some_and(was_created);
    Pulled { tool: started || install, bundle: started || is_pulled(image) }
}

fn was_created(status: &ContainerStatus) -> bool {
    let state = status.state.as_ref();
    state.is_some_and(|state| state.running.is_some() || state.terminated.is_some())
}

fn unpack(pod: &Pod) -> Option<&ContainerStatus> {
    let statuses = pod.status.as_ref()?.container_statuses.as_ref()?;
    statuses.iter().find(|status| status.name == UNPACK_CONTAINER)
}

fn install(pod: &Pod) -> Option<&ContainerStatus> {
    let statuses = pod.status.as_ref()?.init_container_statuses.as_ref()?;
    statuses.iter().find(|status| status.name == INSTALL_CONTAINER)
}
