//! Batches with packs that were interrupted.

use super::*;

/// Launches four bundles, but no pod comes. Then launches `requests`, and fills the running pack.
async fn rerun(server: &Server, requests: &[Request]) -> Vec<Result<String, Reason>> {
    let all = self::requests(4);
    let interrupted = tokio::time::timeout(Duration::from_secs(5), launch_packs(server, &all, 8));
    assert!(interrupted.await.is_err());
    let job = server.object("jobs", "-1");
    let later = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        server.put("pods", pod(&job, "Running", &json!({"running": {}})));
        server.fill(job["metadata"]["name"].as_str().unwrap());
        let filled = server.objects("configmaps", "");
        let outcomes = filled.iter().filter_map(|config_map| {
            let metadata = &config_map["metadata"];
            let digest = metadata["annotations"].get(mark::DIGEST)?;
            Some(json!({"configMap": metadata["name"], "verdict": "written", "digest": digest}))
        });
        let message = Value::Array(outcomes.collect()).to_string();
        let state = json!({"terminated": {"exitCode": 0, "message": message}});
        server.put("pods", pod(&job, "Succeeded", &state));
        let mut ended = job.clone();
        ended["status"]["conditions"] = json!([{"type": "Complete", "status": "True"}]);
        server.put("jobs", ended);
    };
    jobs(&tokio::join!(launch_packs(server, requests, 8), later).0)
}

/// Returns a server on which only the first Job has no pod.
fn first_waits() -> Server {
    Server::new(|server, job| {
        if server.count("jobs") > 1 {
            assert_others_have_ended(server, job);
            succeed(server, job);
        }
    })
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_batch_waits_for_the_running_pack() {
    // Two more bundles, which get another pack after the running one.
    let server = first_waits();
    let jobs = rerun(&server, &requests(6)).await;
    assert!(jobs.iter().all(is_pack), "{jobs:?}");
    assert!(jobs[..4].iter().all(|job| *job == jobs[0]), "{jobs:?}");
    assert!(jobs[4] == jobs[5] && jobs[4] != jobs[0], "{jobs:?}");
    assert_eq!(server.count("jobs"), 2, "the running Job was adopted");

    let server = first_waits();
    let jobs = rerun(&server, &requests(2)).await;
    assert!(jobs.iter().all(is_pack), "{jobs:?}");
    assert_eq!(server.count("jobs"), 1, "the running Job was adopted");
}

#[tokio::test(start_paused = true)]
async fn a_pack_with_other_bundles_is_one_with_the_same_options() {
    let server = Server::new(|_, _| {});
    let all = requests(4);
    let interrupted = tokio::time::timeout(Duration::from_secs(5), launch_packs(&server, &all, 8));
    assert!(interrupted.await.is_err());
    for (options, expected) in
        [(options(), false), (Options::new("registry.example/unlade-unpacker:0.2.0"), true)]
    {
        let launcher = Launcher::new(server.client(), options);
        let batch = Batch { pack: NonZeroUsize::new(8).unwrap(), ..Batch::default() };
        let updates = launcher.launch_each(requests(3), batch);
        let adopted = updates.filter_map(async |update| match update {
            BatchUpdate::Event { event, .. } => match event.step {
                Step::Adopted { differs, .. } => Some(differs),
                _ => None,
            },
            BatchUpdate::Ended { .. } => None,
        });
        assert_eq!(std::pin::pin!(adopted).next().await, Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_bundle_of_a_pack_deletes_its_job() {
    let server = Server::new(|_, _| {});
    let requests = requests(2);
    let interrupted =
        tokio::time::timeout(Duration::from_secs(5), launch_packs(&server, &requests, 8));
    assert!(interrupted.await.is_err());
    let (name, _) = bundles(&server.object("jobs", "-1")).into_iter().next().unwrap();
    let launcher = Launcher::new(server.client(), options());
    let n_before = server.requests().len();
    assert_eq!(launcher.cancel("default", &name).await.unwrap().len(), 1);
    assert_eq!(server.count("jobs"), 0);
    let requests = server.requests().split_off(n_before);
    let lists: Vec<_> = requests.iter().filter(|it| it.path.contains("/jobs?")).collect();
    let is_selective = |it: &&Recorded| {
        ["bundle-unpack-ref", "unlade.dev%2Fpack"].iter().any(|label| it.path.contains(label))
    };
    assert!(!lists.is_empty() && lists.iter().all(is_selective), "{lists:?}");
}
