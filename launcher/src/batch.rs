//! Launches of several bundles in one call.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use derive_setters::Setters;
use futures::channel::mpsc::UnboundedSender;
use futures::{Stream, StreamExt, future, stream};
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use kube::runtime::wait::await_condition;
use tokio::time::{Instant, timeout};

use crate::launch::{PullPace, Share};
use crate::{Event, Failure, Launched, Launcher, Name, Request, Strategy, launch, progress};
use unlade_name::ImageReference;

/// The settings of a batch of launches.
#[derive(Debug, Clone, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Batch {
    /// The maximum number of launches and packs that run at the same time, each with one Job. The
    /// Job of a failed launch no longer counts, although its pod may take a moment to end, and a
    /// Job that the launch may not end continues.
    pub concurrency: NonZeroUsize,
    /// Whether to start the remaining launches after one has failed. Launches that have started
    /// always continue, and so do all launches of a pack that has started. If the API server cannot
    /// be reached, all launches fail at once.
    pub keep_going: bool,
    /// The maximum number of bundles that one Job unpacks. A number above [`MAX_PACK`] counts as
    /// [`MAX_PACK`], and [`AUTO_PACK`] suits most nodes.
    ///
    /// Bundles share a Job if they have the same namespace and encoding, no credentials and no
    /// name that the caller chose, and if the cluster supports image volumes. If the Job does not
    /// fill the ConfigMap of a bundle, the bundle is launched alone afterwards, so its outcome is
    /// the same as without packs. These launches run one after another. The account of the Job may
    /// fill all ConfigMaps of its pack.
    pub pack: NonZeroUsize,
}

/// The number of bundles in a pack whose images, with the tool image, a kubelet pulls without a
/// pause by default: its limit is five pulls per second, with a burst of ten. It is not the
/// default of [`Batch::pack`]: by default, a batch has no packs.
pub const AUTO_PACK: NonZeroUsize = NonZeroUsize::MIN.saturating_add(7);

/// The maximum number of bundles in a pack. The outcomes of this many bundles always fit in the
/// termination message of the pod. The message exists only at the end of the pod, so the content of
/// nearly all bundles is accepted without it.
pub const MAX_PACK: NonZeroUsize = NonZeroUsize::MIN.saturating_add(15);

impl Default for Batch {
    /// Returns a batch of five concurrent launches without packs that stops after a failure.
    fn default() -> Self {
        Self {
            concurrency: NonZeroUsize::MIN.saturating_add(4),
            keep_going: false,
            pack: NonZeroUsize::MIN,
        }
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
    NotStarted,
}

impl Launcher {
    /// Launches several bundles. The outcomes are in the order of the requests. Equal requests are
    /// launched once and have the same outcome. The future can be dropped and the function called
    /// again: launches that were finished reuse their content.
    ///
    /// This function keeps all ConfigMaps in memory; [`Launcher::launch_each`] does not.
    pub async fn launch_all(&self, requests: &[Request], batch: &Batch) -> Vec<LaunchOutcome> {
        let mut outcomes = vec![LaunchOutcome::NotStarted; requests.len()];
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
            // Boxed because the future is large, and callers hold it in theirs.
            Box::pin(launcher.run(&requests, &batch, &updates)).await;
        })
    }

    async fn run(
        &self,
        requests: &[Request],
        batch: &Batch,
        updates: &UnboundedSender<BatchUpdate>,
    ) {
        let packs = self.packs(distinct(requests), batch.pack, updates).await;
        let progress = Progress {
            has_failed: AtomicBool::new(false),
            failed_cluster: OnceLock::new(),
            n_left: AtomicUsize::new(packs.len()),
            pace: PullPace::default(),
        };
        let launches = stream::iter(packs)
            .map(|pack| self.run_pack(pack, batch, &progress, updates))
            .buffer_unordered(batch.concurrency.get())
            .for_each(|()| future::ready(()));
        launches.await;
    }

    /// Launches the bundles of one pack.
    async fn run_pack(
        &self,
        pack: Vec<Distinct<'_>>,
        batch: &Batch,
        progress: &Progress,
        updates: &UnboundedSender<BatchUpdate>,
    ) {
        progress.n_left.fetch_sub(1, Ordering::Relaxed);
        let start = Instant::now();
        let ended = |place: usize, outcome: LaunchOutcome| {
            if let LaunchOutcome::Failed(failure) = &outcome {
                progress.has_failed.store(true, Ordering::Relaxed);
                if failure.is_cluster_unreachable() {
                    progress.failed_cluster.get_or_init(|| failure.clone());
                }
            }
            let took = start.elapsed();
            for &index in pack.get(place).into_iter().flat_map(|(_, indexes)| indexes) {
                send(updates, BatchUpdate::Ended { index, took, outcome: outcome.clone() });
            }
        };
        if let Some(outcome) = progress.refusal(batch) {
            return (0..pack.len()).for_each(|place| ended(place, outcome.clone()));
        }
        let sinks: Vec<_> = pack.iter().map(|distinct| sink(distinct, updates)).collect();
        let shares: Vec<_> = pack.iter().zip(&sinks).map(share).collect();
        let ended = |place, result: Result<Launched, Failure>| match result {
            Ok(launched) => ended(place, LaunchOutcome::Launched(Box::new(launched))),
            Err(failure) => ended(place, LaunchOutcome::Failed(failure)),
        };
        let job = Box::pin(launch::pack(self, &shares, &progress.pace, &ended)).await;
        // Wait for the Job to finish only if a launch that has not started will need this slot.
        let is_slot_needed =
            progress.n_left.load(Ordering::Relaxed) > 0 && progress.refusal(batch).is_none();
        if let (Some(job), Some((request, _)), true) = (job, pack.first(), is_slot_needed) {
            self.wait_until_finished(&request.namespace, &job).await;
        }
    }

    /// Groups the requests into packs of at most `size`. Requests that cannot share a Job are packs
    /// of one.
    async fn packs<'r>(
        &self,
        requests: Vec<Distinct<'r>>,
        size: NonZeroUsize,
        updates: &UnboundedSender<BatchUpdate>,
    ) -> Vec<Vec<Distinct<'r>>> {
        let size = size.min(MAX_PACK).get();
        if size == 1 {
            return requests.into_iter().map(|distinct| vec![distinct]).collect();
        }
        let packables = requests.iter().filter(|(request, _)| self.is_packable(request));
        let packables: Vec<_> = packables.map(|it| (it, sink(it, updates))).collect();
        let shares = packables.iter().map(|(distinct, sink)| share((*distinct, sink)));
        let shares: Vec<_> = shares.collect();
        let is_packed = shares.len() > 1 && launch::mounts_images(self, &shares).await;
        let mut packs: Vec<Vec<Distinct<'r>>> = Vec::new();
        // The pack that is not full yet, for each namespace and encoding.
        let mut open = HashMap::new();
        for distinct in requests {
            let request = distinct.0;
            if !is_packed || !self.is_packable(request) {
                packs.push(vec![distinct]);
                continue;
            }
            let key = (&request.namespace, request.encoding.to_string());
            let place = open.entry(key).or_insert(packs.len());
            if let Some(pack) = packs.get_mut(*place).filter(|pack| pack.len() < size) {
                pack.push(distinct);
            } else {
                *place = packs.len();
                packs.push(vec![distinct]);
            }
        }
        packs
    }

    /// Checks whether a request can share a Job, as far as the request and the options decide that.
    /// Credentials are for the pod of one Job only. A name that the caller chose may be used for
    /// several images, and the Job of a pack does not record which.
    fn is_packable(&self, request: &Request) -> bool {
        let may_mount = ImageReference::parse(&request.image)
            .is_ok_and(|image| self.options.candidates(&image).contains(&Strategy::ImageVolume));
        may_mount && request.credentials.is_none() && !matches!(request.name, Name::Given(_))
    }

    /// Waits until a Job is finished, which is a moment after its ConfigMap is written.
    pub(crate) async fn wait_until_finished(&self, namespace: &str, job: &str) {
        let api: Api<Job> = Api::namespaced(self.client.clone(), namespace);
        let is_finished = |job: Option<&Job>| job.is_none_or(launch::is_finished);
        // The Job's own deadline has expired by then.
        let longest = self.options.deadlines.total();
        let _ = timeout(longest, await_condition(api, job, is_finished)).await;
    }
}

