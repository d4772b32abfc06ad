//! The course of a launch.
//!
//! A launch prepares the ConfigMap and chooses a strategy. It then makes attempts until one fills
//! the ConfigMap or fails permanently. An attempt adopts or creates a Job ([`attempt`]), and
//! watches it and its pods ([`watch`]). A pure state machine decides everything else until the
//! attempt has ended ([`course`]): it judges what was observed ([`judge`]) and, after a failure,
//! decides what follows ([`decision`]). The requests that this needs are in [`confirm`] and
//! [`answer`].
//!
//! Several launches can share an attempt before their own ones ([`mod@pack`]).

mod answer;
mod attempt;
mod bundle_image;
mod cancel;
mod confirm;
mod content;
mod course;
mod creation;
mod decision;
mod grant;
mod image;
mod job_list;
mod judge;
mod lent_secret;
mod pack;
mod prepare;
mod reuse;
mod verification;
mod watch;

use std::sync::Mutex;
use std::time::Duration;

use futures::join;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, ResourceExt};
use tokio::time::sleep;
use tracing::{Instrument, Span, info_span};

use self::attempt::{AttemptOutcome, LaunchBaseline};
use self::decision::{Continuation, JobOwnership};
use self::image::Observed;
use self::judge::{Attempt, Budget, Written};
use self::lent_secret::Lent;
use self::prepare::Prepared;
use crate::call::{BRIEF, Retrier, backoff};
use crate::object::{Facts, Kind, Plan};
use crate::progress::report::{Report, Sink};
use crate::strategy::Chosen;
use crate::{Failure, Launched, Launcher, Reason, Request, Step, Strategy, name, uid};

pub use bundle_image::launch_bundle_image;
pub(crate) use cancel::cancel;
pub(crate) use creation::Creations;
pub(crate) use judge::condition::is_finished;
pub(crate) use pack::{PullPace, Share, mounts_images, pack};

#[cfg(test)]
mod tests;

/// The context of a launch, which all of its parts share.
struct Launch<'a> {
    launcher: &'a Launcher,
    request: &'a Request,
    /// A random id, which the Jobs of this launch carry. By this id the launch recognises a Job
    /// whose creation got a late response or none.
    id: String,
    /// The objects of the launch.
    plan: Plan<'a>,
    report: Report<'a>,
    /// The Secret with the credentials for the running attempt.
    lent: Mutex<Option<Lent>>,
}

/// Launches one bundle, and waits until its ConfigMap is written. Sends its events to `sink`.
pub(crate) async fn launch(
    launcher: &Launcher,
    request: &Request,
    sink: Sink<'_>,
) -> Result<Launched, Failure> {
    let launch = Launch::new(launcher, request, sink)?;
    // Boxed because the future is large: it holds the state of every step.
    Box::pin(launch.run()).instrument(launch.span()).await
}

/// How a launch begins.
enum Beginning {
    /// The ConfigMap already held the content.
    Reused(Box<Launched>),
    /// The ConfigMap has to be filled.
    Open(Box<Opened>),
}

/// A launch whose ConfigMap has to be filled.
struct Opened {
    baseline: LaunchBaseline,
    /// The Jobs of earlier attempts to fill the ConfigMap.
    jobs: Vec<Job>,
    chosen: Chosen,
    /// Whether this launch has created the ConfigMap.
    is_new: bool,
}

impl<'a> Launch<'a> {
    fn new(launcher: &'a Launcher, request: &'a Request, sink: Sink<'a>) -> Result<Self, Failure> {
        let plan = Plan::new(request, &launcher.options)?;
        Ok(Self::with_plan(launcher, request, plan, sink))
    }

    /// Returns the launch of a plan: that of the request, or of a pack that begins with it.
    fn with_plan(
        launcher: &'a Launcher,
        request: &'a Request,
        plan: Plan<'a>,
        sink: Sink<'a>,
    ) -> Self {
        let report = Report::start(sink);
        Self { launcher, request, id: name::random(), plan, report, lent: Mutex::default() }
    }
}

