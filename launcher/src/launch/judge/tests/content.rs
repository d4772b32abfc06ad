use unlade_bundle::annotation::SOURCE_IMAGE;

use super::*;

/// Pods that were not observed from their creation.
mod unseen;

/// Adds a version of the Job.
pub(super) fn note_job(seen: &mut Seen, job: Job) {
    seen.note_job(&job);
    seen.job = Presence::There(Box::new(job));
}

/// Returns the pod with this second of its creation.
fn created(mut pod: Pod, second: u8) -> Pod {
    pod.metadata.creation_timestamp = Some(read(json!(format!("2026-01-01T00:00:0{second}Z"))));
    pod
}

fn digest() -> ImageReference {
    ImageReference::parse(&format!("registry.example/etcd@sha256:{HEX}")).unwrap()
}

/// Returns the ConfigMap that the attempt `by` has filled from the image with the digest.
fn filled(by: &str) -> ConfigMap {
    filled_from(digest().as_str(), by)
}

/// Returns an attempt whose images have digests.
fn by_digest(strategy: Strategy) -> Attempt {
    let mut attempt = attempt(strategy);
    attempt.wanted.bundle = digest();
    attempt.wanted.tool = Some(ImageReference::parse(&tool()).unwrap());
    attempt
}

fn tool() -> String {
    format!("registry.example/unlade-unpacker@sha256:{HEX}")
}

fn other() -> String {
    format!("registry.example/other@sha256:{}", HEX.replace('0', "f"))
}

/// Returns a running pod with the requested images. Its node has reported them if it is injected.
fn requested(strategy: Strategy) -> Pod {
    let mut pod = unpacking("a", "Running", &json!({"running": {}}));
    let (spec, bundle) = (pod.spec.as_mut().unwrap(), Some(digest().to_string()));
    if strategy == Strategy::ImageVolume {
        spec.init_containers = None;
        spec.containers[0].image = Some(tool());
        let name = crate::object::pod::BUNDLE;
        spec.containers[0].volume_mounts =
            read(json!([{"name": name, "mountPath": crate::object::pod::mount_path(name)}]));
        spec.volumes = read(json!([{"name": name, "image": {"reference": bundle}}]));
        pod.status.as_mut().unwrap().container_statuses = None;
    } else {
        spec.init_containers.as_mut().unwrap()[0].image = Some(tool());
        spec.containers[0].image = bundle;
    }
    pod.metadata.generation = Some(1);
    pod
}

/// Returns the pod after its container has written the content of [`filled`].
fn wrote(mut pod: Pod) -> Pod {
    let digest = filled(JOB).annotations()[mark::DIGEST].clone();
    let wrote = json!([{"configMap": "etcd", "verdict": "written", "files": 1, "digest": digest}]);
    let status = pod.status.as_mut().unwrap();
    status.phase = Some("Succeeded".to_owned());
    status.container_statuses = read(json!([{
        "name": "unpack", "image": "", "ready": false, "restartCount": 0,
        "imageID": format!("registry.example/etcd@sha256:{HEX}"),
        "state": {"terminated": {"exitCode": 0, "message": wrote.to_string()}},
    }]));
    pod
}

fn set_image(pod: &mut Pod, image: String) {
    pod.spec.as_mut().unwrap().containers[0].image = Some(image);
}

/// Judges what was seen of an attempt whose Job counts one active pod.
fn judged_with_one_pod(
    strategy: Strategy,
    pods: Vec<Pod>,
    change: impl FnOnce(&mut Seen),
) -> String {
    let job: Job =
        read(json!({"metadata": {"name": "etcd-1", "uid": JOB}, "status": {"active": 1}}));
    let mut seen = seen(filled(JOB), job, pods);
    change(&mut seen);
    let attempt = by_digest(strategy);
    let mut budget = Budget::new(deadlines(), Duration::ZERO);
    let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
    short(&judge.judge(&seen, Duration::from_secs(5)).state)
}

const BOTH: [Strategy; 2] = [Strategy::Inject, Strategy::ImageVolume];

