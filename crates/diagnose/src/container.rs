//! Classification of containers that do not start or that have exited.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod,
};

use super::bound::quoted;
use super::rule::{self, Rule};
use super::{Evidence, Failure, ObjectRef, Reason, outcome, without_middle};

/// The words of CRI-O about a memory limit below the minimum of the runtime, for a container and
/// for a pod: `set memory limit 1048576 too low; should be at least 12582912`.
pub(super) const BELOW_MINIMUM: &str = "too low; should be at least";

/// The meaning of messages about a container from the container runtime and the kubelet.
pub(super) const RULES: &[Rule] = &[
    Rule::new(
        Reason::RunAsNonRoot,
        // kubelet, kuberuntime/security_context_others.go
        &["has runasnonroot and image", "breaks non-root policy", "break non-root policy"],
    ),
    Rule::new(
        Reason::VolumeUnsupported,
        &[
            // cri-api, pkg/errors.
            "imagevolumemountfailed",
            "failed to mount image volume",
            // containerd before 2.1 treats the volume as one without a path.
            "failed to mkdir \"\"",
            // CRI-O before 1.31.
            "mount.hostpath is empty",
        ],
    ),
    Rule::new(Reason::ExecFormat, &["exec format error"]),
    Rule::new(Reason::OutOfMemory, &["memory limit too low", "oom-killed", BELOW_MINIMUM]),
    Rule::new(
        Reason::Sandbox,
        &[
            "failed to sync",
            "timed out",
            "context deadline exceeded",
            "failed to reserve container name",
            "name is reserved",
            "connection refused",
            "no space left on device",
            "resource temporarily unavailable",
            "cannot allocate memory",
        ],
    ),
    Rule::new(
        Reason::ContainerConfig,
        &[
            "no such file or directory",
            "executable file not found",
            "permission denied",
            "operation not permitted",
            "no command specified",
            "unable to find user",
            "no matching entries in passwd",
            "\" not found",
            "couldn't find key",
        ],
    ),
];

/// Errors of the kubelet when it cannot parse a pull secret. No other step of the kubelet sets them
/// as the *state* of a container.
const SECRET_ERRORS: [&str; 4] =
    ["illegal base64 data", "invalid character '", "cannot unmarshal", "unexpected end of JSON"];

/// States of a container that is being started.
const STARTING: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// States of a container whose image is not on the node.
pub(super) const PULLING: [&str; 5] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "RegistryUnavailable",
    "SignatureValidationFailed",
    "ImageInspectError",
];

/// The name of the init container that copies the unpacker into the bundle image's container.
pub const INSTALL_CONTAINER: &str = "install";

/// The name of the container that fills the ConfigMap.
pub const UNPACK_CONTAINER: &str = "unpack";

/// The containers whose exit codes are the unpacker's.
const UNPACKER_CONTAINERS: [&str; 2] = [INSTALL_CONTAINER, UNPACK_CONTAINER];

/// The state of one container.
pub(super) enum State<'a> {
    /// The container waits for its image.
    Pulling(&'a ContainerStateWaiting),
    /// The container cannot be created or started.
    Stuck(&'a ContainerStateWaiting),
    /// The container exited with an error.
    Terminated(&'a ContainerStateTerminated),
    /// The container has not been started yet.
    Pending,
    /// The container is running, or has succeeded.
    Healthy,
}

/// Returns the state of the container with this status.
pub(super) fn state(status: &ContainerStatus) -> State<'_> {
    match &status.state {
        Some(ContainerState { terminated: Some(ended), .. }) if ended.exit_code == 0 => {
            State::Healthy
        }
        Some(ContainerState { terminated: Some(ended), .. }) => State::Terminated(ended),
        Some(ContainerState { running: Some(_), .. }) => State::Healthy,
        Some(ContainerState { waiting: Some(waiting), .. }) => match reason(waiting) {
            "" => State::Pending,
            reason if STARTING.contains(&reason) => State::Pending,
            reason if PULLING.contains(&reason) => State::Pulling(waiting),
            _ => State::Stuck(waiting),
        },
        _ => State::Pending,
    }
}

/// Returns the statuses of all containers of `pod`, in the order in which the containers start.
pub(super) fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let status = pod.status.as_ref();
    let init = status.and_then(|status| status.init_container_statuses.as_ref());
    let main = status.and_then(|status| status.container_statuses.as_ref());
    init.into_iter().chain(main).flatten()
}

/// Returns the reason why a container is waiting.
pub(super) fn reason(waiting: &ContainerStateWaiting) -> &str {
    waiting.reason.as_deref().unwrap_or_default()
}

/// Returns the message about a waiting container.
pub(super) fn message(waiting: &ContainerStateWaiting) -> Cow<'_, str> {
    without_middle(waiting.message.as_deref().unwrap_or_default().trim())
}

