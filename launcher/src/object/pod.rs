//! The pod of the unpacker, for each strategy.

mod placement;
mod volume;

use k8s_openapi::api::core::v1::{
    Capabilities, Container, EnvVar, EnvVarSource, LocalObjectReference, ObjectFieldSelector,
    PodSecurityContext, PodSpec, PodTemplateSpec, ResourceRequirements, SeccompProfile,
    SecurityContext, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use unlade_config_map::Encoding;
use unlade_diagnose::{INSTALL_CONTAINER, UNPACK_CONTAINER};

use super::{Facts, Mount, Plan, label, non_empty};
use crate::quantity::Amount;
use crate::{PullPolicy, Strategy, User};
use unlade_name::ImageReference;

pub(crate) use placement::{ARCHITECTURE, LINUX, OS};
pub(crate) use volume::BUNDLE;

/// The unpacker in each of our images. Its path is given because the entry point of the image that
/// also serves catalogs is another program.
const PROGRAM: &str = "/unlade-unpacker";
/// The directory of the unpacker in the container of the bundle image.
const INJECTED_PATH: &str = "/injected";
/// The environment variable with the uid of the Job.
const ATTEMPT: &str = "UNLADE_ATTEMPT";
/// Environment variables that the unpacker's C library reads at startup, with values that have no
/// effect. The bundle image could set them too (`ENV`), and some values terminate the program
/// immediately and without a message. `MALLOC_TOP_PAD_` is an older name of one of the settings in
/// `GLIBC_TUNABLES`. Its default is 128 KiB (`DEFAULT_TOP_PAD` of glibc).
const NEUTRAL_ENV: [(&str, &str); 2] = [("GLIBC_TUNABLES", ""), ("MALLOC_TOP_PAD_", "131072")];
/// The uid of the bundle image's container. It is `nobody` in many images, and belongs to no user
/// of the node.
const UID: i64 = 65532;

/// Returns the template of the Job's pod. [`Strategy::Auto`] counts as [`Strategy::Inject`].
pub(super) fn template(plan: &Plan<'_>, strategy: Strategy, facts: &Facts) -> PodTemplateSpec {
    let options = &plan.options.pod;
    let mut labels = plan.labels();
    let mut annotations = options.annotations.clone();
    labels.insert(label::ISTIO.0.into(), label::ISTIO.1.into());
    for (key, value) in [label::ISTIO, label::LINKERD] {
        annotations.insert(key.into(), value.into());
    }
    let is_mounted = strategy == Strategy::ImageVolume;
    let secrets = options.pull_secrets.iter();
    let secrets: Vec<_> = secrets.map(|name| LocalObjectReference { name: name.clone() }).collect();
    let account = options.service_account.clone().unwrap_or_else(|| plan.name.clone());
    let spec = PodSpec {
        restart_policy: Some("Never".into()),
        service_account_name: Some(account),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        image_pull_secrets: Some(secrets).filter(|secrets| !secrets.is_empty()),
        priority_class_name: options.priority_class.clone(),
        node_selector: Some(placement::node_selector(options)),
        affinity: placement::affinity(options),
        tolerations: Some(placement::tolerations(options)),
        security_context: Some(pod_security(options.user, is_mounted, facts)),
        init_containers: (!is_mounted).then(|| vec![install_container(plan)]),
        containers: vec![if is_mounted {
            mounted_container(plan)
        } else {
            injected_container(plan)
        }],
        volumes: Some(if is_mounted {
            let bundles = plan.mounts().into_iter().map(|mount| volume::bundle(plan, mount));
            bundles.chain([volume::account()]).collect()
        } else {
            vec![volume::injected(), volume::account()]
        }),
        ..PodSpec::default()
    };
    let metadata = ObjectMeta {
        labels: non_empty(labels),
        annotations: non_empty(annotations),
        ..ObjectMeta::default()
    };
    PodTemplateSpec { metadata: Some(metadata), spec: Some(spec) }
}

/// Returns the init container that copies the unpacker to the volume of the bundle image's
/// container.
fn install_container(plan: &Plan<'_>) -> Container {
    Container {
        name: INSTALL_CONTAINER.into(),
        image: Some(plan.tool_image.to_string()),
        image_pull_policy: Some(tool_policy(plan).into()),
        command: Some(vec![PROGRAM.into(), "install".into(), INJECTED_PATH.into()]),
        volume_mounts: Some(vec![VolumeMount {
            name: volume::INJECTED.into(),
            mount_path: INJECTED_PATH.into(),
            ..VolumeMount::default()
        }]),
        ..base_container(plan)
    }
}

/// Returns the container of the bundle image that runs the unpacker. It overrides every setting of
/// the image that affects a process: the entry point, the arguments, the working directory, the
/// user and the variables that the unpacker reads.
fn injected_container(plan: &Plan<'_>) -> Container {
    let program = format!("{INJECTED_PATH}{PROGRAM}");
    Container {
        name: UNPACK_CONTAINER.into(),
        image: Some(plan.image.to_string()),
        image_pull_policy: Some(bundle_policy(plan, &plan.image).into()),
        // A command without `args` also overrides the arguments of the image.
        command: Some(command(program, plan, [(plan.name.clone(), &plan.image)])),
        working_dir: Some("/".into()),
        env: Some(std::iter::once(attempt_env()).chain(neutral_env()).collect()),
        volume_mounts: Some(vec![
            volume::read_only(volume::INJECTED, INJECTED_PATH),
            volume::read_only(volume::ACCOUNT, volume::ACCOUNT_PATH),
        ]),
        ..base_container(plan)
    }
}

/// Returns the path at which the image volume with this name is mounted.
pub(crate) fn mount_path(volume: &str) -> String {
    format!("/{volume}")
}

/// Returns the container of the tool image that mounts the bundle images.
fn mounted_container(plan: &Plan<'_>) -> Container {
    let mounts = plan.mounts();
    let bundle = |mount: &Mount<'_>| format!("{}={}", mount_path(&mount.volume), mount.config_map);
    let bundles = mounts.iter().map(|mount| (bundle(mount), mount.image));
    let volumes =
        mounts.iter().map(|mount| volume::read_only(&mount.volume, &mount_path(&mount.volume)));
    let account = volume::read_only(volume::ACCOUNT, volume::ACCOUNT_PATH);
    Container {
        name: UNPACK_CONTAINER.into(),
        image: Some(plan.tool_image.to_string()),
        image_pull_policy: Some(tool_policy(plan).into()),
        command: Some(command(PROGRAM.into(), plan, bundles)),
        env: Some(vec![attempt_env()]),
        volume_mounts: Some(volumes.chain([account]).collect()),
        ..base_container(plan)
    }
}

/// Returns the command of the unpacker for these values of `--bundle` and their images.
fn command<'p>(
    program: String,
    plan: &Plan<'_>,
    bundles: impl IntoIterator<Item = (String, &'p ImageReference)>,
) -> Vec<String> {
    // The unpacker has an earlier deadline than the launcher, because it can say why it failed.
    let deadline = plan.options.deadlines.run.mul_f32(0.9).as_secs().max(1);
    let mut command = vec![program, "serve".into()];
    for (bundle, image) in bundles {
        command.extend([format!("--bundle={bundle}"), format!("--source-image={image}")]);
    }
    command.extend([format!("--attempt=$({ATTEMPT})"), format!("--deadline={deadline}s")]);
    if plan.request.encoding != Encoding::Auto {
        command.push(format!("--encoding={}", plan.request.encoding));
    }
    command
}

/// Returns the variable with the uid of the Job, which the Job controller sets as a label of its
/// pods.
fn attempt_env() -> EnvVar {
    let field = ObjectFieldSelector {
        field_path: "metadata.labels['batch.kubernetes.io/controller-uid']".into(),
        ..ObjectFieldSelector::default()
    };
    EnvVar {
        name: ATTEMPT.into(),
        value_from: Some(EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() }),
        ..EnvVar::default()
    }
}

