//! [`Sighting`]: the images in the versions of one pod, or in the template of a Job.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod, PodSpec};
use kube::ResourceExt;
use unlade_diagnose::{INSTALL_CONTAINER, UNPACK_CONTAINER};

use crate::ObjectRef;
use crate::object::pod::mount_path;
use crate::strategy::WithPod;
use unlade_name::ImageReference;

/// The images in all observed versions of one pod. It is kept after the pod was deleted.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::launch) struct Sighting {
    /// The pod or the Job.
    pub(super) object: ObjectRef,
    /// The uids of the owners in all versions, because others can remove an owner.
    owners: Values,
    /// The uid of the controller in the newest version.
    controller: Option<String>,
    pub(in crate::launch) created: Option<Timestamp>,
    /// The number of specifications that the pod has had so far, which Kubernetes counts since
    /// 1.33.
    n_specs: i64,
    /// Whether the pod may have had a specification that was not observed.
    pub(super) has_unseen: bool,
    /// Whether the watch no longer shows the pod, so that others can change it unobserved.
    pub(super) is_lost: bool,
    /// The container that installs the unpacker.
    pub(super) install: PartImages,
    /// The container that writes the ConfigMap.
    pub(super) unpack: PartImages,
    /// The image volumes that are mounted where the unpacker reads them, by name.
    volumes: BTreeMap<String, PartImages>,
    /// A volume that no version has.
    absent: PartImages,
}

/// The references and reports of one image.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PartImages {
    references: Values,
    reports: Values,
    /// Whether the node will report nothing more.
    pub(super) has_reported: bool,
}

/// The maximum number of different values that are kept.
const MAX_VALUES: usize = 8;

/// The different values of a field, the first one first.
#[derive(Debug, Clone, Default, PartialEq)]
struct Values {
    kept: Vec<String>,
    /// Whether there are more.
    has_more: bool,
}

impl Sighting {
    /// Returns the images in the template of a Job.
    pub(in crate::launch) fn from_job(job: &Job) -> Self {
        let mut seen = Self { object: ObjectRef::job(&job.name_any()), ..Self::default() };
        if let Some(spec) = job.pod() {
            seen.note_spec(spec);
        }
        seen
    }

    /// Adds a version of the pod.
    pub(in crate::launch) fn note(&mut self, pod: &Pod) {
        self.object = ObjectRef::pod(&pod.name_any());
        let owners = pod.owner_references();
        for owner in owners {
            self.owners.note(&owner.uid);
        }
        let controller = owners.iter().find(|owner| owner.controller == Some(true));
        self.controller = controller.map(|owner| owner.uid.clone());
        self.created = pod.creation_timestamp().map(|time| time.0);
        if let Some(generation) = pod.metadata.generation {
            // The generation also grows once when a pod is deleted.
            let n_specs = generation - i64::from(pod.metadata.deletion_timestamp.is_some());
            self.has_unseen |= n_specs > self.n_specs + 1;
            self.n_specs = self.n_specs.max(n_specs);
        }
        if let Some(spec) = &pod.spec {
            self.note_spec(spec);
        }
        let Some(status) = &pod.status else { return };
        let init = status.init_container_statuses.iter().flatten();
        if let Some(install) = init.clone().find(|status| status.name == INSTALL_CONTAINER) {
            self.install.note_container(install);
        }
        let mut main = status.container_statuses.iter().flatten();
        if let Some(unpack) = main.find(|status| status.name == UNPACK_CONTAINER) {
            self.unpack.note_container(unpack);
            for (name, volume) in &mut self.volumes {
                volume.note_volume(unpack, name);
            }
            self.absent.note_volume(unpack, "");
        }
    }

    /// Notes that the pod may have had a specification that was not observed.
    pub(in crate::launch) fn note_unseen(&mut self) {
        self.has_unseen = true;
    }

    /// Notes that the watch no longer shows the pod, although no deletion was observed.
    pub(in crate::launch) fn note_loss(&mut self) {
        self.is_lost = true;
    }

    /// Returns the image volume with this name.
    pub(super) fn volume(&self, name: &str) -> &PartImages {
        self.volumes.get(name).unwrap_or(&self.absent)
    }

    /// Checks whether the object with this uid owns the pod, or has owned it.
    pub(in crate::launch) fn is_owned_by(&self, uid: &str) -> bool {
        self.owners.all().any(|owner| owner == uid)
    }

