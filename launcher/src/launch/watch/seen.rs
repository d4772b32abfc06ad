//! [`Seen`]: what the watches of an attempt have observed, as plain data that tests build.

use std::collections::BTreeMap;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::ResourceExt;
use kube::runtime::watcher::Event as Change;

use super::event::Events;
use crate::Failure;
use crate::launch::image::Sighting;

/// An object that is watched by its name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::launch) enum Presence<T> {
    /// The object has not been listed yet.
    #[default]
    Unknown,
    /// The object exists.
    There(Box<T>),
    /// The object does not exist.
    Gone,
}

impl<T> Presence<T> {
    /// Returns the object, if it exists.
    pub(in crate::launch) fn object(&self) -> Option<&T> {
        match self {
            Self::There(object) => Some(object),
            _ => None,
        }
    }
}

/// Everything that was observed of one attempt.
#[derive(Debug, Default)]
pub(in crate::launch) struct Seen {
    pub(in crate::launch) config_map: Presence<ConfigMap>,
    pub(in crate::launch) job: Presence<Job>,
    /// The largest number of pods that the status of the Job has counted. It stays if the Job is
    /// deleted.
    pub(in crate::launch) n_pods: usize,
    /// The pods of the Job, by name.
    pub(in crate::launch) pods: BTreeMap<String, Pod>,
    /// The images of the pods, by uid. They include pods that no longer exist.
    pub(in crate::launch) images: BTreeMap<String, Sighting>,
    /// The namespace, which stays unknown if the caller may not read namespaces.
    pub(in crate::launch) namespace: Presence<Namespace>,
    /// The events of the Job and of its pods.
    pub(in crate::launch) events: Events,
    /// Why a watch is failing at present.
    pub(in crate::launch) trouble: Option<Failure>,
}

impl Seen {
    /// Adds the number of pods in a version of the Job.
    pub(in crate::launch) fn note_job(&mut self, job: &Job) {
        let status = job.status.as_ref();
        let counts = status.map_or([None; 3], |it| [it.active, it.failed, it.succeeded]);
        let counts = counts.into_iter().flatten().filter_map(|count| usize::try_from(count).ok());
        self.n_pods = self.n_pods.max(counts.sum());
    }

    /// Adds the images of a version of a pod.
    pub(in crate::launch) fn note(&mut self, pod: &Pod) {
        self.note_version(pod, !is_scheduled(pod));
    }

    /// Adds the images of a pod in a new list, which does not show its earlier versions.
    pub(in crate::launch) fn note_listed(&mut self, pod: &Pod) {
        self.note_version(pod, false);
    }

    /// Adds a version of a pod, which may be the first one.
    fn note_version(&mut self, pod: &Pod, may_be_first: bool) {
        let is_known = pod.uid().is_some_and(|uid| self.images.contains_key(&uid));
        let sighting = sighting(&mut self.images, pod);
        sighting.note(pod);
        // Since 1.33, Kubernetes counts the specifications of a pod.
        if !is_known && !may_be_first && pod.metadata.generation.is_none() {
            sighting.note_unseen();
        }
    }

    /// Notes that a new list of the pods is complete. It lacks those that were deleted, and those
    /// whose label was removed.
    pub(in crate::launch) fn note_list(&mut self, listed: &BTreeMap<String, Pod>) {
        for (name, pod) in &self.pods {
            if listed.get(name).is_none_or(|it| it.uid() != pod.uid()) {
                note_absence(&mut self.images, pod);
            }
        }
    }

    /// Notes that the watch reports a pod as deleted. It also does so for a pod whose label was
    /// removed.
    pub(in crate::launch) fn note_deletion(&mut self, pod: &Pod) {
        self.note(pod);
        note_absence(&mut self.images, pod);
    }
}

/// Checks whether all containers of the pod have ended, so that none of them starts again.
pub(in crate::launch) fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Failed" | "Succeeded"))
}

/// Checks whether the scheduler has bound the pod to a node, which changes the pod.
fn is_scheduled(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "PodScheduled" && condition.status == "True")
}

/// Notes that the watch no longer shows a pod, whose last observed version this is. The pod can
/// still run if it has not ended and its deletion was not observed.
fn note_absence(images: &mut BTreeMap<String, Sighting>, pod: &Pod) {
    if pod.metadata.deletion_timestamp.is_none() && !is_over(pod) {
        sighting(images, pod).note_loss();
    }
}

fn sighting<'i>(images: &'i mut BTreeMap<String, Sighting>, pod: &Pod) -> &'i mut Sighting {
    images.entry(pod.uid().unwrap_or_default()).or_default()
}

// `kube::runtime::reflector` applies changes in the same way, but to a store behind a lock that
// only a writer can fill. [`Seen`] is plain data that tests build, and a [`Presence`] distinguishes
// an object that is gone from one that has not been listed yet.

/// Applies a change to the only object of a watch.
pub(super) fn apply_single<T>(change: Change<T>, now: &mut Presence<T>, listing: &mut Presence<T>) {
    match change {
        Change::Init => *listing = Presence::Gone,
        Change::InitApply(object) => *listing = Presence::There(Box::new(object)),
        Change::InitDone => *now = std::mem::take(listing),
        Change::Apply(object) => *now = Presence::There(Box::new(object)),
        Change::Delete(_) => *now = Presence::Gone,
    }
}

/// Applies a change to one of the objects of a watch.
pub(super) fn apply_keyed<T: ResourceExt>(
    change: Change<T>,
    now: &mut BTreeMap<String, T>,
    listing: &mut BTreeMap<String, T>,
) {
    match change {
        Change::Init => listing.clear(),
        Change::InitApply(object) => drop(listing.insert(object.name_any(), object)),
        Change::InitDone => *now = std::mem::take(listing),
        Change::Apply(object) => drop(now.insert(object.name_any(), object)),
        Change::Delete(object) => drop(now.remove(&object.name_any())),
    }
}
