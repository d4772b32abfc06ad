//! Why a container doesn't start, or ended.

use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, ContainerStateWaiting, ContainerStatus, Pod,
};

use super::bound::quoted;
use super::rule::{self, Rule};
use super::{Evidence, Failure, Reason, outcome};

/// What the runtime's and the kubelet's messages about a container mean.
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
            // containerd before 2.1 takes the volume for one without a path.
            "failed to mkdir \"\"",
            // CRI-O before 1.31.
            "mount.hostpath is empty",
        ],
    ),
    Rule::new(Reason::ExecFormat, &["exec format error"]),
    Rule::new(Reason::OutOfMemory, &["memory limit too low", "oom-killed"]),
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

/// What the kubelet says of a pull secret that it can't read. It takes no other step where these
/// come as the *state* of a container.
const SECRET: [&str; 4] =
    ["illegal base64 data", "invalid character '", "cannot unmarshal", "unexpected end of JSON"];

/// States of a container that is on its way.
const ON_THE_WAY: [&str; 2] = ["ContainerCreating", "PodInitializing"];

/// States in which an image is missing.
pub(super) const PULLING: [&str; 5] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "RegistryUnavailable",
    "SignatureValidationFailed",
    "ImageInspectError",
];

/// The containers whose exit codes are the unpacker's.
const OURS: [&str; 2] = ["install", "unpack"];