    /// Checks whether the object with this uid controls the pod.
    pub(in crate::launch) fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller.as_deref() == Some(uid)
    }

    fn note_spec(&mut self, spec: &PodSpec) {
        let init = spec.init_containers.iter().flatten().find(|it| it.name == INSTALL_CONTAINER);
        let main = spec.containers.iter().find(|it| it.name == UNPACK_CONTAINER);
        let image = |container: Option<&Container>| {
            container.and_then(|container| container.image.clone()).unwrap_or_default()
        };
        self.install.references.note(&image(init));
        self.unpack.references.note(&image(main));
        let mounted = mounted(spec, main);
        for name in mounted.keys() {
            // Earlier versions lacked it.
            self.volumes.entry((*name).to_owned()).or_insert_with(|| self.absent.clone());
        }
        for (name, volume) in &mut self.volumes {
            volume.references.note(mounted.get(name.as_str()).copied().unwrap_or_default());
        }
        self.absent.references.note("");
    }
}

/// Returns the references of the image volumes that are mounted at the paths that the unpacker
/// reads, by the name of the volume.
fn mounted<'s>(spec: &'s PodSpec, main: Option<&Container>) -> BTreeMap<&'s str, &'s str> {
    let volumes = spec.volumes.iter().flatten();
    let is_mounted = |name: &str| {
        let mut mounts = main.into_iter().flat_map(|main| main.volume_mounts.iter().flatten());
        mounts.any(|mount| mount.name == name && mount.mount_path == mount_path(name))
    };
    volumes
        .filter(|volume| is_mounted(&volume.name))
        .filter_map(|volume| {
            Some((volume.name.as_str(), volume.image.as_ref()?.reference.as_deref()?))
        })
        .collect()
}

impl PartImages {
    fn note_container(&mut self, status: &ContainerStatus) {
        if !status.image_id.is_empty() {
            self.reports.note(&status.image_id);
            self.has_reported = true;
        }
    }

    fn note_volume(&mut self, status: &ContainerStatus, volume: &str) {
        let mut mounts = status.volume_mounts.iter().flatten();
        let mount = mounts.find(|mount| mount.name == volume);
        let image = mount.and_then(|mount| mount.volume_status.as_ref()?.image.as_ref());
        if let Some(image) = image.filter(|image| !image.image_ref.is_empty()) {
            self.reports.note(&image.image_ref);
        }
        // A node with this feature reports the volume together with the container's own image.
        self.has_reported |= !status.image_id.is_empty();
    }

    /// Returns the references in the versions of the pod. A missing one is empty.
    pub(super) fn references(&self) -> impl Iterator<Item = &str> {
        self.references.all()
    }

    /// Returns the reports of the node.
    pub(super) fn reports(&self) -> impl Iterator<Item = &str> {
        self.reports.all()
    }

    /// Returns the first reference, if there is one.
    pub(super) fn reference(&self) -> Option<&str> {
        self.references.kept.first().map(String::as_str).filter(|reference| !reference.is_empty())
    }

    /// Checks whether the reference was observed to change.
    pub(super) fn is_changed(&self) -> bool {
        self.references.kept.len() > 1
    }

    /// Checks whether there are more references or reports than are kept.
    pub(super) fn has_more(&self) -> bool {
        self.references.has_more || self.reports.has_more
    }

    /// Returns the digest in the reference, if the reference has never changed.
    pub(super) fn named(&self) -> Option<String> {
        let reference = self.reference().filter(|_| !self.is_changed())?;
        ImageReference::parse(reference).ok()?.digest().map(str::to_owned)
    }

    /// Returns the digest that the node reported, if the report has never changed.
    pub(super) fn reported(&self) -> Option<String> {
        let [report] = self.reports.kept.as_slice() else { return None };
        digest_of(report).map(str::to_owned)
    }
}

impl Values {
    fn note(&mut self, value: &str) {
        if self.kept.iter().any(|kept| kept == value) {
            return;
        }
        if self.kept.len() < MAX_VALUES {
            self.kept.push(value.to_owned());
        } else {
            self.has_more = true;
        }
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        self.kept.iter().map(String::as_str)
    }
}

/// Returns the manifest digest in a report of a node, such as `registry.example/etcd@sha256:...`. A
/// digest without a name is only the id of an image in the container runtime.
pub(in crate::launch) fn digest_of(report: &str) -> Option<&str> {
    let (_, digest) = report.rsplit_once('@')?;
    let hex = digest.strip_prefix("sha256:")?;
    let is_digest = hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest.then_some(digest)
}