#[test]
fn content_of_a_pod_that_was_lost_is_not_accepted() {
    for strategy in BOTH {
        let judged = |change: fn(&mut Seen)| {
            judged_with_one_pod(strategy, vec![requested(strategy)], change)
        };
        assert_eq!(judged(|_| {}), "written", "{strategy:?}");
        // One patch removes the label and changes the image, so the last observed version of the
        // pod has the requested images, and its node may have reported them before.
        let removed = judged(|seen| {
            let pod = seen.pods.remove("a").unwrap();
            seen.note_deletion(&pod);
        });
        let not_listed = judged(|seen| {
            seen.note_list(&std::collections::BTreeMap::new());
            seen.pods.clear();
        });
        for lost in [removed, not_listed] {
            assert!(!lost.contains("written"), "{strategy:?}: {lost}");
        }
        // No container of a pod that has ended starts again.
        let ended = judged(|seen| {
            let mut pod = seen.pods.remove("a").unwrap();
            pod.status.as_mut().unwrap().phase = Some("Succeeded".to_owned());
            seen.note_deletion(&pod);
        });
        assert_eq!(ended, "written", "{strategy:?}");
    }
}

#[test]
fn a_pod_stays_a_pod_of_the_job_if_its_owner_is_changed() {
    for strategy in BOTH {
        let mut changed = requested(strategy);
        set_image(&mut changed, other());
        changed.metadata.owner_references = read(json!([
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x", "controller": true},
        ]));
        changed.metadata.generation = Some(2);
        let mut second = requested(strategy);
        (second.metadata.name, second.metadata.uid) = (Some("b".into()), Some("b".into()));
        let judged =
            judged_with_one_pod(strategy, vec![requested(strategy), changed, second], |_| {});
        assert_eq!(judged, "fatal ImageReplaced", "{strategy:?}");
    }
}

#[test]
fn a_pod_that_the_job_does_not_control_does_not_count_as_its_own() {
    for strategy in BOTH {
        let mut forged = requested(strategy);
        forged.metadata.owner_references.as_mut().unwrap()[0].controller = Some(false);
        let judged = |pods| judged_with_one_pod(strategy, pods, |_| {});
        assert!(!judged(vec![forged.clone()]).contains("written"), "{strategy:?}");
        // Nor does the message of such a pod decide instead of a pod that was lost.
        (forged.metadata.name, forged.metadata.uid) = (Some("b".into()), Some("b".into()));
        let of_lost = |forged: Pod| {
            judged_with_one_pod(strategy, vec![requested(strategy), wrote(forged)], |seen| {
                let pod = seen.pods.remove("a").unwrap();
                seen.note_deletion(&pod);
            })
        };
        assert!(!of_lost(forged.clone()).contains("written"), "{strategy:?}");
        forged.metadata.owner_references.as_mut().unwrap()[0].controller = Some(true);
        assert_eq!(of_lost(forged), "written", "{strategy:?}");
    }
}

#[test]
fn a_config_map_with_another_uid_is_not_that_of_the_attempt() {
    let strategy = Strategy::ImageVolume;
    let judged = judged_with_one_pod(strategy, vec![requested(strategy)], |seen| {
        let mut recreated = filled(JOB);
        recreated.metadata.uid = Some("another".to_owned());
        seen.config_map = Presence::There(Box::new(recreated));
    });
    assert_eq!(judged, "fatal ConfigMapDeleted");
}

#[test]
fn more_pods_than_a_job_creates_end_the_attempt() {
    let pods = |n: u8| {
        let pods = (0..n).map(|n| {
            let mut pod = requested(Strategy::ImageVolume);
            (pod.metadata.name, pod.metadata.uid) = (Some(n.to_string()), Some(n.to_string()));
            pod
        });
        judged_with_one_pod(Strategy::ImageVolume, pods.collect(), |_| {})
    };
    assert_eq!((pods(64), pods(65)), ("written".to_owned(), "fatal Conflict".to_owned()));
}

/// A user who can change the ConfigMap can write the mark of the attempt.
#[test]
fn content_that_names_another_image_is_a_conflict() {
    for image in [None, Some("registry.example/other:1")] {
        let mut config_map = super::filled(JOB);
        let annotations = config_map.metadata.annotations.as_mut().unwrap();
        annotations.remove(SOURCE_IMAGE);
        annotations.extend(image.map(|image| (SOURCE_IMAGE.to_owned(), image.to_owned())));
        let running = unpacking("a", "Running", &json!({"running": {}}));
        let seen = seen(config_map, job(&json!([])), vec![running]);
        assert_eq!(short(&judged(&seen, 5).state), "retryable Conflict", "{image:?}");
    }
}

#[test]
fn content_that_olm_reads_in_another_way_is_a_conflict() {
    let mut config_map = super::filled(JOB);
    let text = config_map.data.as_mut().unwrap().remove("csv.yaml").unwrap();
    let bytes = k8s_openapi::ByteString(text.into_bytes());
    config_map.binary_data = Some([("csv.yaml".to_owned(), bytes)].into());
    let running = unpacking("a", "Running", &json!({"running": {}}));
    let seen = seen(config_map, job(&json!([])), vec![running]);
    assert_eq!(short(&judged(&seen, 5).state), "retryable Conflict");
}

