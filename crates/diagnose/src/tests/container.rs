use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStateWaiting};
use unlade_config_map::protocol::outcome::{self, Outcome, Verdict};

use super::{assert_every_phrase_decides, assert_names_no_flag};
use crate::Reason;
use crate::container::{self, RULES};

const IMAGE: &str = "registry.example/team/etcd:1.0";

/// The state, the message, the reason, and whether the failure is transient.
const WAITING: &[(&str, &str, Reason, bool)] = &[
    (
        "InvalidImageName",
        "Failed to apply default image tag \"Etcd\": couldn't parse image name",
        Reason::InvalidReference,
        false,
    ),
    (
        "ErrImageNeverPull",
        "Container image \"registry.example/team/etcd:1.0\" is not present with pull policy of Never",
        Reason::PullFailed,
        false,
    ),
    (
        "CreateContainerConfigError",
        "container has runAsNonRoot and image will run as root (pod: \"etcd_ns(0)\", container: unpack)",
        Reason::RunAsNonRoot,
        false,
    ),
    (
        "CreateContainerConfigError",
        "container's runAsUser breaks non-root policy (pod: \"etcd_ns(0)\", container: unpack)",
        Reason::RunAsNonRoot,
        false,
    ),
    (
        "CreateContainerConfigError",
        "container's runAsUser (root) which will be regarded as root identity and will break non-root policy (pod: \"etcd_ns(0)\", container: unpack)",
        Reason::RunAsNonRoot,
        false,
    ),
    ("CreateContainerConfigError", "secret \"token\" not found", Reason::ContainerConfig, false),
    (
        "CreateContainerConfigError",
        "couldn't find key a in ConfigMap ns/b",
        Reason::ContainerConfig,
        false,
    ),
    (
        "CreateContainerConfigError",
        "failed to sync configmap cache: too slow",
        Reason::Sandbox,
        true,
    ),
    ("CreateContainerError", "timed out waiting for the condition", Reason::Sandbox, true),
    ("CreateContainerError", "context deadline exceeded", Reason::Sandbox, true),
    (
        "CreateContainerError",
        "failed to reserve container name \"unpack_etcd_ns_0_0\": another request is in progress",
        Reason::Sandbox,
        true,
    ),
    ("CreateContainerError", "the container name is reserved", Reason::Sandbox, true),
    (
        "CreateContainerError",
        "dial unix /run/containerd.sock: connect: connection refused",
        Reason::Sandbox,
        true,
    ),
    ("CreateContainerError", "write /run/x: no space left on device", Reason::Sandbox, true),
    (
        "CreateContainerError",
        "fork/exec /usr/bin/runc: resource temporarily unavailable",
        Reason::Sandbox,
        true,
    ),
    (
        "CreateContainerError",
        "fork/exec /usr/bin/runc: cannot allocate memory",
        Reason::Sandbox,
        true,
    ),
    ("CreateContainerError", "ImageVolumeMountFailed: wrong", Reason::VolumeUnsupported, false),
    (
        "CreateContainerError",
        "failed to mount image volume: wrong",
        Reason::VolumeUnsupported,
        false,
    ),
    (
        "CreateContainerError",
        "failed to generate container \"0\" spec: failed to apply OCI options: failed to mkdir \"\": mkdir : no such file or directory",
        Reason::VolumeUnsupported,
        false,
    ),
    ("CreateContainerError", "mount.HostPath is empty", Reason::VolumeUnsupported, false),
    // CRI-O, with its default container_min_memory and runc.
    (
        "CreateContainerError",
        "set memory limit 1048576 too low; should be at least 12582912",
        Reason::OutOfMemory,
        false,
    ),
    (
        "CreateContainerError",
        "failed to generate container \"0\" spec: failed to generate spec: no command specified",
        Reason::ContainerConfig,
        false,
    ),
    (
        "CreateContainerError",
        "container create failed: executable file not found in $PATH",
        Reason::ContainerConfig,
        false,
    ),
    ("CreateContainerError", "unable to find user app: wrong", Reason::ContainerConfig, false),
    ("CreateContainerError", "no matching entries in passwd file", Reason::ContainerConfig, false),
    (
        "RunContainerError",
        "exec: \"/injected/unlade-unpacker\": stat /injected/unlade-unpacker: no such file or directory",
        Reason::ContainerConfig,
        false,
    ),
    (
        "RunContainerError",
        "exec: \"/injected/unlade-unpacker\": permission denied",
        Reason::ContainerConfig,
        false,
    ),
    (
        "RunContainerError",
        "error mounting: operation not permitted",
        Reason::ContainerConfig,
        false,
    ),
    // The kubelet sets the error itself as the state.
    (
        "illegal base64 data at input byte 0",
        "illegal base64 data at input byte 0",
        Reason::BadPullSecret,
        false,
    ),
    ("invalid character 'x' looking for beginning of value", "", Reason::BadPullSecret, false),
    (
        "json: cannot unmarshal number into Go value of type string",
        "",
        Reason::BadPullSecret,
        false,
    ),
    ("unexpected end of JSON input", "", Reason::BadPullSecret, false),
    ("CreateContainerError", "something new", Reason::ContainerConfig, true),
    ("PostStartHookError", "", Reason::ContainerConfig, true),
];