/// The state of one container.
pub(super) enum State<'a> {
    /// It waits for its image.
    Pulling(&'a ContainerStateWaiting),
    /// It can't be created or started.
    Stuck(&'a ContainerStateWaiting),
    /// It ended.
    Ended(&'a ContainerStateTerminated),
    /// It is on its way.
    Coming,
    /// It runs, or ran well.
    Well,
}

/// The state of the container of `status`.
pub(super) fn state(status: &ContainerStatus) -> State<'_> {
    match &status.state {
        Some(ContainerState { terminated: Some(ended), .. }) if ended.exit_code == 0 => State::Well,
        Some(ContainerState { terminated: Some(ended), .. }) => State::Ended(ended),
        Some(ContainerState { running: Some(_), .. }) => State::Well,
        Some(ContainerState { waiting: Some(waiting), .. }) => match reason(waiting) {
            "" => State::Coming,
            reason if ON_THE_WAY.contains(&reason) => State::Coming,
            reason if PULLING.contains(&reason) => State::Pulling(waiting),
            _ => State::Stuck(waiting),
        },
        _ => State::Coming,
    }
}

/// All containers of `pod` in the order in which they start.
pub(super) fn statuses(pod: &Pod) -> impl Iterator<Item = &ContainerStatus> {
    let status = pod.status.as_ref();
    let init = status.and_then(|status| status.init_container_statuses.as_ref());
    let main = status.and_then(|status| status.container_statuses.as_ref());
    init.into_iter().chain(main).flatten()
}

/// The reason of a waiting container.
pub(super) fn reason(waiting: &ContainerStateWaiting) -> &str {
    waiting.reason.as_deref().unwrap_or_default()
}

/// What is said about a waiting container.
pub(super) fn said(waiting: &ContainerStateWaiting) -> &str {
    waiting.message.as_deref().unwrap_or_default().trim()
}

/// Why the container `name` can't be created or started.
pub(super) fn stuck(waiting: &ContainerStateWaiting, name: &str, image: &str) -> Failure {
    let (state, said) = (reason(waiting), said(waiting));
    let described = describe(state, said);
    match state {
        "InvalidImageName" => Failure::new(
            Reason::InvalidReference,
            format!("{image} is no name of an image: {described}"),
        ),
        _ if SECRET.iter().any(|phrase| state.contains(phrase)) => Failure::new(
            Reason::BadPullSecret,
            format!(
                "the kubelet can't read a pull secret, and so not pull image {image}: {described}"
            ),
        ),
        // Only with a pull policy that someone chose.
        "ErrImageNeverPull" => Failure::new(
            Reason::PullFailed,
            format!("image {image} isn't on the node, and may not be pulled (pull policy Never)"),
        )
        .transient(false)
        .hinted(Some("choose another pull policy, or bring the image to the node")),
        _ => unstarted(said, name, image).unwrap_or_else(|| {
            // What isn't known may pass until the deadline of the phase.
            Failure::new(
                Reason::ContainerConfig,
                format!("container {name} can't start: {described}"),
            )
            .transient(true)
        }),
    }
}

/// Why the container `name` ended.
pub(super) fn ended(ended: &ContainerStateTerminated, name: &str, image: &str) -> Failure {
    let state = ended.reason.as_deref().unwrap_or_default();
    let said = ended.message.as_deref().unwrap_or_default().trim();
    let code = ended.exit_code;
    let is_ours = OURS.contains(&name);
    if let Some(failure) = outcome::of_message(said) {
        return failure;
    }
    match (state, code) {
        ("OOMKilled", _) => {
            return Failure::new(
                Reason::OutOfMemory,
                format!("container {name} had more memory than its limit"),
            );
        }
        ("ContainerStatusUnknown", _) => {
            return Failure::new(
                Reason::NodeLost,
                format!("the node lost container {name}: {}", describe(state, said)),
            );
        }
        ("StartError" | "ContainerCannotRun", _) | (_, 126..=128) => {
            return unstarted(said, name, image).unwrap_or_else(|| {
                Failure::new(
                    Reason::Sandbox,
                    format!("container {name} can't start: {}", describe(state, said)),
                )
            });
        }
        _ => {}
    }
    // Older versions of runc start the container first; then only the log tells.
    if said.contains("exec format error") {
        return exec_format(name);
    }
    let verdict = outcome::of_exit_code(code, &format!("container {name}")).filter(|_| is_ours);
    verdict.unwrap_or_else(|| Failure::new(Reason::Killed, killed(code, name)))
}

fn killed(code: i32, name: &str) -> String {
    match code {
        137 => format!("container {name} was killed (SIGKILL)"),
        143 => format!("container {name} was told to end (SIGTERM)"),
        129..=192 => format!("container {name} was ended by signal {}", code - 128),
        _ => format!(
            "container {name} ended with exit code {code}, which isn't one of the unpacker's"
        ),
    }
}

fn unstarted(said: &str, name: &str, image: &str) -> Option<Failure> {
    let rule = rule::first(RULES, said)?;
    let cause = quoted(said);
    let failure = match rule.reason {
        Reason::RunAsNonRoot => Failure::new(
            rule.reason,
            format!(
                "container {name} may not run as root, and image {image} names no other user by number: {cause}"
            ),
        ),
        Reason::VolumeUnsupported => Failure::new(
            rule.reason,
            format!("the node's runtime can't mount the bundle image as a volume: {cause}"),
        ),
        Reason::ExecFormat => exec_format(name),
        Reason::OutOfMemory => Failure::new(
            rule.reason,
            format!("container {name} can't even start within its memory limit: {cause}"),
        ),
        reason => Failure::new(reason, format!("container {name} can't start: {cause}")),
    };
    Some(rule.advise(failure))
}

fn exec_format(name: &str) -> Failure {
    let message = format!(
        "the program of container {name} isn't for the node's architecture (exec format error)"
    );
    Failure::new(Reason::ExecFormat, message)
}

/// What is said, or the state if nothing is.
fn describe(state: &str, said: &str) -> String {
    if said.is_empty() { state.to_owned() } else { quoted(said) }
}

/// What the state of the container shows.
pub(super) fn evidence(object: &str, status: &ContainerStatus) -> Evidence {
    let state = status.state.as_ref();
    let waiting = state.and_then(|state| state.waiting.as_ref());
    let ended = state.and_then(|state| state.terminated.as_ref());
    Evidence {
        object: Some(object.to_owned()),
        container: Some(status.name.clone()),
        state: waiting.and_then(|it| it.reason.clone()).or_else(|| ended?.reason.clone()),
        said: waiting.and_then(|it| it.message.clone()).or_else(|| ended?.message.clone()),
        exit_code: ended.map(|ended| ended.exit_code),
        ..Evidence::default()
    }
}
