//! Launches that share a Job.

mod ending;
mod pace;
mod rerun;

use std::num::NonZeroUsize;

use http::Method;
use kube::ResourceExt;
use unlade_api_server::{Disturbance, Recorded, State, bundles};
use unlade_config_map::mark;

use super::*;
use crate::batch::MAX_PACK;
use crate::{Batch, BatchUpdate, LaunchOutcome};

const DIGEST: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

/// Returns requests for `n` images that are named by their digest.
fn requests(n: usize) -> Vec<Request> {
    let image = |at| format!("registry.example/bundles/b{at}@{DIGEST}");
    (0..n).map(|at| Request::new(image(at), "default")).collect()
}

async fn launch_packs(server: &Server, requests: &[Request], size: usize) -> Vec<LaunchOutcome> {
    launch_packs_with(server, options(), requests, size).await
}

async fn launch_packs_with(
    server: &Server,
    options: Options,
    requests: &[Request],
    size: usize,
) -> Vec<LaunchOutcome> {
    let launcher = Launcher::new(server.client(), options);
    let pack = NonZeroUsize::new(size).unwrap();
    let batch = Batch { pack, keep_going: true, ..Batch::default() };
    tokio::select! {
        outcomes = launcher.launch_all(requests, &batch) => outcomes,
        () = end_jobs(server) => unreachable!(),
    }
}

/// Ends each Job a moment after a launcher has ended it in place, as the Job controller does.
async fn end_jobs(server: &Server) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        for mut job in server.objects("jobs", "") {
            if job["spec"]["activeDeadlineSeconds"] == 1 && job["status"].is_null() {
                job["status"]["conditions"] = json!([{"type": "Failed", "status": "True"}]);
                server.put("jobs", job);
            }
        }
    }
}

/// Asserts that all Jobs but this one have ended.
fn assert_others_have_ended(server: &State, job: &Value) {
    for other in server.objects("jobs", "") {
        let is_this = other["metadata"]["name"] == job["metadata"]["name"];
        assert!(is_this || !other["status"]["conditions"].is_null(), "{job} beside {other}");
    }
}

/// Returns the name of the ConfigMap of a request.
fn config_map_of(request: &Request) -> String {
    let image = unlade_name::ImageReference::parse(&request.image).unwrap();
    crate::name::derived(&image, unlade_config_map::Encoding::Auto)
}

/// Returns the Jobs of the outcomes, or the reasons of the failures.
fn jobs(outcomes: &[LaunchOutcome]) -> Vec<Result<String, Reason>> {
    let job = |outcome: &LaunchOutcome| match outcome {
        LaunchOutcome::Launched(launched) => Ok(launched.job.clone().unwrap_or_default()),
        LaunchOutcome::Failed(failure) => Err(failure.reason),
        LaunchOutcome::NotStarted => panic!("not started"),
    };
    outcomes.iter().map(job).collect()
}

fn is_pack(job: &Result<String, Reason>) -> bool {
    job.as_ref().is_ok_and(|job| job.starts_with("pack-"))
}

/// Runs the pod of a Job until everything is written.
fn succeed(server: &mut State, job: &Value) {
    server.fill(job);
    server.put("pods", pod(job, "Succeeded", &json!({"terminated": {"exitCode": 0}})));
    end(server, job, "Complete");
}

fn end(server: &mut State, job: &Value, condition: &str) {
    let mut ended = job.clone();
    ended["status"]["conditions"] = json!([{"type": condition, "status": "True"}]);
    server.put("jobs", ended);
}

/// Ends a Job in which the bundle `broken` is invalid, and all others are written.
fn succeed_except(server: &mut State, job: &Value, broken: &str) {
    server.fill_some(job, |image| !image.contains(broken));
    let outcome = |(name, image): (String, String)| {
        let verdict = if image.contains(broken) { "badBundle" } else { "written" };
        json!({"configMap": name, "verdict": verdict})
    };
    let outcomes: Vec<_> = bundles(job).into_iter().map(outcome).collect();
    let is_broken = outcomes.iter().any(|outcome| outcome["verdict"] == "badBundle");
    if !is_broken {
        return succeed(server, job);
    }
    let message = serde_json::to_string(&outcomes).unwrap();
    let state = json!({"terminated": {"exitCode": 11, "reason": "Error", "message": message}});
    server.put("pods", pod(job, "Failed", &state));
    end(server, job, "Failed");
}