/// A request, and the indexes of all requests that are equal to it.
type Distinct<'r> = (&'r Request, Vec<usize>);

/// What all launches of a batch share.
struct Progress {
    has_failed: AtomicBool,
    /// Why the cluster cannot be reached.
    failed_cluster: OnceLock<Failure>,
    /// The number of packs that have not started.
    n_left: AtomicUsize,
    pace: PullPace,
}

impl Progress {
    /// Returns the outcome of a pack that must not start, because an earlier launch has failed.
    fn refusal(&self, batch: &Batch) -> Option<LaunchOutcome> {
        match self.failed_cluster.get() {
            Some(failure) => Some(LaunchOutcome::Failed(failure.clone())),
            None if self.has_failed.load(Ordering::Relaxed) && !batch.keep_going => {
                Some(LaunchOutcome::NotStarted)
            }
            None => None,
        }
    }
}

/// Returns the distinct requests, with the indexes of each.
fn distinct(requests: &[Request]) -> Vec<Distinct<'_>> {
    let mut distinct: Vec<Distinct<'_>> = Vec::new();
    for (place, request) in requests.iter().enumerate() {
        match distinct.iter_mut().find(|(other, _)| is_same(other, request)) {
            Some((_, places)) => places.push(place),
            None => distinct.push((request, vec![place])),
        }
    }
    distinct
}

/// Returns the sink for the events of a launch.
fn sink<'a>(
    (_, indexes): &Distinct<'_>,
    updates: &'a UnboundedSender<BatchUpdate>,
) -> impl Fn(Event) + Send + Sync + use<'a> {
    let index = indexes.first().copied().unwrap_or_default();
    move |event| send(updates, BatchUpdate::Event { index, event })
}

fn share<'a>(
    ((request, _), sink): (&Distinct<'a>, &'a (impl Fn(Event) + Send + Sync)),
) -> Share<'a> {
    Share { request, sink }
}

fn send(updates: &UnboundedSender<BatchUpdate>, update: BatchUpdate) {
    // Sending fails if the receiver was dropped, which is fine.
    let _ = updates.unbounded_send(update);
}

/// Checks whether one launch serves both requests.
fn is_same(one: &Request, other: &Request) -> bool {
    // Every generated name is different.
    one == other && one.name != Name::Generated
}
