//! One launch, from top to bottom.

mod access;
mod attempt;
mod backoff;
mod confirm;
mod creation;
mod end;
mod image;
mod judge;
mod next;
mod patience;
mod plain;
mod prepare;
pub(crate) mod record;
mod removal;
mod report;
mod reuse;
pub(crate) mod seal;
mod watch;

use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use futures::join;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::{Api, Client, Resource};
use tokio::time::sleep;
use tracing::{Instrument, info_span};

use self::attempt::{AttemptOutcome, LaunchBaseline};
use self::image::Observed;
use self::judge::{Attempt, Budget, Written};
use self::next::Then;
use self::patience::Patience;
use self::prepare::Prepared;
use self::report::Report;
use crate::object::{Facts, Plan, assigns_uids};
use crate::strategy::{Chosen, ImageVolumes};
use crate::{Event, Failure, Launched, Options, Reason, Request, Step, Strategy, User, name};

pub(crate) use creation::Creations;
pub(crate) use judge::condition::is_finished;
pub(crate) use patience::{Answer, ask, ask_for};
pub(crate) use plain::plain;
pub(crate) use removal::{cancel, delete, find, remove};

#[cfg(test)]
mod tests;

/// What every part of a launch needs.
struct Launch<'a> {
    client: &'a Client,
    volumes: &'a ImageVolumes,
    creations: &'a Creations,
    options: &'a Options,
    request: &'a Request,
    /// A random id, which the Jobs of this launch carry. By this id the launch recognises a Job
    /// whose creation was answered late or not at all.
    id: String,
    /// The objects that are made.
    plan: Plan<'a>,
    report: Report,
}

/// Launches one bundle, and waits until its ConfigMap is written.
pub(crate) async fn launch(
    client: &Client,
    (volumes, creations): (&ImageVolumes, &Creations),
    options: &Options,
    request: &Request,
    events: UnboundedSender<Event>,
) -> Result<Launched, Failure> {
    let report = Report::start(events);
    let plan = Plan::new(request, options)?;
    let id = name::random();
    let (image, namespace) = (request.image.as_str(), request.namespace.as_str());
    let span = info_span!("launch", image, namespace, config_map = plan.name());
    let launch = Launch { client, volumes, creations, options, request, id, plan, report };
    // On the heap: it holds all that any of its steps needs.
    Box::pin(launch.run()).instrument(span).await
}

