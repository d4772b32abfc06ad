use serde_json::{Value, json};
use unlade_bundle::{Content, Directory, File, Limits};
use unlade_config_map::{encode, mark, protocol::record};

use super::*;
use crate::Deadlines;
use unlade_name::ImageReference;

/// Judgement of the content.
mod content;

pub(in crate::launch) const JOB: &str = "11111111-1111-1111-1111-111111111111";
pub(in crate::launch) const CONFIG_MAP: &str = "22222222-2222-2222-2222-222222222222";
pub(in crate::launch) const IMAGE: &str = "registry.example/etcd:1";
pub(in crate::launch) const TOOL: &str = "registry.example/unlade-unpacker:1";
const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

pub(in crate::launch) fn attempt(strategy: Strategy) -> Attempt {
    Attempt {
        job: "etcd-1".into(),
        uid: JOB.into(),
        wanted: Wanted {
            bundle: ImageReference::parse(IMAGE).unwrap(),
            tool: Some(ImageReference::parse(TOOL).unwrap()),
            strategy,
            volume: crate::object::pod::BUNDLE.into(),
            resolves: false,
        },
        config_map: "etcd".into(),
        config_map_uid: CONFIG_MAP.into(),
        ownership: JobOwnership::Own,
    }
}

pub(in crate::launch) fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Returns the ConfigMap that the attempt `by` has filled from [`IMAGE`].
pub(in crate::launch) fn filled(by: &str) -> ConfigMap {
    filled_from(IMAGE, by)
}

/// Returns the ConfigMap that the attempt `by` has filled from `image`.
pub(in crate::launch) fn filled_from(image: &str, by: &str) -> ConfigMap {
    let file = File {
        directory: Directory::Manifests,
        name: "csv.yaml".into(),
        bytes: b"kind: ClusterServiceVersion\n".to_vec(),
    };
    let reading = Content::assemble(vec![file], &Limits::default()).unwrap();
    let options = encode::Options::default()
        .with_attempt(Some(by.to_owned()))
        .with_source_image(Some(image.to_owned()));
    let mut config_map: ConfigMap =
        read(serde_json::to_value(&encode(&reading.content, &options).unwrap()[0]).unwrap());
    config_map.metadata.uid = Some(CONFIG_MAP.into());
    config_map.metadata.name = Some("etcd".into());
    config_map
}

pub(in crate::launch) fn empty() -> ConfigMap {
    read(json!({"metadata": {"name": "etcd", "uid": CONFIG_MAP}}))
}

pub(in crate::launch) fn job(conditions: &Value) -> Job {
    read(json!({
        "metadata": {"name": "etcd-1", "uid": JOB},
        "status": {"conditions": conditions},
    }))
}

pub(in crate::launch) fn failed(reason: &str) -> Job {
    job(&json!([{"type": "Failed", "status": "True", "reason": reason, "message": reason}]))
}

fn pod(name: &str, spec: &Value, status: &Value) -> Pod {
    read(json!({
        "metadata": {
            "name": name,
            "uid": name,
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "etcd-1", "uid": JOB,
                 "controller": true},
            ],
        },
        "spec": spec,
        "status": status,
    }))
}

/// Returns an injected pod whose container is in this state.
pub(in crate::launch) fn unpacking(name: &str, phase: &str, state: &Value) -> Pod {
    let spec = json!({
        "nodeName": "node0",
        "initContainers": [{"name": "install", "image": "registry.example/unlade-unpacker:1"}],
        "containers": [{"name": "unpack", "image": "registry.example/etcd:1"}],
    });
    let status = json!({
        "phase": phase,
        "initContainerStatuses": [{
            "name": "install", "image": "", "imageID": "", "ready": true, "restartCount": 0,
            "state": {"terminated": {"exitCode": 0, "reason": "Completed"}},
        }],
        "containerStatuses": [{
            "name": "unpack", "image": "", "ready": false, "restartCount": 0, "state": state,
            "imageID": format!("registry.example/etcd@sha256:{HEX}"),
        }],
    });
    pod(name, &spec, &status)
}

pub(in crate::launch) fn ended(name: &str, code: i32) -> Pod {
    unpacking(name, "Failed", &json!({"terminated": {"exitCode": code, "reason": "Error"}}))
}

pub(in crate::launch) fn seen(config_map: ConfigMap, job: Job, pods: Vec<Pod>) -> Seen {
    let mut seen = Seen { config_map: Presence::There(Box::new(config_map)), ..Seen::default() };
    content::note_job(&mut seen, job);
    for pod in pods {
        seen.note(&pod);
        seen.pods.insert(pod.name_any(), pod);
    }
    seen
}

