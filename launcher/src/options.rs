//! [`Options`]: how bundles are launched, the same for all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Affinity, ResourceRequirements, Toleration};

/// How bundles are launched. Start from [`Options::new`] and change fields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The image of `unlade-unpacker`.
    pub tool_image: String,
    /// How the unpacker and the bundle come together.
    pub strategy: Strategy,
    /// Whether the digest that a tag stands for is to be recorded, as it also is with
    /// [`Reuse::Tag`]. With [`Strategy::Auto`] tags are then injected: no field of a pod tells the
    /// digest of an image volume (Kubernetes 1.36).
    pub resolve_digest: bool,
    /// When content that is there already is taken without a Job.
    pub reuse: Reuse,
    /// What is settable of the pod.
    pub pod: PodOptions,
    /// How long each phase may take.
    pub deadlines: Deadlines,
    /// How long finished Jobs stay.
    pub retention: Retention,
}

/// How the unpacker and the bundle come together in a pod.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// An image volume where the cluster has them and the digest needn't be told, else injected.
    #[default]
    Auto,
    /// An init container copies the unpacker into the bundle image's own container.
    Inject,
    /// The bundle image is mounted read-only beside the unpacker; nothing of it runs.
    ImageVolume,
}

/// The architectures that our tool image is built for.
pub const TOOL_ARCHITECTURES: [&str; 1] = ["amd64"];

/// When content that a ConfigMap holds already is taken without a Job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reuse {
    /// Only for references with a digest: they name the content.
    #[default]
    Digest,
    /// Also for tags, if the digest that the tag stood for was recorded, which it is under this
    /// policy; that it has moved since isn't noticed.
    Tag,
    /// Never: there is always a Job.
    Never,
}

/// What is settable of the pod; all of it is optional.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PodOptions {
    /// Names of secrets with registry credentials, in the order in which they are tried.
    pub pull_secrets: Vec<String>,
    /// A service account that is there and may get and update the ConfigMap. Without one an account
    /// with just these rights is made.
    pub service_account: Option<String>,
    /// Further labels of nodes that are wanted, besides `kubernetes.io/os: linux`.
    pub node_selector: BTreeMap<String, String>,
    /// Architectures that the tool image has, in Go's names; nodes of others are avoided.
    /// [`Options::new`] names those that we build ([`TOOL_ARCHITECTURES`]). Empty: any.
    pub architectures: Vec<String>,
    /// Affinity, besides that of the architectures.
    pub affinity: Option<Affinity>,
    /// Tolerations in place of OLM's.
    pub tolerations: Option<Vec<Toleration>>,
    /// Name of a PriorityClass.
    pub priority_class: Option<String>,
    /// Requests and limits of each container. Those that aren't given are the default ones: cpu 10m
    /// and memory 32Mi are asked for, less if a lower limit is given; memory is limited to 256Mi, or
    /// to what is asked for if that is more.
    pub resources: Option<ResourceRequirements>,
    /// When the tool image is pulled; by default by the same rule as the bundle image.
    pub tool_pull_policy: Option<PullPolicy>,
    /// When the bundle image is pulled; by default always for a tag, and for a digest if it isn't
    /// there.
    pub bundle_pull_policy: Option<PullPolicy>,
    /// Further labels of all objects.
    pub labels: BTreeMap<String, String>,
    /// Further annotations of all objects.
    pub annotations: BTreeMap<String, String>,
    /// As whom the containers run.
    pub user: User,
}

/// When an image is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullPolicy {
    /// Each time.
    Always,
    /// If the node hasn't got it.
    IfNotPresent,
    /// Never: the node has to have it.
    Never,
}

/// As whom the containers run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum User {
    /// Injected: 65532, or whom the SCC assigns where the namespace has OpenShift's uid range.
    /// With an image volume: the user of the tool image.
    #[default]
    Auto,
    /// This uid and gid.
    Fixed(i64),
    /// No uid in the pod.
    Unset,
}

/// How long each phase may take, from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// From the Job's creation to a node for the pod.
    pub schedule: Duration,
    /// From there to the start of the container that writes: both images are pulled.
    pub pull: Duration,
    /// From there to the ConfigMap written.
    pub run: Duration,
}

impl Deadlines {
    /// All phases together, and half a minute for what lies between: the Job's own deadline, in
    /// case the launcher dies.
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

/// How long finished Jobs and their pods stay (`ttlSecondsAfterFinished`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Of a success; also of a failure that no launcher saw.
    pub success: Duration,
    /// Of a failure.
    pub failure: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Self { success: Duration::from_mins(5), failure: Duration::from_hours(1) }
    }
}

impl Options {
    /// The defaults, with this image of the unpacker.
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

    /// Whether the digest that a tag stands for is recorded.
    pub(crate) fn records_digest(&self) -> bool {
        self.resolve_digest || self.reuse == Reuse::Tag
    }
}
