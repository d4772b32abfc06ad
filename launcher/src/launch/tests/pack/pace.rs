//! The pace of packs, by what their nodes have to pull.

use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::*;

/// The name of no image.
const NONE: &str = "/none@";

/// Launches 32 bundles in packs of 8, whose pods run for two seconds. The kubelet reports this
/// about the images of each pack, but fails to pull the `missing` one. Returns when the Jobs were
/// created.
async fn launch(message: &'static str, missing: &'static str) -> Vec<Duration> {
    let start = Instant::now();
    let created = Arc::new(Mutex::new(Vec::new()));
    let times = Arc::clone(&created);
    let server = Server::new(move |server, job| {
        times.lock().unwrap().push(start.elapsed());
        if bundles(job).iter().any(|(_, image)| image.contains(missing)) {
            return miss(server, job, missing);
        }
        let mut pod = pod(job, "Pending", &json!({"waiting": {"reason": "ContainerCreating"}}));
        pod["metadata"]["uid"] = job["metadata"]["uid"].clone();
        server.put("pods", pod);
        for (name, image) in bundles(job) {
            server.put(
                "events",
                json!({
                    "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
                    "involvedObject": {"kind": "Pod", "uid": job["metadata"]["uid"]},
                    "reason": "Pulled",
                    "message": message.replace("IMAGE", &image),
                }),
            );
        }
    });
    let running = server.clone();
    let run = async {
        loop {
            tokio::time::sleep(Duration::from_secs(2)).await;
            for mut job in running.objects("jobs", "") {
                let is_missing = bundles(&job).iter().any(|(_, image)| image.contains(missing));
                if job["status"].is_null() && !is_missing {
                    running.fill(job["metadata"]["name"].as_str().unwrap());
                    job["status"]["conditions"] = json!([{"type": "Complete", "status": "True"}]);
                    running.put("jobs", job);
                }
            }
        }
    };
    let requests = requests(32);
    let outcomes = tokio::select! {
        outcomes = launch_packs(&server, &requests, 8) => outcomes,
        () = run => unreachable!(),
    };
    if missing == NONE {
        assert!(jobs(&outcomes).iter().all(is_pack), "{outcomes:?}");
    }
    let created = created.lock().unwrap();
    created.clone()
}

#[tokio::test(start_paused = true)]
async fn packs_start_as_fast_as_a_node_pulls_their_images() {
    let times = launch("Successfully pulled image \"IMAGE\" in 95ms", NONE).await;
    for (found, seconds) in times.iter().zip([0.0, 1.2, 2.8, 4.4]) {
        assert!((found.as_secs_f64() - seconds).abs() < 0.3, "{times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn packs_do_not_wait_for_images_that_their_node_has() {
    let times = launch("Container image \"IMAGE\" already present on machine", NONE).await;
    assert_eq!(times.len(), 4);
    assert!(times.iter().all(|time| time.as_secs_f64() < 2.7), "{times:?}");
}

#[tokio::test(start_paused = true)]
async fn a_pack_that_pulled_nothing_does_not_end_the_pace() {
    let times = launch("Successfully pulled image \"IMAGE\" in 95ms", "/b0@").await;
    let n_early = times.iter().filter(|time| time.as_secs_f64() < 1.15).count();
    assert_eq!(n_early, 2, "the first pack, and its second start: {times:?}");
}