impl Launch<'_> {
    fn span(&self) -> Span {
        let (image, namespace) = (self.request.image.as_str(), self.plan.namespace());
        info_span!("launch", image, namespace, config_map = self.plan.name())
    }

    async fn run(&self) -> Result<Launched, Failure> {
        match self.open().await? {
            Beginning::Reused(launched) => Ok(*launched),
            Beginning::Open(opened) => self.fill(*opened).await,
        }
    }

    /// Prepares the ConfigMap and chooses the strategy.
    async fn open(&self) -> Result<Beginning, Failure> {
        // These two are independent of each other.
        let (prepared, (assigns_uids, chosen)) = join!(self.prepare(), self.choose());
        let Prepared { config_map, is_new } = prepared?;
        // Skip the list for a new ConfigMap, which owns no Jobs: a list right after a write took 80
        // ms, and other requests took 3 to 10 ms.
        let jobs = if is_new { Ok(Vec::new()) } else { self.jobs().await };
        let (config_map, baseline) = self.adopt_config_map(config_map, &jobs, assigns_uids).await?;
        self.report.step(Step::Prepared { config_map: self.plan.name().to_owned() });
        if let Some(bundle) = self.reusable(&config_map).await {
            self.report.step(Step::Reused);
            let images = Observed { bundle, ..Observed::default() };
            let launched = self.launched(Written { config_map, images }, None);
            return Ok(Beginning::Reused(Box::new(launched)));
        }
        if config_map.immutable == Some(true) {
            let message = format!("the ConfigMap {} is immutable", self.plan.name());
            return Err(Failure::new(Reason::ConfigMapImmutable, message));
        }

        match (jobs, chosen) {
            (Ok(jobs), Ok(chosen)) => {
                Ok(Beginning::Open(Box::new(Opened { baseline, jobs, chosen, is_new })))
            }
            (Ok(jobs), Err(failure)) => {
                Err(self.record_early_failure(&baseline, &jobs, failure).await)
            }
            // It is unknown which launch is using the ConfigMap, so nothing is recorded on it.
            (Err(failure), _) => Err(failure),
        }
    }

    /// Makes attempts until one fills the ConfigMap or fails permanently.
    async fn fill(&self, opened: Opened) -> Result<Launched, Failure> {
        let Opened { mut baseline, mut jobs, mut chosen, .. } = opened;
        let mut budget = Budget::new(self.launcher.options.deadlines, self.report.elapsed());
        let mut pauses = backoff::ATTEMPT.waits();
        self.report_strategy(&chosen);
        // Whether the deadlines have begun again, after the Job of another launch took their time.
        let mut has_begun_again = false;
        loop {
            let AttemptOutcome { attempt, result } =
                Box::pin(self.attempt(&baseline, jobs, chosen.strategy, &mut budget)).await;
            let (failure, continuation) = match result {
                Ok(written) => {
                    self.report.step(Step::Written);
                    return Ok(self.launched(*written, attempt.as_ref()));
                }
                Err(failed) => failed,
            };
            let is_adopted = attempt.as_ref().is_some_and(|it| it.ownership != JobOwnership::Own);
            baseline.left.extend(attempt.map(|attempt| attempt.uid));
            let after = match continuation {
                Continuation::Fail => return Err(failure),
                Continuation::Inject => Duration::ZERO,
                Continuation::Retry => pauses.pause(),
            };
            let now = self.report.elapsed();
            let is_late = continuation == Continuation::Retry && budget.left(now) <= after;
            if is_late {
                if !is_adopted || has_begun_again {
                    return Err(failure);
                }
                has_begun_again = true;
                budget = Budget::new(self.launcher.options.deadlines, now);
            }
            let because = failure.message.clone();
            self.report.step(Step::Retrying { failure: Box::new(failure), after });
            if continuation == Continuation::Inject {
                self.launcher.volumes.note_failure(self.plan.namespace(), &because);
                chosen = Chosen { strategy: Strategy::Inject, because: Some(because) };
                self.report_strategy(&chosen);
            }
            sleep(after).await;
            jobs = self.jobs().await?;
            if is_late {
                // Jobs of other launches took the time, so this launch does not wait for them.
                let running = jobs.iter().filter(|job| !judge::condition::is_over(job));
                baseline.left.extend(running.filter_map(ResourceExt::uid));
            }
        }
    }

    /// Adapts the ConfigMap to this request. The ConfigMap is not changed while a Job is filling it
    /// from another image, or while it is unknown whether one is.
    async fn adopt_config_map(
        &self,
        mut found: ConfigMap,
        jobs: &Result<Vec<Job>, Failure>,
        assigns_uids: bool,
    ) -> Result<(ConfigMap, LaunchBaseline), Failure> {
        let retrier = self.retrier();
        let mut waits = backoff::REQUEST.waits();
        loop {
            let baseline = LaunchBaseline::from_found(&found, assigns_uids);
            match jobs {
                // Fails if a Job is filling the ConfigMap from another image, unless the content is
                // reused. Which Job an attempt adopts is decided later.
                Ok(jobs) => {
                    if let Err(failure) = self.find_running_job(&baseline, jobs)
                        && (!self.is_adapted(&found) || self.reusable(&found).await.is_none())
                    {
                        return Err(failure);
                    }
                }
                Err(failure) if !self.is_adapted(&found) => return Err(failure.clone()),
                Err(_) => {}
            }
            if let Some(adapted) = self.adapt(found).await? {
                return Ok((adapted, baseline));
            }
            let name = self.plan.name();
            let message = format!("the ConfigMap {name} was changed or deleted at the same time");
            retrier.wait(Failure::new(Reason::Conflict, message), &mut waits).await?;
            found = self.prepare().await?.config_map;
        }
    }

    /// Finds out whether OpenShift assigns the pod's uid, and chooses the strategy.
    async fn choose(&self) -> (bool, Result<Chosen, Failure>) {
        let assigns_uids = self.assigns_uids().await;
        let facts = Facts { assigns_uids, ..Facts::default() };
        let doing = "find out whether the cluster supports image volumes";
        let Launcher { client, volumes, .. } = self.launcher;
        let request = || volumes.choose(client, &self.plan, &facts);
        let response = self.retrier().send(doing, request).await;
        (assigns_uids, response.and_then(|response| response.expect_value(doing)))
    }

    /// Finds out whether OpenShift assigns the pod's uid.
    async fn assigns_uids(&self) -> bool {
        let namespace = &self.request.namespace;
        let Launcher { client, options, .. } = self.launcher;
        uid::is_assigned(client, &self.retrier(), options, namespace).await
    }

    fn report_strategy(&self, chosen: &Chosen) {
        let because = chosen.because.clone();
        self.report.step(Step::Chosen { strategy: chosen.strategy, because });
    }

    fn launched(&self, written: Written, attempt: Option<&Attempt>) -> Launched {
        Launched {
            config_map: written.config_map,
            job: attempt.map(|attempt| attempt.job.clone()),
            strategy: attempt.map(|attempt| attempt.wanted.strategy),
            image: written.images.bundle,
            tool_image: written.images.tool,
            timings: self.report.timings(),
        }
    }

    /// Returns the client for the objects of a kind in the namespace.
    fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.launcher.client.clone(), &self.request.namespace)
    }

    /// Returns a retrier for requests without a deadline of their own. A problem that prevents the
    /// creation of the Job gets the same time as one that prevents the scheduling of its pod.
    fn retrier(&self) -> Retrier<'_> {
        Retrier::new(&self.report, self.launcher.options.deadlines.schedule)
    }

    /// Returns a retrier for requests that the launch can do without.
    fn brief_retrier(&self) -> Retrier<'_> {
        Retrier::new(&self.report, BRIEF)
    }
}

/// Returns the failure for an object with our name that does not belong to unlade.
fn name_taken(kind: &str, name: &str) -> Failure {
    let message = format!("the {kind} {name} exists, but was not created by unlade");
    Failure::new(Reason::NameTaken, message)
}