pub(in crate::launch) fn deadlines() -> Deadlines {
    Deadlines {
        schedule: Duration::from_secs(100),
        pull: Duration::from_secs(200),
        run: Duration::from_secs(50),
    }
}

fn judged(seen: &Seen, now: u64) -> Judgement {
    let attempt = attempt(Strategy::Inject);
    let mut budget = Budget::new(deadlines(), Duration::ZERO);
    Judge::new(&attempt, &mut budget, Duration::ZERO).judge(seen, Duration::from_secs(now))
}

/// Formats a state briefly: `written`, `fatal REASON`, `retryable REASON`, `waiting` or `waiting
/// REASON`.
fn short(state: &State) -> String {
    match state {
        State::Ended(Conclusion::Written(_)) => "written".into(),
        State::Ended(Conclusion::Failed(AttemptEnd::Fatal, failure)) => {
            format!("fatal {:?}", failure.reason)
        }
        State::Ended(Conclusion::Failed(AttemptEnd::Retryable, failure)) => {
            format!("retryable {:?}", failure.reason)
        }
        State::Ended(Conclusion::Failed(AttemptEnd::DeadlineExceeded, failure)) => {
            format!("late {:?}", failure.reason)
        }
        State::Ended(Conclusion::Failed(AttemptEnd::Superseded, failure)) => {
            format!("superseded {:?}", failure.reason)
        }
        State::Waiting(Waiting { on: None, .. }) => "waiting".into(),
        State::Waiting(Waiting { on: Some(on), .. }) => format!("waiting {:?}", on.reason),
    }
}

#[test]
fn observations_lead_to_these_conclusions() {
    let none = || job(&json!([]));
    let complete = job(&json!([{"type": "Complete", "status": "True"}]));
    let with = |value: Value| -> ConfigMap {
        let mut config_map = serde_json::to_value(empty()).unwrap();
        for (key, value) in value.as_object().unwrap() {
            config_map["metadata"][key] = value.clone();
        }
        read(config_map)
    };
    let going = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
    let running = || unpacking("a", "Running", &json!({"running": {}}));
    let mut altered = filled(JOB);
    altered.data.as_mut().unwrap().insert("csv.yaml".into(), "kind: Secret\n".into());
    let immutable = ConfigMap { immutable: Some(true), ..empty() };
    let gone = |config_map, job| Seen { config_map, job, ..Seen::default() };
    let there = || Presence::There(Box::new(empty()));
    let mut deleted_job = none();
    deleted_job.metadata.deletion_timestamp = with(going.clone()).metadata.deletion_timestamp;

    let namespace =
        json!({"metadata": {"name": "olm", "deletionTimestamp": "2026-01-01T00:00:00Z"}});
    let in_going_namespace = Seen {
        namespace: Presence::There(Box::new(read(namespace))),
        ..seen(empty(), none(), vec![running()])
    };

    let cases: Vec<(&str, Seen, &str)> = vec![
        ("a namespace on its way out", in_going_namespace, "fatal Namespace"),
        ("nothing yet", Seen::default(), "waiting"),
        ("a Job without a pod", seen(empty(), none(), vec![]), "waiting"),
        ("a pod that runs", seen(empty(), none(), vec![running()]), "waiting"),
        ("its mark", seen(filled(JOB), none(), vec![running()]), "written"),
        (
            "its mark, and the Job gone",
            gone(Presence::There(Box::new(filled(JOB))), Presence::Gone),
            "written",
        ),
        ("the mark of another attempt", seen(filled("other"), none(), vec![running()]), "waiting"),
        ("its mark on other content", seen(altered, none(), vec![running()]), "retryable Conflict"),
        (
            "a complete Job without its mark",
            seen(filled("other"), complete, vec![]),
            "retryable Conflict",
        ),
        ("no ConfigMap", gone(Presence::Gone, Presence::Unknown), "fatal ConfigMapDeleted"),
        ("neither", gone(Presence::Gone, Presence::Gone), "fatal ConfigMapDeleted"),
        ("a ConfigMap on its way out", seen(with(going), none(), vec![]), "fatal ConfigMapDeleted"),
        (
            "another ConfigMap",
            seen(with(json!({"uid": "other"})), none(), vec![]),
            "fatal ConfigMapDeleted",
        ),
        ("an immutable one", seen(immutable, none(), vec![running()]), "fatal ConfigMapImmutable"),
        ("no Job", gone(there(), Presence::Gone), "fatal JobDeleted"),
        ("a Job on its way out", seen(empty(), deleted_job, vec![]), "fatal JobDeleted"),
        ("a bad bundle", seen(empty(), none(), vec![ended("a", 11)]), "fatal BadBundle"),
        (
            "a temporary end",
            seen(empty(), none(), vec![ended("a", 30)]),
            "waiting ApiUnreachableFromPod",
        ),
        (
            "the next pod after a temporary end",
            seen(
                empty(),
                none(),
                vec![
                    ended("a", 30),
                    unpacking("b", "Pending", &json!({"waiting": {"reason": "PodInitializing"}})),
                ],
            ),
            "waiting",
        ),
        (
            "too many temporary ends",
            seen(empty(), failed("BackoffLimitExceeded"), vec![ended("a", 30)]),
            "retryable ApiUnreachableFromPod",
        ),
        ("a failed Job", seen(empty(), failed("BackoffLimitExceeded"), vec![]), "retryable Killed"),
    ];
    for (name, seen, expected) in cases {
        assert_eq!(short(&judged(&seen, 5).state), expected, "{name}");
    }
}

