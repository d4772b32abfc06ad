//! Jobs and pods that were recorded on a cluster, one file for each way to make them fail. A file
//! says how that was done, and on which version of Kubernetes.

use std::collections::BTreeSet;
use std::path::Path;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Event, Pod};
use serde::Deserialize;

use super::assert_names_no_flag;
use crate::{Failure, Reason};
use crate::{classify_job, classify_pod, worst};

/// The file, the reason, whether the failure is transient, and a part of the message.
const RECORDED: &[(&str, Reason, bool, &str)] = &[
    ("account-deleted", Reason::NoServiceAccount, false, "serviceaccounts \"gone\" not found"),
    ("account-missing", Reason::NoServiceAccount, false, "serviceaccount \"nope\" not found"),
    ("backoff-limit", Reason::Killed, true, "exit code 3"),
    ("drained", Reason::Evicted, true, "pod/etcd-1-x7k2p was evicted from its node"),
    ("evicted", Reason::Evicted, true, "exceeds the limit"),
    ("exec-forbidden", Reason::ContainerConfig, false, "permission denied"),
    ("exec-foreign", Reason::ExecFormat, false, "container unpack"),
    ("exec-garbage", Reason::ExecFormat, false, "container unpack"),
    ("exec-missing", Reason::ContainerConfig, false, "no such file or directory"),
    ("exec-none", Reason::ContainerConfig, false, "no command specified"),
    ("exit-code", Reason::Killed, true, "exit code 3"),
    ("gated", Reason::Unschedulable, true, "scheduling gates"),
    ("job-deadline", Reason::Deadline, true, "job/etcd-1"),
    ("limit-range", Reason::LimitRange, false, "maximum memory usage per Container is 64Mi"),
    ("mount-missing", Reason::Sandbox, true, "configmap \"nope\" not found"),
    ("node-silent", Reason::NodeLost, true, "the node node0 of pod/etcd-1-x7k2p does not respond"),
    ("node-tainted", Reason::NodeLost, true, "NoExecute taint"),
    ("out-of-memory", Reason::OutOfMemory, false, "container unpack"),
    ("pod-security", Reason::PodSecurity, false, "restricted:latest"),
    ("policy", Reason::AdmissionPolicy, false, "no pods here"),
    ("priority-missing", Reason::ApiRefused, false, "PriorityClass"),
    ("pull-401", Reason::Unauthorized, false, "registry.example/lab/f401:1"),
    ("pull-403", Reason::Unauthorized, false, "registry.example/lab/f403:1"),
    ("pull-404", Reason::ImageNotFound, false, "registry.example/lab/f404:1"),
    ("pull-429", Reason::RateLimited, true, "registry.example/lab/f429:1"),
    ("pull-500", Reason::RegistryFailing, true, "500 Fault"),
    ("pull-503", Reason::RegistryFailing, true, ": 503 "),
    ("pull-cut", Reason::RegistryFailing, true, "unexpected EOF"),
    ("pull-invalid", Reason::InvalidReference, false, "must be lowercase"),
    ("pull-missing", Reason::ImageNotFound, false, "registry.example/lab/tool:none"),
    ("pull-missing-tool", Reason::ImageNotFound, false, "registry.example/lab/tool:none"),
    ("pull-never", Reason::PullFailed, false, "registry.example/lab/absent:1"),
    ("pull-other-platform", Reason::NoMatchingPlatform, false, "registry.example/lab/arm:1"),
    ("quota", Reason::Quota, true, "exceeded quota: full"),
    ("quota-wants", Reason::Quota, false, "must specify limits.cpu"),
    ("root", Reason::RunAsNonRoot, false, "registry.example/lab/root:1"),
    ("root-named", Reason::RunAsNonRoot, false, "non-numeric user (app)"),
    ("runtime-class-missing", Reason::ApiRefused, true, "RuntimeClass \"nope\" not found"),
    ("sandbox-runtime", Reason::Sandbox, true, "OCI runtime"),
    ("secret-broken", Reason::BadPullSecret, false, "illegal base64"),
    (
        "secret-missing",
        Reason::NoPullSecret,
        false,
        "the kubelet failed to retrieve the pull secret pull, and the registry denied access",
    ),
    ("secret-opaque", Reason::Unauthorized, false, "registry.example/lab/private:1"),
    ("unschedulable-resources", Reason::Unschedulable, true, "Insufficient memory"),
    ("unschedulable-selector", Reason::Unschedulable, true, "node affinity/selector"),
    ("verdict", Reason::BadBundle, false, "link manifests/a.yaml -> /etc/passwd is absolute"),
    ("volume-backing-off", Reason::ImageNotFound, false, "registry.example/lab/tool:none"),
    ("volume-missing", Reason::ImageNotFound, false, "registry.example/lab/tool:none"),
    ("volume-other-platform", Reason::NoMatchingPlatform, false, "registry.example/lab/arm:1"),
    ("volume-subpath", Reason::VolumeUnsupported, false, "failed to mount the bundle image"),
    ("webhook-dead", Reason::Webhook, true, "dead.lab.example"),
];

