//! The arguments that configure the pod.

use std::path::PathBuf;

use clap::{Args as Group, ValueEnum};
use k8s_openapi::api::core::v1::{Affinity, ResourceRequirements};
use unlade_launcher::{self as launcher, PodOptions, options};

use crate::args::{Amounts, Pair, Tolerated, pair};

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Pod")]
pub(crate) struct PodArgs {
    /// Secret with credentials for the registry; can be given several times
    #[arg(long, value_name = "SECRET", value_parser = crate::object_name::parse)]
    pub(crate) pull_secret: Vec<String>,

    /// Give the nodes the credentials that podman or docker has stored on this machine for the
    /// bundle image
    ///
    /// Creates a Secret with only these credentials, and deletes it when the attempt has ended. If
    /// the command ends earlier, the Secret is deleted with the Job. Until then, anyone who can
    /// read Secrets in the namespace, or create pods in it, can use the credentials. If the same
    /// credentials are stored for the tool image, the Secret also has an entry for that image.
    #[arg(long)]
    pub(crate) pull_secret_from_login: bool,

    /// Service account that may get and update the ConfigMap; by default one is created
    #[arg(long, value_name = "NAME", alias = "serviceaccount", value_parser = crate::object_name::parse)]
    service_account: Option<String>,

    /// Labels that the node must have in addition to kubernetes.io/os=linux
    #[arg(long, value_name = "KEY=VALUE,...", value_delimiter = ',', hide_short_help = true)]
    node_selector: Vec<Pair>,

    /// Architectures that the tool image supports, such as amd64,arm64
    #[arg(
        long,
        value_name = "ARCH,...",
        value_delimiter = ',',
        default_values = options::TOOL_ARCHITECTURES,
        value_parser = architecture,
        hide_short_help = true
    )]
    architecture: Vec<String>,

    /// File that contains an Affinity, as YAML or JSON
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) affinity: Option<PathBuf>,

    /// Taint that the pod tolerates, as `KEY[=VALUE][:EFFECT]` or `*`, in place of the taints that
    /// OLM's pods tolerate; can be given several times
    #[arg(long, value_name = "TAINT", hide_short_help = true)]
    toleration: Vec<Tolerated>,

    /// PriorityClass of the pod
    #[arg(long, value_name = "NAME", value_parser = crate::object_name::parse, hide_short_help = true)]
    priority_class: Option<String>,

    /// Resource requests of each container, such as cpu=10m,memory=32Mi
    #[arg(long, value_name = "RESOURCE=AMOUNT,...", hide_short_help = true)]
    requests: Option<Amounts>,

    /// Resource limits of each container, such as memory=512Mi
    #[arg(long, value_name = "RESOURCE=AMOUNT,...", hide_short_help = true)]
    limits: Option<Amounts>,

    /// When to pull the bundle image; the default is Always for a tag and IfNotPresent for a digest
    #[arg(
        long,
        value_enum,
        value_name = "WHEN",
        alias = "image-pull-policy",
        hide_short_help = true
    )]
    pull_policy: Option<PullPolicy>,

    /// When to pull the tool image; the default follows the same rule as for the bundle image
    #[arg(long, value_enum, value_name = "WHEN", hide_short_help = true)]
    tool_pull_policy: Option<PullPolicy>,

    /// User that the containers run as: a uid, `unset`, or `auto`
    ///
    /// With the strategy `inject`, `auto` means 65532, or the uid that OpenShift assigns. With the
    /// strategy `image-volume`, it means the user of the tool image.
    #[arg(long, value_name = "UID", default_value = "auto", value_parser = user, hide_short_help = true)]
    user: launcher::User,

    /// Labels to add to all objects that are created
    #[arg(long, value_name = "KEY=VALUE,...", value_delimiter = ',', hide_short_help = true)]
    labels: Vec<Pair>,

    /// Annotation to add to all objects that are created; can be given several times
    #[arg(long, value_name = "KEY=VALUE", hide_short_help = true)]
    annotations: Vec<Pair>,
}

/// When an image is pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PullPolicy {
    /// Each time
    #[value(name = "Always")]
    Always,
    /// If the node does not have the image
    #[value(name = "IfNotPresent")]
    IfNotPresent,
    /// Never; the node must already have the image
    #[value(name = "Never")]
    Never,
}

impl PodArgs {
    /// Returns the options of the pod. `affinity` is the content of the file that `--affinity`
    /// names.
    pub(crate) fn options(self, affinity: Option<Affinity>) -> PodOptions {
        let Self {
            pull_secret,
            pull_secret_from_login: _,
            service_account,
            node_selector,
            architecture,
            affinity: _,
            toleration,
            priority_class,
            requests,
            limits,
            pull_policy,
            tool_pull_policy,
            user,
            labels,
            annotations,
        } = self;
        let tolerations: Vec<_> = toleration.into_iter().map(|tolerated| tolerated.0).collect();
        let has_resources = requests.is_some() || limits.is_some();
        PodOptions::default()
            .with_pull_secrets(pull_secret)
            .with_service_account(service_account)
            .with_node_selector(pair::map(node_selector))
            .with_architectures(architecture)
            .with_affinity(affinity)
            .with_tolerations(Some(tolerations).filter(|tolerations| !tolerations.is_empty()))
            .with_priority_class(priority_class)
            .with_resources(has_resources.then(|| ResourceRequirements {
                requests: requests.map(|amounts| amounts.0),
                limits: limits.map(|amounts| amounts.0),
                ..ResourceRequirements::default()
            }))
            .with_tool_pull_policy(tool_pull_policy.map(Into::into))
            .with_bundle_pull_policy(pull_policy.map(Into::into))
            .with_labels(pair::map(labels))
            .with_annotations(pair::map(annotations))
            .with_user(user)
    }
}

impl From<PullPolicy> for launcher::PullPolicy {
    fn from(policy: PullPolicy) -> Self {
        match policy {
            PullPolicy::Always => Self::Always,
            PullPolicy::IfNotPresent => Self::IfNotPresent,
            PullPolicy::Never => Self::Never,
        }
    }
}

/// Parses an architecture. Names that `uname -m` and Debian use are refused, because they never
/// match the label `kubernetes.io/arch`, and the pod would never be scheduled.
fn architecture(text: &str) -> Result<String, String> {
    let name = match text {
        "x86_64" | "x64" => "amd64",
        "aarch64" | "armv8" => "arm64",
        "armv7l" | "armhf" => "arm",
        "i386" | "i686" | "x86" => "386",
        "ppc64el" => "ppc64le",
        _ => return Ok(text.to_owned()),
    };
    Err(format!("Kubernetes calls this architecture {name}"))
}

fn user(text: &str) -> Result<launcher::User, &'static str> {
    match text {
        "auto" => Ok(launcher::User::Auto),
        "unset" => Ok(launcher::User::Unset),
        // The range that the API server accepts for `runAsUser`, without 0: the pod sets
        // `runAsNonRoot`.
        uid => match uid.parse() {
            Ok(uid @ 1..=2_147_483_647) => Ok(launcher::User::Fixed(uid)),
            _ => Err("expected a uid from 1 to 2147483647, unset or auto"),
        },
    }
}
