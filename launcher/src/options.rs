//! [`Options`]: the settings that all launches of a launcher share.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use derive_setters::Setters;
use k8s_openapi::api::core::v1::{Affinity, ResourceRequirements, Toleration};
use unlade_name::ImageReference;

/// The settings that all launches of a launcher share. Create them with [`Options::new`].
#[derive(Debug, Clone, PartialEq, Setters)]
#[setters(prefix = "with_", into)]
#[non_exhaustive]
pub struct Options {
    /// The tool image, which contains `unlade-unpacker`.
    pub tool_image: String,
    /// How the unpacker gets access to the bundle.
    pub strategy: Strategy,
    /// Whether to record the digest of an image that is named by its tag. [`Reuse::Tag`] implies
    /// this. With [`Strategy::Auto`] such images are then unpacked with [`Strategy::Inject`],
    /// because a kubelet reports the digest of an image volume only with the feature gate
    /// `ImageVolumeWithDigest`, if at all (Kubernetes 1.36).
    pub resolve_digest: bool,
    /// When to reuse the existing content of a ConfigMap without a Job.
    pub reuse: Reuse,
    /// The settings of the pod.
    pub pod: PodOptions,
    /// The deadlines of the phases of a launch.
    pub deadlines: Deadlines,
    /// How long finished Jobs are kept.
    pub retention: Retention,
}

/// How the unpacker gets access to the bundle in a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Uses [`Strategy::ImageVolume`] if the cluster supports image volumes and the digest need not
    /// be recorded, and [`Strategy::Inject`] otherwise.
    #[default]
    Auto,
    /// An init container copies the unpacker into a container of the bundle image.
    Inject,
    /// The container of the unpacker mounts the bundle image as a read-only volume. Nothing in the
    /// bundle image is executed.
    ImageVolume,
}

impl Strategy {
    /// Returns the name of the strategy, such as `image-volume`, which is also its JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Inject => "inject",
            Self::ImageVolume => "image-volume",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl serde::Serialize for Strategy {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The architectures that unlade's tool image is built for.
pub const TOOL_ARCHITECTURES: [&str; 1] = ["amd64"];

/// When to reuse the existing content of a ConfigMap without a Job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reuse {
    /// Reuses content only if the reference has a digest, which identifies the content.
    #[default]
    Digest,
    /// Also reuses the content of a tag whose digest was recorded under this policy. Does not
    /// notice if the tag has moved.
    Tag,
    /// Never reuses content, and always runs a Job.
    Never,
}

/// The settings of the pod, all of which are optional.
#[derive(Debug, Clone, Default, PartialEq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct PodOptions {
    /// The names of secrets with registry credentials, in the order in which they are tried.
    pub pull_secrets: Vec<String>,
    /// The name of an existing service account that may get and update the ConfigMap. With `None`
    /// the launcher creates an account that has only these permissions.
    pub service_account: Option<String>,
    /// The labels that nodes must have, in addition to `kubernetes.io/os: linux`.
    pub node_selector: BTreeMap<String, String>,
    /// The architectures of the tool image, as Go names them. The pod avoids nodes of other
    /// architectures. [`Options::new`] sets those of unlade's image ([`TOOL_ARCHITECTURES`]). An
    /// empty list allows all nodes.
    pub architectures: Vec<String>,
    /// The affinity of the pod, in addition to that for the architectures.
    pub affinity: Option<Affinity>,
    /// The tolerations of the pod, which replace those of OLM.
    pub tolerations: Option<Vec<Toleration>>,
    /// The name of a PriorityClass.
    pub priority_class: Option<String>,
    /// The requests and limits of each container. The default requests are 10m of CPU and 32Mi of
    /// memory, or a lower limit if one is given. The default memory limit is 256Mi, or a higher
    /// request if one is given.
    pub resources: Option<ResourceRequirements>,
    /// When the tool image is pulled. The default follows the same rule as for the bundle image.
    pub tool_pull_policy: Option<PullPolicy>,
    /// When the bundle image is pulled. By default, an image that is named by a tag is always
    /// pulled, and an image that is named by a digest is pulled only if the node does not have it.
    pub bundle_pull_policy: Option<PullPolicy>,
    /// Additional labels for all objects.
    pub labels: BTreeMap<String, String>,
    /// Additional annotations for all objects.
    pub annotations: BTreeMap<String, String>,
    /// The user of the containers.
    pub user: User,
}

/// When an image is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPolicy {
    /// The image is always pulled.
    Always,
    /// The image is pulled if the node does not have it.
    IfNotPresent,
    /// The image is never pulled, so the node must have it.
    Never,
}

/// The user of the containers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum User {
    /// With [`Strategy::Inject`] the uid 65532, or the uid that OpenShift assigns in a namespace
    /// with a uid range. With [`Strategy::ImageVolume`] the user of the tool image.
    #[default]
    Auto,
    /// This number as uid and gid.
    Fixed(i64),
    /// The pod does not set a uid.
    Unset,
}

/// The maximum duration of each phase of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Deadlines {
    /// From the creation of the Job until the pod has a node.
    pub schedule: Duration,
    /// From then until the container that writes the ConfigMap starts. Both images are pulled in
    /// this phase.
    pub pull: Duration,
    /// From then until the ConfigMap is written.
    pub run: Duration,
}

impl Deadlines {
    /// Returns the sum of all phases plus half a minute. It is the deadline of the Job itself,
    /// which applies if the launcher is terminated.
    pub fn total(&self) -> Duration {
        let phases = self.schedule.saturating_add(self.pull).saturating_add(self.run);
        phases.saturating_add(Duration::from_secs(30))
    }
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            schedule: Duration::from_mins(2),
            pull: Duration::from_mins(6),
            run: Duration::from_mins(2),
        }
    }
}

/// How long finished Jobs and their pods are kept (`ttlSecondsAfterFinished`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Retention {
    /// The time after a success, and after a failure that no launcher observed.
    pub success: Duration,
    /// The time after a failure.
    pub failure: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { success: Duration::from_mins(5), failure: Duration::from_hours(1) }
    }
}

impl Options {
    /// Returns the default options with this tool image.
    pub fn new(tool_image: impl Into<String>) -> Self {
        Self {
            tool_image: tool_image.into(),
            strategy: Strategy::default(),
            resolve_digest: false,
            reuse: Reuse::default(),
            pod: PodOptions {
                architectures: TOOL_ARCHITECTURES.map(str::to_owned).into(),
                ..PodOptions::default()
            },
            deadlines: Deadlines::default(),
            retention: Retention::default(),
        }
    }

    /// Returns the strategies that a launch of this image may use, in the order in which it tries
    /// them.
    pub(crate) fn candidates(&self, image: &ImageReference) -> &'static [Strategy] {
        match self.strategy {
            // Few kubelets report the digest of an image volume.
            Strategy::Auto if self.records_digest() && !image.is_digest() => &[Strategy::Inject],
            Strategy::Auto => &[Strategy::ImageVolume, Strategy::Inject],
            Strategy::Inject => &[Strategy::Inject],
            Strategy::ImageVolume => &[Strategy::ImageVolume],
        }
    }

    /// Checks whether the digest of an image that is named by its tag is recorded.
    pub(crate) fn records_digest(&self) -> bool {
        self.resolve_digest || self.reuse == Reuse::Tag
    }
}
