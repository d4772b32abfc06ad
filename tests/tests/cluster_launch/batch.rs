//! Many bundles in one call.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use futures::future::{Either, select};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::runtime::watcher::{Config, Event, watcher};
use unlade_launcher::{Batch, BatchUpdate, LaunchOutcome, Launcher, Request};
use unlade_oci::Platform;
use unlade_oci::build::Image;
use unlade_tests::corpus;

use crate::stage::{Stage, finished};

/// The number of bundles.
const BUNDLES: usize = 50;
/// The maximum number of Jobs that run at the same time.
const CAP: usize = 6;

#[test]
#[ignore = "needs a testbed, the published bundles"]
fn cluster_fifty_bundles_are_launched_with_a_cap_on_jobs() {
    Stage::open("launch-many", async |stage| {
        let samples = corpus::published().into_iter();
        let images = samples.take(BUNDLES).enumerate();
        let images = images.map(|(at, sample)| stage.push(&format!("many-{at}"), &sample.path));
        let mut requests: Vec<Request> =
            images.map(|image| stage.request(&image.by_digest)).collect();
        // Some images occur twice.
        requests.extend_from_within(..5);
        let launcher = Launcher::new(stage.client.clone(), stage.options());
        let batch = Batch::default().with_concurrency(NonZeroUsize::new(CAP).unwrap());
        let updates = launcher.launch_each(requests.clone(), batch.clone()).collect::<Vec<_>>();
        let (updates, most) = with_most_jobs(stage, updates).await;
        let mut images = BTreeSet::new();
        let mut outcomes = Vec::new();
        for update in updates {
            match update {
                BatchUpdate::Event { index, .. } => _ = images.insert(&requests[index].image),
                BatchUpdate::Ended { outcome, .. } => outcomes.push(outcome),
            }
        }
        let n_done = outcomes.iter().filter(|it| matches!(it, LaunchOutcome::Launched(_))).count();
        assert_eq!(n_done, requests.len(), "{outcomes:?}");
        assert!((2..=CAP).contains(&most), "{most} Jobs at once");
        assert_eq!(stage.list::<Job>().await.len(), BUNDLES);
        assert!(requests.iter().all(|request| images.contains(&&request.image)), "{images:?}");

        // The second run finds the content of all images.
        let again = launcher.launch_all(&requests, &batch).await;
        let is_there = |outcome: &LaunchOutcome| match outcome {
            LaunchOutcome::Launched(found) => found.job.is_none(),
            _ => false,
        };
        assert!(again.iter().all(is_there), "{again:?}");
    });
}

#[test]
#[ignore = "needs a testbed"]
fn cluster_a_failure_stops_the_others_unless_the_batch_keeps_going() {
    Stage::open("launch-stop", async |stage| {
        let bad = stage.push_image("stop-bad", &Image::from_scratch(Platform::host()));
        let good = stage.push_example("stop-good");
        let requests = [stage.request(&bad.by_digest), stage.request(&good.by_digest)];
        let launcher = Launcher::new(stage.client.clone(), stage.options());
        let mut batch = Batch::default().with_concurrency(NonZeroUsize::MIN);
        let outcomes = launcher.launch_all(&requests, &batch).await;
        assert!(
            matches!(outcomes[..], [LaunchOutcome::Failed(_), LaunchOutcome::NotStarted]),
            "{outcomes:?}"
        );
        batch.keep_going = true;
        let outcomes = launcher.launch_all(&requests, &batch).await;
        assert!(
            matches!(outcomes[..], [LaunchOutcome::Failed(_), LaunchOutcome::Launched(_)]),
            "{outcomes:?}"
        );
    });
}

/// Returns the results, and the maximum number of Jobs that ran at the same time, according to
/// their conditions.
async fn with_most_jobs<T>(stage: &Stage<'_>, launches: impl Future<Output = T>) -> (T, usize) {
    let jobs = watcher(stage.api::<Job>(), Config::default());
    pin_mut!(jobs, launches);
    let mut under_way = BTreeSet::new();
    let mut most = 0;
    loop {
        match select(&mut launches, jobs.next()).await {
            Either::Left((result, _)) => return (result, most),
            Either::Right((Some(Ok(Event::Apply(job) | Event::InitApply(job))), _)) => {
                if finished(&job) {
                    under_way.remove(&job.name_any());
                } else {
                    under_way.insert(job.name_any());
                }
                most = most.max(under_way.len());
            }
            Either::Right((Some(Ok(Event::Delete(job))), _)) => {
                under_way.remove(&job.name_any());
            }
            Either::Right(_) => {}
        }
    }
}
