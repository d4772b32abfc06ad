//! Content of pods that were not observed from their creation.

use super::*;

/// Someone may have taken a pod away from the Job before the launch adopted the Job, and changed
/// its image.
#[test]
fn content_of_an_adopted_job_counts_once_a_pod_names_it() {
    let pack = |status: Value| -> Job {
        let labels = json!({crate::object::label::PACK: "a"});
        read(json!({"metadata": {"name": "p", "uid": JOB, "labels": labels}, "status": status}))
    };
    for ownership in [JobOwnership::Same, JobOwnership::Other] {
        for strategy in BOTH {
            let attempt = Attempt { ownership, ..by_digest(strategy) };
            let mut budget = Budget::new(deadlines(), Duration::ZERO);
            let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
            let mut at = |job: &Job, pod: Option<&Pod>, now| {
                let seen = seen(filled(JOB), job.clone(), pod.into_iter().cloned().collect());
                short(&judge.judge(&seen, Duration::from_secs(now)).state)
            };
            let (job, running) = (job(&json!([])), requested(strategy));
            assert_eq!(at(&job, None, 5), "waiting");
            assert_eq!(at(&job, Some(&running), 6), "waiting");
            assert_eq!(at(&job, Some(&wrote(running.clone())), 7), "written");
            assert_eq!(at(&job, Some(&running), 36), "retryable ImageUnverified");
            // Each container of a pack writes several ConfigMaps before it ends.
            let mut unpacking = running;
            unpacking.status.as_mut().unwrap().container_statuses = read(json!([{
                "name": "unpack", "image": "", "imageID": digest().to_string(), "ready": true,
                "restartCount": 0, "state": {"running": {}},
            }]));
            let pack = pack(json!({"active": 1}));
            assert_eq!(at(&pack, Some(&unpacking), 37), "waiting");
            assert_eq!(at(&pack, Some(&wrote(unpacking.clone())), 38), "written");
            assert_eq!(at(&pack, Some(&unpacking), 200), "retryable ImageUnverified");
        }
    }
}

#[test]
fn content_of_a_tag_needs_the_message_of_a_pod_of_an_adopted_job_too() {
    let running = unpacking("a", "Running", &json!({"running": {}}));
    let mut ended = running.clone();
    ended.status.as_mut().unwrap().phase = Some("Succeeded".to_owned());
    for ownership in [JobOwnership::Same, JobOwnership::Other] {
        let attempt = Attempt { ownership, ..attempt(Strategy::Inject) };
        let judged = |pod: &Pod, now: u64| {
            let mut budget = Budget::new(deadlines(), Duration::ZERO);
            let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
            let seen = seen(filled_from(IMAGE, JOB), job(&json!([])), vec![pod.clone()]);
            // The first judgement begins to wait for the report.
            drop(judge.judge(&seen, Duration::from_secs(5)));
            short(&judge.judge(&seen, Duration::from_secs(now)).state)
        };
        assert_eq!(judged(&running, 6), "waiting");
        assert_eq!(judged(&running, 36), "retryable ImageUnverified");
        assert_eq!(judged(&wrote(running.clone()), 6), "written");
        assert_eq!(judged(&ended, 6), "retryable ImageUnverified");

        let mut budget = Budget::new(deadlines(), Duration::ZERO);
        let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
        let seen = seen(filled_from(IMAGE, JOB), job(&json!([])), vec![wrote(running.clone())]);
        let state = judge.judge(&seen, Duration::from_secs(5)).state;
        let State::Ended(Conclusion::Written(written)) = state else { panic!("{state:?}") };
        assert_eq!(written.images.bundle.digest, Some(format!("sha256:{HEX}")));
    }
}

/// Before 1.33, Kubernetes does not count the specifications of a pod.
#[test]
fn a_pod_without_a_generation_is_observed_only_from_its_creation() {
    for strategy in BOTH {
        let mut created = requested(strategy);
        created.metadata.generation = None;
        let mut scheduled = created.clone();
        scheduled.status.as_mut().unwrap().conditions =
            read(json!([{"type": "PodScheduled", "status": "True"}]));
        let mut by_tag = by_digest(strategy);
        by_tag.wanted.tool = Some(ImageReference::parse(TOOL).unwrap());
        let judged = |attempt: &Attempt, tool: &str, first: &Pod, is_listed: bool, last: &Pod| {
            let mut versions = [first.clone(), last.clone()];
            for version in &mut versions {
                let spec = version.spec.as_mut().unwrap();
                let init = spec.init_containers.as_mut().map(|init| &mut init[0]);
                init.unwrap_or(&mut spec.containers[0]).image = Some(tool.to_owned());
            }
            let [first, last] = versions;
            let mut seen = seen(filled(JOB), job(&json!([])), vec![]);
            if is_listed {
                seen.note_listed(&first);
            } else {
                seen.note(&first);
            }
            seen.note(&last);
            seen.pods.insert(last.name_any(), last);
            let mut budget = Budget::new(deadlines(), Duration::ZERO);
            let mut judge = Judge::new(attempt, &mut budget, Duration::ZERO);
            short(&judge.judge(&seen, Duration::from_secs(5)).state)
        };
        let (digest, ended) = (by_digest(strategy), wrote(scheduled.clone()));
        // An ordinary launch.
        assert_eq!(judged(&by_tag, TOOL, &created, false, &scheduled), "written", "{strategy:?}");
        assert_eq!(judged(&digest, &tool(), &created, false, &scheduled), "written");
        for (first, is_listed) in [(&created, true), (&scheduled, false)] {
            // Nothing shows whether someone has changed the tool image, which is a tag.
            let unproven = judged(&by_tag, TOOL, first, is_listed, &ended);
            assert_eq!(unproven, "retryable ImageUnverified", "{strategy:?}");
            // The report of the digests comes with the message.
            assert_eq!(judged(&digest, &tool(), first, is_listed, &scheduled), "waiting");
            let mut ended = ended.clone();
            let status = ended.status.as_mut().unwrap();
            let install = status.init_container_statuses.as_mut().map(|init| &mut init[0]);
            if let Some(install) = install {
                install.image_id = tool();
            }
            assert_eq!(judged(&digest, &tool(), first, is_listed, &ended), "written");
        }
    }
}

#[test]
fn a_tag_is_another_image_if_someone_may_have_changed_the_pod() {
    let mut attempt = Attempt { ownership: JobOwnership::Same, ..by_digest(Strategy::Inject) };
    attempt.wanted.bundle = ImageReference::parse(IMAGE).unwrap();
    let judged = |image: &str, generation: i64| {
        let mut pod = wrote(requested(Strategy::Inject));
        pod.metadata.generation = Some(generation);
        set_image(&mut pod, image.to_owned());
        let status = pod.status.as_mut().unwrap();
        status.init_container_statuses.as_mut().unwrap()[0].image_id = tool();
        let mut budget = Budget::new(deadlines(), Duration::ZERO);
        let mut judge = Judge::new(&attempt, &mut budget, Duration::ZERO);
        let seen = seen(filled_from(IMAGE, JOB), job(&json!([])), vec![pod]);
        short(&judge.judge(&seen, Duration::from_secs(5)).state)
    };
    assert_eq!(judged(IMAGE, 2), "written");
    assert_eq!(judged("evil.example/etcd:1", 2), "retryable ImageUnverified");
    // Admission has chosen a mirror.
    assert_eq!(judged("mirror.example/etcd:1", 1), "written");
}