/// The state, the exit code, the message, the reason, and whether the failure is transient.
const ENDED: &[(&str, i32, &str, Reason, bool)] = &[
    (
        "Error",
        11,
        "[{\"configMap\":\"etcd\",\"verdict\":\"badBundle\",\"message\":\"link\"}]",
        Reason::BadBundle,
        false,
    ),
    (
        "Error",
        30,
        "[{\"configMap\":\"etcd\",\"verdict\":\"temporary\",\"message\":\"no answer from the API server\"}]",
        Reason::ApiUnreachableFromPod,
        true,
    ),
    (
        "Error",
        30,
        "[{\"configMap\":\"etcd\",\"verdict\":\"temporary\",\"message\":\"ConfigMap etcd was changed by another client\",\"isConflict\":true}]",
        Reason::Conflict,
        true,
    ),
    // The kubelet kept only the end of the log.
    ("Error", 13, "...\"tooLarge\",\"message\":\"x\"}]", Reason::TooLarge, false),
    ("OOMKilled", 137, "", Reason::OutOfMemory, false),
    ("Error", 137, "", Reason::Killed, true),
    ("Error", 143, "", Reason::Killed, true),
    ("Error", 139, "", Reason::Killed, true),
    ("Error", 3, "", Reason::Killed, true),
    (
        "ContainerStatusUnknown",
        137,
        "The container could not be located when the pod was terminated",
        Reason::NodeLost,
        true,
    ),
    (
        "StartError",
        128,
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: \"/injected/unlade-unpacker\": stat /injected/unlade-unpacker: no such file or directory",
        Reason::ContainerConfig,
        false,
    ),
    (
        "StartError",
        128,
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec /injected/unlade-unpacker: exec format error",
        Reason::ExecFormat,
        false,
    ),
    (
        "StartError",
        128,
        "failed to create containerd task: OCI runtime create failed: container init was OOM-killed",
        Reason::OutOfMemory,
        false,
    ),
    (
        "StartError",
        128,
        "failed to create containerd task: OCI runtime create failed: (memory limit too low?)",
        Reason::OutOfMemory,
        false,
    ),
    ("StartError", 128, "something new", Reason::Sandbox, true),
    (
        "ContainerCannotRun",
        127,
        "executable file not found in $PATH",
        Reason::ContainerConfig,
        false,
    ),
    ("Error", 126, "permission denied", Reason::ContainerConfig, false),
    ("Error", 1, "exec /injected/unlade-unpacker: exec format error", Reason::ExecFormat, false),
    ("Error", 255, "exec /injected/unlade-unpacker: exec format error", Reason::ExecFormat, false),
];

fn waiting(state: &str, message: &str) -> ContainerStateWaiting {
    ContainerStateWaiting { reason: Some(state.to_owned()), message: Some(message.to_owned()) }
}

fn ended(state: &str, exit_code: i32, message: &str) -> ContainerStateTerminated {
    let (reason, message) = (Some(state.to_owned()), Some(message.to_owned()));
    ContainerStateTerminated { reason, message, exit_code, ..ContainerStateTerminated::default() }
}

#[test]
fn containers_that_cannot_start_are_classified_by_their_messages() {
    for (state, message, reason, is_transient) in WAITING {
        let failure = container::classify_waiting(&waiting(state, message), "unpack", IMAGE);
        assert_eq!((failure.reason, failure.is_transient), (*reason, *is_transient), "{message}");
        assert_names_no_flag(&failure);
    }
}

#[test]
fn containers_that_exited_are_classified_by_verdict_state_and_exit_code() {
    for (state, code, message, reason, is_transient) in ENDED {
        let failure =
            container::classify_terminated(&ended(state, *code, message), "unpack", IMAGE);
        assert_eq!(
            (failure.reason, failure.is_transient),
            (*reason, *is_transient),
            "{state} {code} {message}"
        );
        assert_names_no_flag(&failure);
    }
}

#[test]
fn a_conflict_is_recognised_in_a_list_whose_messages_are_shortened() {
    let outcomes: Vec<_> = (0..20)
        .map(|index| {
            let name = format!("bundle-{index}");
            let message =
                format!("ConfigMap {name} {}", "was changed by another client ".repeat(9));
            let mut outcome = Outcome::failed(&name, Verdict::Temporary, message);
            outcome.is_conflict = true;
            outcome
        })
        .collect();
    let message = outcome::message(&outcomes);
    assert!(message.contains('…'), "{message}");
    let failure = container::classify_terminated(&ended("Error", 30, &message), "unpack", IMAGE);
    assert_eq!(failure.reason, Reason::Conflict);
}

#[test]
fn the_exit_code_of_a_foreign_container_is_not_a_verdict() {
    let failure = container::classify_terminated(&ended("Error", 11, "oops"), "istio-proxy", IMAGE);
    assert_eq!(failure.reason, Reason::Killed);
}

#[test]
fn every_phrase_about_containers_is_needed() {
    let waiting = WAITING.iter().map(|(_, message, ..)| message.to_lowercase());
    let ended = ENDED.iter().map(|(_, _, message, ..)| message.to_lowercase());
    assert_every_phrase_decides(RULES, &waiting.chain(ended).collect::<Vec<_>>());
}