impl Launch<'_> {
    async fn run(&self) -> Result<Launched, Failure> {
        // Neither needs the other's answer.
        let (prepared, (assigns_uids, chosen)) = join!(self.prepare(), self.choose());
        let Prepared { config_map, is_new } = prepared?;
        // A ConfigMap that has just been made owns no Jobs, and a list isn't for nothing: right after
        // a write it took 80 ms, where other requests took 3 to 10. Perhaps the API server's cache
        // waits there for what it may miss.
        let jobs = if is_new { Ok(Vec::new()) } else { self.jobs().await };
        let (config_map, mut baseline) = self.take(config_map, &jobs, assigns_uids).await?;
        self.report.step(Step::Prepared { config_map: self.plan.name().to_owned() });
        if let Some(bundle) = self.reusable(&config_map).await {
            self.report.step(Step::Reused);
            let images = Observed { bundle, ..Observed::default() };
            return Ok(self.launched(Written { config_map, images }, None));
        }
        if config_map.immutable == Some(true) {
            let message = format!("the ConfigMap {} is immutable", self.plan.name());
            return Err(Failure::new(Reason::ConfigMapImmutable, message));
        }

        let (mut jobs, mut chosen) = match (jobs, chosen) {
            (Ok(jobs), Ok(chosen)) => (jobs, chosen),
            (Ok(jobs), Err(failure)) => return Err(self.recorded(&baseline, &jobs, failure).await),
            // It is unknown which launch is using the ConfigMap, so nothing is recorded on it.
            (Err(failure), _) => return Err(failure),
        };
        let mut budget = Budget::new(self.options.deadlines, self.report.elapsed());
        let mut pauses = backoff::ATTEMPT.waits();
        self.tell(&chosen);
        loop {
            let AttemptOutcome { attempt, result } =
                Box::pin(self.attempt(&baseline, jobs, chosen.strategy, &mut budget)).await;
            let (failure, then) = match result {
                Ok(written) => {
                    self.report.step(Step::Written);
                    return Ok(self.launched(*written, attempt.as_ref()));
                }
                Err(failed) => failed,
            };
            baseline.left.extend(attempt.map(|attempt| attempt.uid));
            let after = match then {
                Then::Fail => return Err(failure),
                Then::Inject => Duration::ZERO,
                Then::Retry => pauses.pause(),
            };
            if then == Then::Retry && budget.left(self.report.elapsed()) <= after {
                return Err(failure);
            }
            let because = failure.message.clone();
            self.report.step(Step::Retrying { failure: Box::new(failure), after });
            if then == Then::Inject {
                self.volumes.note_failure(&because);
                chosen = Chosen { strategy: Strategy::Inject, because: Some(because) };
                self.tell(&chosen);
            }
            sleep(after).await;
            jobs = self.jobs().await?;
        }
    }

    /// The ConfigMap as this request wants it. It is not changed while a Job is filling it from
    /// another image, or while it is unknown whether one is.
    async fn take(
        &self,
        mut found: ConfigMap,
        jobs: &Result<Vec<Job>, Failure>,
        assigns_uids: bool,
    ) -> Result<(ConfigMap, LaunchBaseline), Failure> {
        loop {
            let baseline = LaunchBaseline::from_found(&found, assigns_uids);
            match jobs {
                Ok(jobs) => drop(self.under_way(&baseline, jobs)?),
                Err(failure) if !self.is_adapted(&found) => return Err(failure.clone()),
                Err(_) => {}
            }
            match self.adapted(found).await? {
                Some(adapted) => return Ok((adapted, baseline)),
                None => found = self.prepare().await?.config_map,
            }
        }
    }

    /// Whether OpenShift assigns the pod's uid, and how the unpacker and the bundle are to come
    /// together.
    async fn choose(&self) -> (bool, Result<Chosen, Failure>) {
        let assigns_uids = self.assigns_uids().await;
        let facts = Facts { assigns_uids, ..Facts::default() };
        let doing = "find out whether the cluster has image volumes";
        let request = || self.volumes.choose(self.client, &self.plan, &facts);
        let answer = self.patience().ask(doing, request).await;
        (assigns_uids, answer.and_then(|answer| answer.expected(doing)))
    }

    /// Whether OpenShift assigns the pod's uid. Who may not read namespaces isn't told.
    async fn assigns_uids(&self) -> bool {
        if self.options.pod.user != User::Auto || self.options.strategy == Strategy::ImageVolume {
            return false;
        }
        let api: Api<Namespace> = Api::all(self.client.clone());
        let namespace = &self.request.namespace;
        let doing = format!("read namespace {namespace}");
        let answer = self.patience().ask(&doing, || api.get(namespace)).await;
        answer.ok().and_then(Answer::done).is_some_and(|namespace| assigns_uids(&namespace))
    }

    fn tell(&self, chosen: &Chosen) {
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

    /// The objects of a kind in the namespace.
    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.request.namespace)
    }

    /// For requests that nothing else limits: what keeps the Job from being made counts as what
    /// keeps its pod from being scheduled.
    fn patience(&self) -> Patience<'_> {
        Patience::of(&self.report, self.options.deadlines.schedule)
    }
}

/// An object of our name that isn't ours.
fn taken(kind: &str, name: &str) -> Failure {
    let message = format!("there is a {kind} {name} that unlade hasn't made");
    Failure::new(Reason::NameTaken, message)
}