#[test]
fn content_that_the_pod_did_not_write_is_a_conflict() {
    let content = filled(JOB).annotations()[mark::DIGEST].clone();
    let other = format!("sha256:{HEX}");
    let wrote = |verdict: &str, config_map: &str, digest: &str| {
        json!([{"configMap": config_map, "verdict": verdict, "files": 1, "digest": digest}])
            .to_string()
    };
    let without_digest = json!([{"configMap": "etcd", "verdict": "written", "files": 1}]);
    let failed = |verdict: &str, config_map: &str| {
        json!([{"configMap": config_map, "verdict": verdict, "message": "m"}]).to_string()
    };
    let ended = |name: &str, message: &str| {
        let state = json!({"terminated": {"exitCode": 0, "message": message}});
        unpacking(name, "Succeeded", &state)
    };
    for (name, message, expected) in [
        ("the same", wrote("written", "etcd", &content), "written"),
        ("the same, which was there", wrote("unchanged", "etcd", &content), "written"),
        ("another", wrote("written", "etcd", &other), "retryable Conflict"),
        ("another, which was there", wrote("unchanged", "etcd", &other), "retryable Conflict"),
        ("that of another ConfigMap", wrote("written", "backup", &other), "written"),
        ("an older unpacker's message", without_digest.to_string(), "written"),
        ("no message", String::new(), "written"),
        ("none", failed("badBundle", "etcd"), "retryable Conflict"),
        ("none of another ConfigMap", failed("badBundle", "backup"), "written"),
        ("none that it knows of", failed("temporary", "etcd"), "written"),
    ] {
        let seen = seen(super::filled(JOB), job(&json!([])), vec![ended("a", &message)]);
        assert_eq!(short(&judged(&seen, 5).state), expected, "{name}");
    }
    // A user with permission to create pods can create a newer one with the Job as its owner.
    let pods = vec![
        created(ended("a", &wrote("written", "etcd", &other)), 0),
        created(unpacking("b", "Pending", &json!({"waiting": {}})), 1),
    ];
    let seen = seen(super::filled(JOB), job(&json!([])), pods);
    assert_eq!(short(&judged(&seen, 5).state), "retryable Conflict", "the newest has no message");
}

