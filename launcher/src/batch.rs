//! Launches of several bundles in one call.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::future::{self, join};
use futures::{StreamExt, stream};
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::runtime::wait::await_condition;
use serde::Serialize;
use tokio::time::{Instant, timeout};

use crate::{Event, Failure, Launched, Launcher, Name, Request, Step, launch};

/// The settings of a batch of launches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Batch {
    /// The maximum number of Jobs that run at the same time.
    pub concurrency: NonZeroUsize,
    /// Whether to start the remaining launches after one has failed. Launches that have started
    /// always continue. If the API server cannot be reached, all launches fail at once.
    pub keep_going: bool,
}

impl Default for Batch {
    /// Returns a batch of five concurrent launches that stops after a failure.
    fn default() -> Self {
        Self { concurrency: NonZeroUsize::MIN.saturating_add(4), keep_going: false }
    }
}

/// An event of one launch of a batch.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct BatchEvent {
    /// The requested image.
    pub image: String,
    /// The namespace of the request.
    pub namespace: String,
    /// The event. Its time is relative to the beginning of this launch.
    #[serde(flatten)]
    pub event: Event,
}

/// The outcome of one launch of a batch.
#[derive(Debug, Clone)]
pub enum LaunchOutcome {
    /// The bundle was launched, or existing content was reused.
    Launched(Box<Launched>),
    /// The launch failed.
    Failed(Failure),
    /// The launch was not started, because another had failed.
    NotBegun,
}

impl Launcher {
    /// Launches several bundles. The outcomes are in the order of the requests. Equal requests are
    /// launched once and have the same outcome. The future can be dropped and the function called
    /// again: launches that were finished reuse their content.
    ///
    /// This function keeps all ConfigMaps in memory; [`Launcher::launch_each`] does not.
    pub async fn launch_all(
        &self,
        requests: &[Request],
        batch: &Batch,
        events: UnboundedSender<BatchEvent>,
    ) -> Vec<LaunchOutcome> {
        let (sender, receiver) = unbounded();
        self.launch_each(requests, batch, events, sender).await;
        let mut outcomes: HashMap<usize, LaunchOutcome> = receiver.collect().await;
        let outcome = |place| outcomes.remove(&place).unwrap_or(LaunchOutcome::NotBegun);
        (0..requests.len()).map(outcome).collect()
    }

    /// Launches several bundles as [`Launcher::launch_all`] does. Sends each outcome to `outcomes`
    /// as soon as it is known, with the index of its request.
    pub async fn launch_each(
        &self,
        requests: &[Request],
        batch: &Batch,
        events: UnboundedSender<BatchEvent>,
        outcomes: UnboundedSender<(usize, LaunchOutcome)>,
    ) {
        let distinct = distinct(requests);
        let has_failed = AtomicBool::new(false);
        let failed_cluster = OnceLock::new();
        let n_left = AtomicUsize::new(distinct.len());
        let launches = stream::iter(distinct)
            .map(|(request, places)| {
                let (has_failed, n_left) = (&has_failed, &n_left);
                let failed_cluster = &failed_cluster;
                let (events, outcomes) = (&events, &outcomes);
                async move {
                    let is_last = n_left.fetch_sub(1, Ordering::Relaxed) == 1;
                    let outcome = if let Some(failure) = failed_cluster.get() {
                        failed(request, events, Duration::ZERO, Failure::clone(failure))
                    } else if has_failed.load(Ordering::Relaxed) && !batch.keep_going {
                        LaunchOutcome::NotBegun
                    } else {
                        self.launch_in_batch(request, events).await
                    };
                    if let LaunchOutcome::Failed(failure) = &outcome {
                        has_failed.store(true, Ordering::Relaxed);
                        if failure.is_cluster_unreachable() {
                            failed_cluster.get_or_init(|| failure.clone());
                        }
                    }
                    let job = outcome.job().map(str::to_owned);
                    for place in places {
                        // Sending fails if the receiver was dropped, which is fine.
                        let _ = outcomes.unbounded_send((place, outcome.clone()));
                    }
                    drop(outcome);
                    // Wait for the Job to finish only if a queued launch needs this slot.
                    let is_slot_needed = !is_last && n_left.load(Ordering::Relaxed) > 0;
                    if let Some(job) = job.filter(|_| is_slot_needed) {
                        self.wait_until_finished(&request.namespace, &job).await;
                    }
                }
            })
            .buffer_unordered(batch.concurrency.get())
            .for_each(|()| future::ready(()));
        launches.await;
    }
}

/// Returns the distinct requests, with the indexes of each.
fn distinct(requests: &[Request]) -> Vec<(&Request, Vec<usize>)> {
    let mut distinct: Vec<(&Request, Vec<usize>)> = Vec::new();
    for (place, request) in requests.iter().enumerate() {
        match distinct.iter_mut().find(|(other, _)| is_same(other, request)) {
            Some((_, places)) => places.push(place),
            None => distinct.push((request, vec![place])),
        }
    }
    distinct
}

impl Launcher {
    async fn launch_in_batch(
        &self,
        request: &Request,
        events: &UnboundedSender<BatchEvent>,
    ) -> LaunchOutcome {
        let (sender, receiver) = unbounded();
        let forward = receiver.for_each(|event| {
            send(request, events, event);
            future::ready(())
        });
        let start = Instant::now();
        match join(self.launch_watched(request, sender), forward).await.0 {
            Ok(launched) => LaunchOutcome::Launched(Box::new(launched)),
            Err(failure) => failed(request, events, start.elapsed(), failure),
        }
    }

    /// Waits until a Job is finished, which is a moment after its ConfigMap is written.
    async fn wait_until_finished(&self, namespace: &str, job: &str) {
        let api: Api<Job> = Api::namespaced(self.client.clone(), namespace);
        let is_finished = |job: Option<&Job>| job.is_none_or(launch::is_finished);
        // The Job's own deadline has expired by then.
        let longest = self.options.deadlines.total();
        let _ = timeout(longest, await_condition(api, job, is_finished)).await;
    }
}

/// Sends an event of one launch of the batch.
fn send(request: &Request, events: &UnboundedSender<BatchEvent>, event: Event) {
    let (image, namespace) = (request.image.clone(), request.namespace.clone());
    // Sending fails if the receiver was dropped, which is fine.
    let _ = events.unbounded_send(BatchEvent { image, namespace, event });
}

/// Reports a launch that failed at this time, and returns its outcome.
fn failed(
    request: &Request,
    events: &UnboundedSender<BatchEvent>,
    at: Duration,
    failure: Failure,
) -> LaunchOutcome {
    let step = Step::Failed { failure: Box::new(failure.clone()) };
    send(request, events, Event::new(at, step));
    LaunchOutcome::Failed(failure)
}

impl LaunchOutcome {
    fn job(&self) -> Option<&str> {
        match self {
            Self::Launched(launched) => launched.job.as_deref(),
            Self::Failed(_) | Self::NotBegun => None,
        }
    }
}

/// Checks whether one launch serves both requests.
fn is_same(one: &Request, other: &Request) -> bool {
    // Every generated name is different.
    one == other && one.name != Name::Generated
}