fn neutral_env() -> impl Iterator<Item = EnvVar> {
    NEUTRAL_ENV.into_iter().map(|(name, value)| EnvVar {
        name: name.into(),
        value: Some(value.into()),
        ..EnvVar::default()
    })
}

/// Returns the settings that all containers have in common.
fn base_container(plan: &Plan<'_>) -> Container {
    let resources = resources(plan.options.pod.resources.clone().unwrap_or_default());
    Container {
        resources: Some(resources),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".into()]), add: None }),
            ..SecurityContext::default()
        }),
        // A container that the kernel or the runtime kills writes no message of its own.
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        ..Container::default()
    }
}

/// Adds default requests and limits to the given ones. A default is adapted to a given value, so
/// that no request exceeds its limit.
///
/// The largest of the 181 bundles of the corpus (6 MiB) passes with a limit of 24 MiB, and is
/// killed with 16 MiB. Synthetic bundles of 32 MiB, which is the unpacker's own limit, needed at
/// most 43 MiB. They were random data with large files in metadata/, which does not fit in a
/// ConfigMap, and text, which does.
fn resources(given: ResourceRequirements) -> ResourceRequirements {
    let (mut requests, mut limits) =
        (given.requests.unwrap_or_default(), given.limits.unwrap_or_default());
    let quantity = |(name, size): (&str, &str)| (name.to_owned(), Quantity(size.to_owned()));
    // Only given requests count here, because the defaults fit each other.
    let wanted = requests.clone();
    for (name, request) in [("cpu", "10m"), ("memory", "32Mi")].map(quantity) {
        let limit =
            limits.get(&name).filter(|limit| Amount::parse(limit) < Amount::parse(&request));
        let request = limit.cloned().unwrap_or(request);
        requests.entry(name).or_insert(request);
    }
    let (name, limit) = quantity(("memory", "256Mi"));
    let more = wanted.get(&name).filter(|wanted| Amount::parse(wanted) > Amount::parse(&limit));
    let limit = more.cloned().unwrap_or(limit);
    limits.entry(name).or_insert(limit);
    ResourceRequirements { requests: Some(requests), limits: Some(limits), claims: given.claims }
}

