//! Packs that end before all of their ConfigMaps are filled.

use super::*;

/// Returns a server that replaces the images of packs, and lets other Jobs succeed. No Job may
/// start before the earlier ones have ended.
fn server_that_replaces_images_of_packs() -> Server {
    Server::new(|server, job| {
        assert_others_have_ended(server, job);
        if job["metadata"]["name"].as_str().unwrap().starts_with("pack-") {
            replace(server, job);
        } else {
            succeed(server, job);
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_replaced_image_ends_the_pack_at_once() {
    let server = server_that_replaces_images_of_packs();
    let start = tokio::time::Instant::now();
    let jobs = jobs(&launch_packs(&server, &requests(3), 8).await);
    assert!(jobs.iter().all(|job| job.is_ok() && !is_pack(job)), "{jobs:?}");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn no_launch_starts_alone_while_a_pack_runs_that_could_not_be_ended() {
    let endless = Deadlines { schedule: Duration::MAX, pull: Duration::MAX, run: Duration::MAX };
    for deadlines in [Deadlines::default(), endless] {
        let server = server_that_replaces_images_of_packs();
        let ending = server.clone();
        let later = async {
            tokio::time::sleep(Duration::from_mins(5)).await;
            let mut job = ending.object("jobs", "-1");
            assert_ne!(job["spec"]["activeDeadlineSeconds"], 1);
            job["status"]["conditions"] = json!([{"type": "Failed", "status": "True"}]);
            ending.put("jobs", job);
        };
        let denied = server.clone().without(&["patches of jobs"]);
        let requests = requests(3);
        let options = Options { deadlines, ..options() };
        let (outcomes, ()) = tokio::join!(launch_packs_with(&denied, options, &requests, 8), later);
        let jobs = jobs(&outcomes);
        assert!(jobs.iter().all(|job| job.is_ok() && !is_pack(job)), "{jobs:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn launches_start_alone_if_an_ended_pack_does_not_finish() {
    // No controller finishes the Job of the pack, as with a node that cannot be reached.
    let server = Server::new(|server, job| {
        if job["metadata"]["name"].as_str().unwrap().starts_with("pack-") {
            replace(server, job);
        } else {
            succeed(server, job);
        }
    });
    let launcher = Launcher::new(server.client(), options());
    let batch = Batch { pack: MAX_PACK, ..Batch::default() };
    let start = tokio::time::Instant::now();
    let jobs = jobs(&launcher.launch_all(&requests(2), &batch).await);
    assert!(jobs.iter().all(|job| job.is_ok() && !is_pack(job)), "{jobs:?}");
    let (took, limit) = (start.elapsed(), crate::launch::course::STOPPING);
    assert!(took >= limit && took < limit + Duration::from_secs(10), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn content_of_an_unknown_image_is_removed_whatever_the_pack_failed_of() {
    let server = Server::new(|server, job| {
        if !job["metadata"]["name"].as_str().unwrap().starts_with("pack-") {
            for config_map in server.objects("configmaps", &bundles(job)[0].0) {
                assert!(config_map.get("data").is_none_or(Value::is_null), "{config_map}");
            }
            return succeed(server, job);
        }
        // Nobody has seen the pod.
        server.fill_unseen(job);
        end(server, job, "Failed");
    });
    let jobs = jobs(&launch_packs(&server, &requests(2), 8).await);
    assert!(jobs.iter().all(|job| job.is_ok() && !is_pack(job)), "{jobs:?}");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_config_map_is_not_created_again() {
    let server = Server::new(|server, job| {
        let (first, _) = bundles(job).into_iter().next().unwrap();
        let mut other = server.object("configmaps", &first);
        other["metadata"]["uid"] = json!("theirs");
        server.put("configmaps", other);
        server.fill_some(job, |image| !image.contains("b0@"));
        server.put("pods", pod(job, "Succeeded", &json!({"terminated": {"exitCode": 0}})));
        end(server, job, "Failed");
    });
    let jobs = jobs(&launch_packs(&server, &requests(3), 8).await);
    assert_eq!(jobs[0], Err(Reason::ConfigMapDeleted));
    assert!(is_pack(&jobs[1]) && is_pack(&jobs[2]), "{jobs:?}");
}

/// A user with permission to create events chooses their text.
#[tokio::test(start_paused = true)]
async fn an_event_that_the_api_server_does_not_confirm_does_not_end_a_pack() {
    let server = Server::new(|server, job| {
        let name = job["metadata"]["name"].as_str().unwrap();
        assert!(name.starts_with("pack-"), "{name} has a Job of its own");
        server.put("events", json!({
            "apiVersion": "v1", "kind": "Event", "type": "Warning", "reason": "FailedCreate",
            "metadata": {"name": "forged", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "involvedObject": {"uid": job["metadata"]["uid"]},
            "message": "Error creating: pods \"x\" is forbidden: violates PodSecurity \"restricted:latest\"",
            "source": {"component": "job-controller"},
        }));
    });
    let filled = async {
        tokio::time::sleep(Duration::from_secs(10)).await;
        let job = server.object("jobs", "");
        server.fill("pack-");
        server.put("pods", pod(&job, "Succeeded", &json!({"terminated": {"exitCode": 0}})));
        std::future::pending::<()>().await;
    };
    let requests = requests(2);
    let outcomes = tokio::select! {
        outcomes = launch_packs(&server, &requests, 8) => outcomes,
        () = filled => unreachable!(),
    };
    let jobs = jobs(&outcomes);
    assert!(jobs.iter().all(is_pack), "{jobs:?}");
}

#[tokio::test(start_paused = true)]
async fn a_config_map_that_lost_its_label_is_not_gone() {
    for is_filled in [true, false] {
        let server = Server::new(move |server, job| {
            if is_filled || !job["metadata"]["name"].as_str().unwrap().starts_with("pack-") {
                return succeed(server, job);
            }
            succeed_except(server, job, "b0@");
        });
        let requests = requests(2);
        server.put(
            "configmaps",
            json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {
                    "name": config_map_of(&requests[0]), "uid": "there",
                    "labels": {"app.kubernetes.io/managed-by": "unlade"},
                },
            }),
        );
        let jobs = jobs(&launch_packs(&server, &requests, 8).await);
        assert!(jobs.iter().all(Result::is_ok), "{jobs:?}");
        assert_eq!(is_pack(&jobs[0]), is_filled, "{jobs:?}");
    }
}