#[test]
fn content_counts_once_its_image_is_verified() {
    let mut by_digest = attempt(Strategy::Inject);
    by_digest.wanted.bundle = digest();
    let running = |image: &str, report: &str| {
        let mut pod = unpacking("a", "Running", &json!({"running": {}}));
        pod.spec.as_mut().unwrap().containers[0].image = Some(image.to_owned());
        let statuses = pod.status.as_mut().unwrap().container_statuses.as_mut().unwrap();
        report.clone_into(&mut statuses[0].image_id);
        pod
    };
    let image = by_digest.wanted.bundle.to_string();
    let other = format!("registry.example/etcd@sha256:{}", HEX.replace('0', "f"));
    let gone = || {
        let mut seen = seen(filled(JOB), job(&json!([])), vec![running(&image, "")]);
        seen.pods.clear();
        seen
    };
    let of = |pod| seen(filled(JOB), job(&json!([])), vec![pod]);
    for (name, seen, expected) in [
        ("verified", of(running(&image, &image)), "written"),
        ("not reported yet", of(running(&image, "")), "waiting"),
        ("another", of(running(&other, "")), "fatal ImageReplaced"),
        ("gone before it was reported", gone(), "retryable ImageUnverified"),
        ("no pod seen yet", seen(filled(JOB), job(&json!([])), vec![]), "waiting"),
    ] {
        let mut budget = Budget::new(deadlines(), Duration::ZERO);
        let mut judge = Judge::new(&by_digest, &mut budget, Duration::ZERO);
        assert_eq!(short(&judge.judge(&seen, Duration::from_secs(5)).state), expected, "{name}");
    }
    // Admission has changed the first pod, which was deleted before the node reported its image.
    // The second one was not changed.
    let digest = filled(JOB).annotations()[mark::DIGEST].clone();
    let wrote = json!([{"configMap": "etcd", "verdict": "written", "files": 1, "digest": digest}]);
    let ended = json!({"terminated": {"exitCode": 0, "message": wrote.to_string()}});
    for (name, state, expected) in [
        ("may have written it", json!({"running": {}}), "waiting"),
        ("has written it", ended, "written"),
        (
            "ended without a message",
            json!({"terminated": {"exitCode": 0}}),
            "retryable ImageUnverified",
        ),
    ] {
        let phase = if state.get("running").is_some() { "Running" } else { "Succeeded" };
        let mut second = unpacking("b", phase, &state);
        second.spec.as_mut().unwrap().containers[0].image = Some(image.clone());
        let second = created(second, 0);
        let state = |seen: &Seen| {
            let mut budget = Budget::new(deadlines(), Duration::ZERO);
            let mut judge = Judge::new(&by_digest, &mut budget, Duration::ZERO);
            short(&judge.judge(seen, Duration::from_secs(5)).state)
        };
        let mut changed = of(second.clone());
        changed.note(&running("registry.example/etcd:1", ""));
        assert_eq!(state(&changed), expected, "the second pod {name}");
        // Someone has removed the label of the first pod, and may have changed it since.
        let mut lost = of(second.clone());
        let mut first = running(&image, "");
        lost.note(&first);
        first.metadata.labels = None;
        lost.note_deletion(&first);
        assert_eq!(state(&lost), expected, "the second pod {name}, the first one is lost");
        let mut unseen = of(second);
        let with_status = |status: Value| -> Job {
            read(json!({"metadata": {"name": "etcd-1", "uid": JOB}, "status": status}))
        };
        note_job(&mut unseen, with_status(json!({"failed": 1})));
        assert_eq!(state(&unseen), "written", "the Job counts the second pod only");
        note_job(&mut unseen, with_status(json!({"failed": 1, "active": 1})));
        let lacking = match expected {
            // The watch of the pods may be behind.
            "retryable ImageUnverified" => "waiting",
            expected => expected,
        };
        assert_eq!(state(&unseen), lacking, "the second pod {name}, the first one is not seen");
        unseen.job = Presence::Gone;
        assert_eq!(state(&unseen), expected, "the second pod {name}, the Job is deleted");
    }
    let mut budget = Budget::new(deadlines(), Duration::ZERO);
    let mut judge = Judge::new(&by_digest, &mut budget, Duration::ZERO);
    let silent = of(running(&image, ""));
    assert_eq!(short(&judge.judge(&silent, Duration::from_secs(5)).state), "waiting");
    let late = judge.judge(&silent, Duration::from_secs(35)).state;
    assert_eq!(short(&late), "retryable ImageUnverified", "the node is silent");
}

/// Content can take a moment to decode, and a pod can change many times.
#[test]
fn a_version_of_the_config_map_is_decoded_once() {
    let attempt = by_digest(Strategy::Inject);
    let mut budget = Budget::new(deadlines(), Duration::ZERO);
    let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
    let mut at = |version: &str, csv: &str| {
        let mut config_map = filled(JOB);
        config_map.metadata.resource_version = Some(version.to_owned());
        config_map.data.as_mut().unwrap().insert("csv.yaml".into(), csv.to_owned());
        let seen = seen(config_map, job(&json!([])), vec![]);
        short(&judge.judge(&seen, Duration::from_secs(5)).state)
    };
    let whole = filled(JOB).data.unwrap()["csv.yaml"].clone();
    assert_eq!(at("1", &whole), "waiting");
    // The API server never does this: it shows that nothing was decoded.
    assert_eq!(at("1", "kind: Secret\n"), "waiting");
    assert_eq!(at("2", "kind: Secret\n"), "retryable Conflict");
}

#[test]
fn a_pod_that_the_watch_does_not_show_yet_is_awaited() {
    let strategy = Strategy::ImageVolume;
    let attempt = by_digest(strategy);
    let with_status = |status: Value| -> Job {
        read(json!({"metadata": {"name": "etcd-1", "uid": JOB}, "status": status}))
    };
    let mut failed = requested(strategy);
    failed.status.as_mut().unwrap().phase = Some("Failed".to_owned());
    let both = with_status(json!({"active": 1, "failed": 1}));
    let mut seen = seen(filled(JOB), both, vec![failed]);
    let mut budget = Budget::new(deadlines(), Duration::ZERO);
    let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
    assert_eq!(short(&judge.judge(&seen, Duration::from_secs(5)).state), "waiting");
    let late = judge.judge(&seen, Duration::from_secs(35)).state;
    assert_eq!(short(&late), "retryable ImageUnverified", "it never appears");
    let mut second = requested(strategy);
    (second.metadata.name, second.metadata.uid) = (Some("b".into()), Some("b".into()));
    seen.note(&second);
    seen.pods.insert("b".to_owned(), second);
    assert_eq!(short(&judge.judge(&seen, Duration::from_secs(8)).state), "written");
}