fn count(requests: &[Recorded], is_counted: impl Fn(&Recorded) -> bool) -> usize {
    requests.iter().filter(|request| is_counted(request)).count()
}

#[tokio::test(start_paused = true)]
async fn a_pack_needs_few_requests_and_writes_for_each_bundle() {
    let mut measured = Vec::new();
    for (n, size) in [(1, 1), (200, 1), (200, 8), (200, MAX_PACK.get())] {
        let server = Server::new(succeed);
        let outcomes = launch_packs(&server, &requests(n), size).await;
        assert!(outcomes.iter().all(|it| matches!(it, LaunchOutcome::Launched(_))), "{outcomes:?}");
        assert_eq!(server.count("jobs"), n.div_ceil(size));
        let requests = server.requests();
        let writes = count(&requests, |it| it.method != Method::GET && !it.path.contains("dryRun"));
        println!(
            "{n} bundles, at most {size} in a pod: {} requests, {writes} writes",
            requests.len()
        );
        measured.push((requests.len() * 100 / n, writes * 100 / n));
    }
    // For each bundle, in hundredths. The pod makes one more write.
    let [(_, one), (single, many), (packed, eight), (densest, sixteen)] = measured[..] else {
        panic!("{measured:?}");
    };
    assert!(one <= 600 && many <= 600, "{measured:?}");
    assert!(packed <= 600 && packed < single && densest < packed, "{measured:?}");
    assert!(eight <= 300 && sixteen < eight, "{measured:?}");
}

#[tokio::test(start_paused = true)]
async fn a_second_batch_reuses_the_content_of_a_pack_and_launches_the_rest() {
    let server = Server::new(succeed);
    let first = launch_packs(&server, &requests(5), 8).await;
    assert!(jobs(&first).iter().all(is_pack), "{first:?}");
    let all = jobs(&launch_packs(&server, &requests(8), 8).await);
    assert!(all[..5].iter().all(|job| job.as_deref() == Ok("")), "{all:?}");
    assert!(all[5..].iter().all(is_pack), "{all:?}");
}