/// Classifies the container `name`, which cannot be created or started.
pub(super) fn classify_waiting(
    waiting: &ContainerStateWaiting,
    name: &str,
    image: &str,
) -> Failure {
    let (state, message) = (reason(waiting), &*message(waiting));
    let described = describe(state, message);
    match state {
        "InvalidImageName" => Failure::new(
            Reason::InvalidReference,
            format!("{image:?} is not a valid image reference: {described}"),
        ),
        _ if SECRET_ERRORS.iter().any(|phrase| state.contains(phrase)) => Failure::new(
            Reason::BadPullSecret,
            format!(
                "the kubelet failed to pull the image {image}, because it failed to read a pull \
                 secret: {described}"
            ),
        ),
        // The default pull policy never leads here.
        "ErrImageNeverPull" => Failure::new(
            Reason::PullFailed,
            format!(
                "the image {image} is not on the node, and the pull policy Never forbids pulling it"
            ),
        )
        .with_transience(false)
        .with_advice("choose another pull policy, or load the image onto the node", &[]),
        _ => classify_start(message, name, image).unwrap_or_else(|| {
            // An unknown problem may pass before the deadline of the phase.
            Failure::new(
                Reason::ContainerConfig,
                format!("the container {name} failed to start: {described}"),
            )
            .with_transience(true)
        }),
    }
}

/// Classifies the container `name`, which exited with an error.
pub(super) fn classify_terminated(
    ended: &ContainerStateTerminated,
    name: &str,
    image: &str,
) -> Failure {
    let state = ended.reason.as_deref().unwrap_or_default();
    let message = ended.message.as_deref().unwrap_or_default().trim();
    let code = ended.exit_code;
    let is_unpacker = UNPACKER_CONTAINERS.contains(&name);
    if let Some(failure) = outcome::from_message(message) {
        return failure;
    }
    let message = &*without_middle(message);
    match (state, code) {
        ("OOMKilled", _) => {
            return Failure::new(
                Reason::OutOfMemory,
                format!("the container {name} exceeded its memory limit"),
            );
        }
        ("ContainerStatusUnknown", _) => {
            return Failure::new(
                Reason::NodeLost,
                format!(
                    "the node lost track of the container {name}: {}",
                    describe(state, message)
                ),
            );
        }
        ("StartError" | "ContainerCannotRun", _) | (_, 126..=128) => {
            return classify_start(message, name, image).unwrap_or_else(|| {
                Failure::new(
                    Reason::Sandbox,
                    format!("the container {name} failed to start: {}", describe(state, message)),
                )
            });
        }
        _ => {}
    }
    // Older versions of runc start the container first. Then only its log names the error.
    if message.contains("exec format error") {
        return exec_format_failure(name);
    }
    let verdict =
        outcome::from_exit_code(code, &format!("the container {name}")).filter(|_| is_unpacker);
    verdict.unwrap_or_else(|| Failure::new(Reason::Killed, describe_exit(code, name)))
}

fn describe_exit(code: i32, name: &str) -> String {
    match code {
        137 => format!("the container {name} was killed (SIGKILL)"),
        143 => format!("the container {name} was terminated (SIGTERM)"),
        129..=192 => format!("the container {name} was terminated by signal {}", code - 128),
        _ => format!(
            "the container {name} failed with exit code {code}, which the unpacker does not use"
        ),
    }
}

fn classify_start(message: &str, name: &str, image: &str) -> Option<Failure> {
    let rule = rule::find_first(RULES, message)?;
    let cause = quoted(message);
    let failure = match rule.reason {
        Reason::RunAsNonRoot => Failure::new(
            rule.reason,
            format!(
                "the container {name} must not run as root, and the image {image} does not specify \
                 a numeric user: {cause}"
            ),
        ),
        Reason::VolumeUnsupported => Failure::new(
            rule.reason,
            format!("the node's runtime failed to mount the bundle image as a volume: {cause}"),
        ),
        Reason::ExecFormat => exec_format_failure(name),
        Reason::OutOfMemory => Failure::new(
            rule.reason,
            format!("the memory limit of the container {name} is too low to start it: {cause}"),
        ),
        reason => Failure::new(reason, format!("the container {name} failed to start: {cause}")),
    };
    Some(rule.apply(failure))
}

fn exec_format_failure(name: &str) -> Failure {
    let message = format!(
        "the program of the container {name} is not built for the node's architecture (exec format \
         error)"
    );
    Failure::new(Reason::ExecFormat, message)
}

/// Returns the quoted message, or the state if there is no message.
fn describe(state: &str, message: &str) -> String {
    if message.is_empty() { state.to_owned() } else { quoted(message) }
}

/// Returns the state of the container as evidence.
pub(super) fn evidence(object: &ObjectRef, status: &ContainerStatus) -> Evidence {
    let state = status.state.as_ref();
    let waiting = state.and_then(|state| state.waiting.as_ref());
    let ended = state.and_then(|state| state.terminated.as_ref());
    Evidence {
        object: Some(object.clone()),
        container: Some(status.name.clone()),
        state: waiting.and_then(|it| it.reason.clone()).or_else(|| ended?.reason.clone()),
        message: waiting.and_then(|it| it.message.clone()).or_else(|| ended?.message.clone()),
        exit_code: ended.map(|ended| ended.exit_code),
        ..Evidence::default()
    }
}