#[test]
fn interference_is_reported_with_its_object_and_its_cause() {
    let message = |config_map: Presence<ConfigMap>| {
        let seen = Seen { config_map, ..Seen::default() };
        match judged(&seen, 5).state {
            State::Ended(Conclusion::Failed(_, failure)) => failure.message,
            state => panic!("{state:?}"),
        }
    };
    assert_eq!(message(Presence::Gone), "someone deleted the ConfigMap etcd");
    let mut altered = filled(JOB);
    altered.data = Some([("..".to_owned(), "x".to_owned())].into());
    let message = message(Presence::There(Box::new(altered)));
    let cause = message.split_once("the key \"..\" is not valid: ").map(|(_, cause)| cause);
    assert!(cause.is_some_and(|cause| !cause.is_empty()), "{message}");
}

#[test]
fn a_record_of_another_launcher_counts_without_other_evidence() {
    let record = FailureRecord {
        attempt: Some(JOB.into()),
        job: Some("etcd-1".into()),
        failure: Failure::new(Reason::ImageNotFound, "the image does not exist"),
    };
    let mut config_map = empty();
    let text = serde_json::to_string(&record).unwrap();
    config_map.annotations_mut().insert(record::FAILURE.into(), text);
    let ended = seen(config_map.clone(), failed("DeadlineExceeded"), vec![]);
    assert_eq!(short(&judged(&ended, 5).state), "fatal ImageNotFound");

    let mut attempt = attempt(Strategy::Inject);
    attempt.uid = "33333333-3333-3333-3333-333333333333".into();
    assert_eq!(FailureRecord::read(Some(&config_map), &attempt.uid), None, "an older attempt's");
}