#[tokio::test(start_paused = true)]
async fn the_account_of_a_pack_may_fill_its_config_maps_and_no_others() {
    let server = Server::new(succeed);
    let outcomes = launch_packs(&server, &requests(6), 3).await;
    for half in outcomes.chunks(3) {
        let of = |outcome: &LaunchOutcome| match outcome {
            LaunchOutcome::Launched(it) => (it.config_map.name_any(), it.job.clone().unwrap()),
            other => panic!("{other:?}"),
        };
        let (names, jobs): (Vec<_>, Vec<_>) = half.iter().map(of).unzip();
        assert!(jobs.iter().all(|job| *job == jobs[0]), "{jobs:?}");
        let role = server.object("roles", jobs[0].strip_suffix("-1").unwrap());
        assert_eq!(role["rules"].as_array().unwrap().len(), 1);
        assert_eq!(role["rules"][0]["resourceNames"], json!(names));
        assert_eq!(role["rules"][0]["verbs"], json!(["get", "update"]));
        let job = server.object("jobs", &jobs[0]);
        let owners = job["metadata"]["ownerReferences"].as_array().unwrap();
        let owners: Vec<_> = owners.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(owners, names);
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_bundle_fails_alone() {
    let server = Server::new(|server, job| succeed_except(server, job, "b1@"));
    let outcomes = launch_packs(&server, &requests(4), 8).await;
    let jobs = jobs(&outcomes);
    assert_eq!(jobs[1], Err(Reason::BadBundle));
    assert!([0, 2, 3].iter().all(|at| is_pack(&jobs[*at])), "{jobs:?}");
    let LaunchOutcome::Failed(failure) = &outcomes[1] else { panic!("{outcomes:?}") };
    assert!(!failure.evidence.log.is_empty(), "{failure:?}");
    assert_eq!(server.count("jobs"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_launch_that_continues_alone_does_not_blame_its_own_bundle() {
    let server = Server::new(|server, job| succeed_except(server, job, "b1@"));
    let launcher = Launcher::new(server.client(), options());
    let batch = Batch { pack: NonZeroUsize::new(8).unwrap(), ..Batch::default() };
    let updates = launcher.launch_each(requests(2), batch);
    let retrying = updates.filter_map(async |update| match update {
        BatchUpdate::Event { event, .. } => match event.step {
            Step::Retrying { failure, .. } => Some(*failure),
            _ => None,
        },
        BatchUpdate::Ended { .. } => None,
    });
    let retrying: Vec<_> = retrying.collect().await;
    let [failure] = retrying.as_slice() else { panic!("{retrying:?}") };
    assert!(failure.message.starts_with("the shared Job pack-"), "{failure:?}");
    assert!(failure.evidence.message.is_some(), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn a_crash_affects_no_bundle_of_the_pack_but_its_own() {
    // The unpacker is killed at the second bundle, whatever Job it is in.
    let server = Server::new(|server, job| {
        let all = bundles(job);
        let place = all.iter().position(|(_, image)| image.contains("b1@"));
        let Some(place) = place else { return succeed(server, job) };
        let written = all[..place].to_vec();
        server.fill_some(job, |image| written.iter().any(|(_, it)| it == image));
        let state = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
        server.put("pods", pod(job, "Failed", &state));
        end(server, job, "Failed");
    });
    let jobs = jobs(&launch_packs(&server, &requests(4), 8).await);
    assert_eq!(jobs[1], Err(Reason::OutOfMemory));
    assert!(is_pack(&jobs[0]), "{jobs:?}");
    assert!([2, 3].iter().all(|at| jobs[*at].is_ok() && !is_pack(&jobs[*at])), "{jobs:?}");
}

/// Blocks the pod of a Job that mounts the image `missing`, as a kubelet does.
fn miss(server: &mut State, job: &Value, missing: &str) {
    let Some((_, image)) = bundles(job).into_iter().find(|(_, image)| image.contains(missing))
    else {
        return succeed(server, job);
    };
    let message = format!(
        "failed to pull and unpack image \"{image}\": failed to resolve reference: {image}: not found"
    );
    let state = json!({"waiting": {"reason": "ErrImagePull", "message": message}});
    server.put("pods", pod(job, "Pending", &state));
}

#[tokio::test(start_paused = true)]
async fn a_missing_image_fails_alone_and_the_others_start_again() {
    let server = Server::new(|server, job| {
        assert_others_have_ended(server, job);
        miss(server, job, "b2@");
    });
    let start = tokio::time::Instant::now();
    let jobs = jobs(&launch_packs(&server, &requests(5), 8).await);
    assert_eq!(jobs[2], Err(Reason::ImageNotFound));
    assert!([0, 1, 3, 4].iter().all(|at| is_pack(&jobs[*at])), "{jobs:?}");
    assert_eq!(server.count("jobs"), 3, "all, all but one, and the one");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_batch_awaits_a_job_only_if_another_launch_needs_its_place() {
    for (n, is_awaited) in [(1, false), (2, true)] {
        // The content is complete, but the Job never is.
        let server = Server::new(|server, job| {
            server.fill(job);
            server.put("pods", pod(job, "Succeeded", &json!({"terminated": {"exitCode": 0}})));
        });
        let launcher = Launcher::new(server.client(), options());
        let batch = Batch { concurrency: NonZeroUsize::MIN, ..Batch::default() };
        let start = tokio::time::Instant::now();
        let outcomes = launcher.launch_all(&requests(n), &batch).await;
        assert!(outcomes.iter().all(|it| matches!(it, LaunchOutcome::Launched(_))), "{outcomes:?}");
        let limit = options().deadlines.total();
        assert_eq!(start.elapsed() >= limit, is_awaited, "{n}: {:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn many_missing_images_end_the_pack_but_no_other_launch() {
    // The message names one image at a time.
    let server = Server::new(|server, job| {
        let missing = bundles(job).into_iter().find(|(_, image)| !image.contains("b7@"));
        match missing {
            Some((_, image)) => miss(server, job, &image),
            None => succeed(server, job),
        }
    });
    let jobs = jobs(&launch_packs(&server, &requests(8), 8).await);
    assert!(jobs[..7].iter().all(|job| *job == Err(Reason::ImageNotFound)), "{jobs:?}");
    assert!(jobs[7].is_ok() && !is_pack(&jobs[7]), "{jobs:?}");
}

#[tokio::test(start_paused = true)]
async fn a_config_map_that_someone_else_fills_is_filled_alone() {
    let server = Server::new(|server, job| {
        succeed(server, job);
        let name = job["metadata"]["name"].as_str().unwrap();
        if name.starts_with("pack-") {
            // Another client writes after the pod, so that the mark is not the pod's.
            let (first, _) = bundles(job).into_iter().next().unwrap();
            let mut config_map = server.object("configmaps", &first);
            config_map["metadata"]["annotations"][mark::ATTEMPT] = json!("theirs");
            server.put("configmaps", config_map);
        }
    });
    let jobs = jobs(&launch_packs(&server, &requests(3), 8).await);
    assert!(jobs[0].is_ok() && !is_pack(&jobs[0]), "{jobs:?}");
    assert!(is_pack(&jobs[1]) && is_pack(&jobs[2]), "{jobs:?}");
}

/// Runs a pod in which another image takes the place of the image `b0`.
fn replace(server: &mut State, job: &Value) {
    let mut replaced = pod(job, "Running", &json!({"running": {}}));
    for volume in replaced["spec"]["volumes"].as_array_mut().unwrap() {
        let reference = &mut volume["image"]["reference"];
        if reference.as_str().is_some_and(|reference| reference.contains("b0@")) {
            *reference = json!(format!("registry.example/other@{}", DIGEST.replace('1', "2")));
        }
    }
    server.put("pods", replaced);
}

#[tokio::test(start_paused = true)]
async fn content_of_a_replaced_image_is_removed_and_the_others_stay() {
    let server = Server::new(|server, job| {
        server.fill(job);
        replace(server, job);
    });
    let requests = requests(3);
    let outcomes = launch_packs(&server, &requests, 8).await;
    let jobs = jobs(&outcomes);
    assert_eq!(jobs[0], Err(Reason::ImageReplaced));
    assert!(is_pack(&jobs[1]) && is_pack(&jobs[2]), "{jobs:?}");
    let config_map = server.object("configmaps", &config_map_of(&requests[0]));
    assert_eq!(config_map.get("data"), None, "{config_map}");
    assert!(server.object("configmaps", &config_map_of(&requests[1])).get("data").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_seal_that_cannot_be_recorded_delays_a_pack_by_seconds_only() {
    let mut n_roles = 0;
    let server = Server::new(succeed).disturbed(move |request| {
        let is_role = request.method == Method::POST && request.path.contains("/roles");
        n_roles += usize::from(is_role);
        (is_role && n_roles > 1)
            .then(|| Disturbance::status(503, "ServiceUnavailable", "not ready"))
    });
    let start = tokio::time::Instant::now();
    let jobs = jobs(&launch_packs(&server, &requests(3), 8).await);
    assert!(jobs.iter().all(is_pack), "{jobs:?}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn bundles_with_given_names_are_not_packed() {
    let server = Server::new(succeed);
    let named = |(at, request)| Request { name: Name::Given(format!("given-{at}")), ..request };
    let requests: Vec<_> = requests(2).into_iter().enumerate().map(named).collect();
    let jobs = jobs(&launch_packs(&server, &requests, 8).await);
    assert!(jobs.iter().all(|job| job.is_ok() && !is_pack(job)), "{jobs:?}");
}

#[tokio::test(start_paused = true)]
async fn the_job_of_a_pack_has_only_one_pod_even_after_a_disruption() {
    for (n, actions) in [(1, &["Ignore", "FailJob"][..]), (2, &["FailJob"])] {
        let server = Server::new(succeed);
        launch_packs(&server, &requests(n), 8).await;
        let spec = &server.object("jobs", "-1")["spec"];
        let rules = spec["podFailurePolicy"]["rules"].as_array().unwrap();
        let found: Vec<_> = rules.iter().map(|rule| rule["action"].as_str().unwrap()).collect();
        assert_eq!(found, actions);
        assert_eq!(spec["backoffLimit"], if n == 1 { 3 } else { 0 });
    }
}

#[tokio::test(start_paused = true)]
async fn bundles_that_inject_the_unpacker_are_not_packed() {
    let server = Server::new(succeed);
    let launcher = Launcher::new(server.client(), Options { resolve_digest: true, ..options() });
    let requests = [1, 2].map(|at| Request::new(format!("registry.example/b:{at}"), "default"));
    let batch = Batch { pack: NonZeroUsize::new(8).unwrap(), ..Batch::default() };
    launcher.launch_all(&requests, &batch).await;
    assert_eq!(server.count("jobs"), 2);
}