/// Returns the security context of the pod. A bundle image may have any user or none. The tool
/// image has a numeric one.
fn pod_security(user: User, is_mounted: bool, facts: &Facts) -> PodSecurityContext {
    let uid = match user {
        User::Fixed(uid) => Some(uid),
        User::Auto if !is_mounted && !facts.assigns_uids => Some(UID),
        User::Auto | User::Unset => None,
    };
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: uid,
        run_as_group: uid,
        seccomp_profile: Some(SeccompProfile {
            type_: "RuntimeDefault".into(),
            ..SeccompProfile::default()
        }),
        ..PodSecurityContext::default()
    }
}

/// Returns the pull policy of a bundle image.
fn bundle_policy(plan: &Plan<'_>, image: &ImageReference) -> &'static str {
    policy(plan.options.pod.bundle_pull_policy, image)
}

/// Returns the pull policy of the tool image.
fn tool_policy(plan: &Plan<'_>) -> &'static str {
    policy(plan.options.pod.tool_pull_policy, &plan.tool_image)
}

fn policy(policy: Option<PullPolicy>, image: &ImageReference) -> &'static str {
    let default = if image.is_digest() { PullPolicy::IfNotPresent } else { PullPolicy::Always };
    match policy.unwrap_or(default) {
        PullPolicy::Always => "Always",
        PullPolicy::IfNotPresent => "IfNotPresent",
        PullPolicy::Never => "Never",
    }
}