#[test]
fn steps_are_reported_once_for_each_pod() {
    let attempt = attempt(Strategy::Inject);
    let mut budget = Budget::new(deadlines(), Duration::ZERO);
    let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
    let mut steps = |pod: Pod| -> Vec<String> {
        let seen = seen(empty(), job(&json!([])), vec![pod]);
        let steps = judge.judge(&seen, Duration::from_secs(1)).steps;
        steps.iter().map(|step| serde_json::to_value(step).unwrap().to_string()).collect()
    };
    let digest = format!("sha256:{HEX}");
    let scheduled = r#"{"event":"scheduled","node":"node0"}"#;
    let tool = r#"{"event":"toolPulled"}"#;
    let bundle = format!(r#"{{"digest":"{digest}","event":"bundlePulled"}}"#);
    let waiting = json!({"waiting": {"reason": "PodInitializing"}});
    assert_eq!(steps(pod("a", &json!({"containers": []}), &json!({}))), [""; 0]);
    assert_eq!(steps(unpacking("a", "Pending", &waiting)), [scheduled, tool]);
    assert_eq!(steps(unpacking("a", "Pending", &waiting)), [""; 0]);
    let running = || json!({"running": {}});
    assert_eq!(
        steps(unpacking("a", "Running", &running())),
        [bundle.as_str(), r#"{"event":"running"}"#]
    );
    assert_eq!(steps(unpacking("b", "Running", &running())).len(), 4);
}

#[test]
fn a_phase_resumes_its_remaining_budget() {
    let attempt = attempt(Strategy::Inject);
    let mut budget = Budget::new(deadlines(), Duration::ZERO);
    let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
    let waiting = || unpacking("a", "Pending", &json!({"waiting": {"reason": "PodInitializing"}}));
    let running = || unpacking("a", "Running", &json!({"running": {}}));
    let none = || seen(empty(), job(&json!([])), vec![]);
    let with = |pod| seen(empty(), job(&json!([])), vec![pod]);
    let mut at = |seen: &Seen, now| match judge.judge(seen, Duration::from_secs(now)).state {
        State::Waiting(waiting) => waiting.until.as_secs(),
        State::Ended(Conclusion::Failed(AttemptEnd::DeadlineExceeded, failure))
            if failure.reason == Reason::Deadline =>
        {
            0
        }
        state @ State::Ended(_) => panic!("{state:?}"),
    };
    assert_eq!(at(&none(), 0), 1, "events are asked for after a second");
    assert_eq!(at(&none(), 1), 100);
    assert_eq!(at(&with(waiting()), 40), 240, "the pull begins");
    assert_eq!(at(&with(running()), 100), 150, "the run begins");
    assert_eq!(at(&none(), 140), 200, "the pod is gone: 60 s of the schedule are left");
    assert_eq!(at(&with(waiting()), 150), 290, "and 140 s of the pull");
    assert_eq!(at(&with(running()), 160), 170, "and 10 s of the run");
    assert_eq!(at(&with(running()), 170), 0);
}

#[test]
fn a_deadline_says_what_was_waited_for() {
    let spec = json!({"containers": []});
    let status = json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient cpu.",
    }]});
    let seen = seen(empty(), job(&json!([])), vec![pod("a", &spec, &status)]);
    assert_eq!(short(&judged(&seen, 5).state), "waiting Unschedulable");
    let State::Ended(Conclusion::Failed(AttemptEnd::DeadlineExceeded, failure)) =
        judged(&seen, 100).state
    else {
        panic!()
    };
    assert_eq!(failure.reason, Reason::Unschedulable);
    assert!(failure.message.starts_with("timed out after 100 s"), "{}", failure.message);
    assert!(failure.message.contains("Insufficient cpu"), "{}", failure.message);
    assert!(failure.evidence.object.is_some());
}

#[test]
fn events_are_watched_after_a_while_or_after_a_problem() {
    let events_of = |seen: &Seen, now: u64| match judged(seen, now).state {
        State::Waiting(waiting) => waiting.events_of,
        state @ State::Ended(_) => panic!("{state:?}"),
    };
    let none = seen(empty(), job(&json!([])), vec![]);
    assert_eq!(events_of(&none, 0), None);
    assert_eq!(events_of(&none, 2).as_deref(), Some(JOB));
    let pulling = json!({"waiting": {"reason": "ErrImagePull", "message": "connection refused"}});
    let wrong = seen(empty(), job(&json!([])), vec![unpacking("a", "Pending", &pulling)]);
    assert_eq!(events_of(&wrong, 0).as_deref(), Some("a"));
}

#[test]
fn a_problem_of_the_options_ends_the_wait_for_a_job_with_other_options() {
    let status = json!({"phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    }]});
    let seen = seen(empty(), job(&json!([])), vec![pod("a", &json!({"containers": []}), &status)]);
    for (ownership, expected) in [
        (JobOwnership::Own, "waiting Unschedulable"),
        (JobOwnership::Same, "waiting Unschedulable"),
        (JobOwnership::Other, "superseded Unschedulable"),
    ] {
        let attempt = Attempt { ownership, ..attempt(Strategy::Inject) };
        let mut budget = Budget::new(deadlines(), Duration::ZERO);
        let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
        assert_eq!(short(&judge.judge(&seen, Duration::from_secs(5)).state), expected);
    }
}

#[test]
fn an_event_alone_ends_nothing() {
    let mut seen = seen(empty(), job(&json!([])), vec![]);
    seen.events.note(read(json!({
        "metadata": {"name": "refused", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "involvedObject": {"uid": JOB},
        "reason": "FailedCreate",
        "message": "Error creating: pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"",
    })));
    let State::Waiting(waiting) = judged(&seen, 5).state else { panic!("it has ended") };
    let unconfirmed = waiting.unconfirmed.map(|failure| failure.reason);
    assert_eq!(unconfirmed, Some(Reason::PodSecurity));
}