#[derive(Deserialize)]
struct Recorded {
    job: Option<Job>,
    pod: Option<Pod>,
    events: Vec<Event>,
}

fn directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests")
}

fn recorded(name: &str) -> Recorded {
    let json = std::fs::read(directory().join(name).with_extension("json")).unwrap();
    serde_json::from_slice(&json).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn failure(recorded: &Recorded) -> Option<Failure> {
    let pod = recorded.pod.as_ref().and_then(|pod| classify_pod(pod, &recorded.events));
    let job = recorded.job.as_ref().and_then(|job| classify_job(job, &recorded.events));
    worst(pod.into_iter().chain(job))
}

#[test]
fn recorded_failures_have_their_reasons() {
    for (name, reason, is_transient, part) in RECORDED {
        let failure =
            failure(&recorded(name)).unwrap_or_else(|| panic!("{name}: nothing is wrong"));
        assert_eq!(
            (failure.reason, failure.is_transient),
            (*reason, *is_transient),
            "{name}: {failure:?}"
        );
        assert!(failure.message.contains(part), "{name}: {}", failure.message);
        assert!(
            failure.evidence.object.is_some() && failure.evidence.state.is_some(),
            "{name}: {failure:?}"
        );
        assert!(serde_json::to_string(&failure).unwrap().len() <= 4096, "{name}");
        assert_names_no_flag(&failure);
    }
}

#[test]
fn every_recorded_file_is_in_the_table() {
    let files = std::fs::read_dir(directory()).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let files: BTreeSet<_> =
        files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    let names: BTreeSet<_> = RECORDED.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(files, names);
}

#[test]
fn cause_of_a_pull_that_backs_off_comes_from_the_event_where_the_state_does_not_repeat_it() {
    let mut recorded = recorded("volume-backing-off");
    let statuses = recorded.pod.as_mut().unwrap().status.as_mut().unwrap();
    let status = &mut statuses.container_statuses.as_mut().unwrap()[0];
    let waiting = status.state.as_mut().unwrap().waiting.as_mut().unwrap();
    // As kubelets before 1.33 have it.
    waiting.message = Some("Back-off pulling image \"registry.example/lab/tool:none\"".to_owned());
    assert_eq!(failure(&recorded).unwrap().reason, Reason::ImageNotFound);
    recorded.events.clear();
    let unknown = failure(&recorded).unwrap();
    assert_eq!((unknown.reason, unknown.is_transient), (Reason::PullFailed, true));
}

#[test]
fn events_about_other_objects_are_left_alone() {
    let Recorded { job, mut events, .. } = recorded("quota");
    for event in &mut events {
        event.involved_object.uid = Some("other".to_owned());
    }
    assert_eq!(classify_job(&job.unwrap(), &events), None);
}

#[test]
fn refusal_is_over_once_there_is_a_pod() {
    let Recorded { job, events, .. } = recorded("quota");
    let mut job = job.unwrap();
    job.status.as_mut().unwrap().active = Some(1);
    assert_eq!(classify_job(&job, &events), None);
}

#[test]
fn earlier_problems_are_over_once_the_container_runs() {
    let mut recorded = recorded("mount-missing");
    let running =
        serde_json::from_str(r#"{"running": {"startedAt": "2026-01-01T00:00:00Z"}}"#).unwrap();
    let status = recorded.pod.as_mut().unwrap().status.as_mut().unwrap();
    status.init_container_statuses.as_mut().unwrap()[0].state = Some(running);
    assert_eq!(failure(&recorded), None);
}
