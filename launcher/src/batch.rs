//! Launches of several bundles in one call.

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use futures::{Stream, StreamExt, future, stream};
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::runtime::wait::await_condition;
use tokio::time::{Instant, timeout};

use crate::{Event, Failure, Launched, Launcher, Name, Request, launch, progress};

/// The settings of a batch of launches.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// An update of a batch.
#[derive(Debug, Clone)]
pub enum BatchUpdate {
    /// An event of one of the launches.
    Event {
        /// The index of the request, or of the first of several equal requests.
        index: usize,
        /// The event. Its time is relative to the beginning of this launch.
        event: Event,
    },
    /// A launch has ended, or was not started.
    Ended {
        /// The index of the request.
        index: usize,
        /// The duration of the launch.
        took: Duration,
        /// The outcome.
        outcome: LaunchOutcome,
    },
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
    pub async fn launch_all(&self, requests: &[Request], batch: &Batch) -> Vec<LaunchOutcome> {
        let mut outcomes = vec![LaunchOutcome::NotBegun; requests.len()];
        let mut updates = pin!(self.launch_each(requests.to_vec(), batch.clone()));
        while let Some(update) = updates.next().await {
            if let BatchUpdate::Ended { index, outcome, .. } = update
                && let Some(place) = outcomes.get_mut(index)
            {
                *place = outcome;
            }
        }
        outcomes
    }

    /// Launches several bundles as [`Launcher::launch_all`] does, and yields the events of all
    /// launches, and each outcome as soon as it is known. The launches proceed while the stream is
    /// polled.
    pub fn launch_each(
        &self,
        requests: Vec<Request>,
        batch: Batch,
    ) -> impl Stream<Item = BatchUpdate> + use<> {
        let launcher = self.clone();
        progress::run_with_updates(async move |updates| {
            launcher.run(&requests, &batch, &updates).await;
        })
    }

    async fn run(
        &self,
        requests: &[Request],
        batch: &Batch,
        updates: &UnboundedSender<BatchUpdate>,
    ) {
        let distinct = distinct(requests);
        let has_failed = AtomicBool::new(false);
        let failed_cluster = OnceLock::new();
        let n_left = AtomicUsize::new(distinct.len());
        let launches = stream::iter(distinct)
            .map(|(request, indexes)| {
                let (has_failed, n_left) = (&has_failed, &n_left);
                let failed_cluster = &failed_cluster;
                async move {
                    let is_last = n_left.fetch_sub(1, Ordering::Relaxed) == 1;
                    let start = Instant::now();
                    let outcome = if let Some(failure) = failed_cluster.get() {
                        LaunchOutcome::Failed(Failure::clone(failure))
                    } else if has_failed.load(Ordering::Relaxed) && !batch.keep_going {
                        LaunchOutcome::NotBegun
                    } else {
                        self.launch_in_batch(request, &indexes, updates).await
                    };
                    if let LaunchOutcome::Failed(failure) = &outcome {
                        has_failed.store(true, Ordering::Relaxed);
                        if failure.is_cluster_unreachable() {
                            failed_cluster.get_or_init(|| failure.clone());
                        }
                    }
                    let job = outcome.job().map(str::to_owned);
                    let took = start.elapsed();
                    for index in indexes {
                        let outcome = outcome.clone();
                        send(updates, BatchUpdate::Ended { index, took, outcome });
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

    async fn launch_in_batch(
        &self,
        request: &Request,
        indexes: &[usize],
        updates: &UnboundedSender<BatchUpdate>,
    ) -> LaunchOutcome {
        let index = indexes.first().copied().unwrap_or_default();
        let sink = |event| send(updates, BatchUpdate::Event { index, event });
        match self.launch_into(request, &sink).await {
            Ok(launched) => LaunchOutcome::Launched(Box::new(launched)),
            Err(failure) => LaunchOutcome::Failed(failure),
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

fn send(updates: &UnboundedSender<BatchUpdate>, update: BatchUpdate) {
    // Sending fails if the receiver was dropped, which is fine.
    let _ = updates.unbounded_send(update);
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
