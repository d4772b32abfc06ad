//! One launch, from top to bottom.

mod access;
mod attempt;
mod backoff;
mod confirm;
mod end;
mod image;
mod judge;
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

use self::attempt::{Attempted, Ground};
use self::image::Observed;
use self::judge::{Attempt, Budget, Standing, Verdict, Written};
use self::patience::{Answer, Patience};
use self::prepare::Prepared;
use self::report::Report;
use crate::object::{Facts, Plan, assigns_uids};
use crate::strategy::{Chosen, ImageVolumes};
use crate::{Event, Failure, Launched, Options, Reason, Request, Step, Strategy, User};

pub(crate) use judge::condition::is_finished;
pub(crate) use patience::unanswered;
pub(crate) use plain::plain;
pub(crate) use removal::{cancel, remove};

#[cfg(test)]
mod tests;

/// What every part of a launch needs.
struct Launch<'a> {
    client: &'a Client,
    volumes: &'a ImageVolumes,
    options: &'a Options,
    request: &'a Request,
    /// The objects that are made.
    plan: Plan<'a>,
    report: Report,
}

/// Launches one bundle, and waits until its ConfigMap is written.
pub(crate) async fn launch(
    client: &Client,
    volumes: &ImageVolumes,
    options: &Options,
    request: &Request,
    events: UnboundedSender<Event>,
) -> Result<Launched, Failure> {
    let report = Report::start(events);
    let plan = Plan::new(request, options)?;
    let launch = Launch { client, volumes, options, request, plan, report };
    // On the heap: it holds all that any of its steps needs.
    Box::pin(launch.run()).await
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
        let (config_map, mut ground) = self.take(config_map, &jobs, assigns_uids).await?;
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
            (Err(failure), _) | (_, Err(failure)) => return Err(self.kept(&ground, failure).await),
        };
        let mut budget = Budget::new(self.options.deadlines, self.report.elapsed());
        let mut pauses = backoff::ATTEMPT.waits();
        self.tell(&chosen);
        loop {
            let Attempted { attempt, verdict } =
                Box::pin(self.attempt(&ground, jobs, chosen.strategy, &mut budget)).await;
            let failure = match verdict {
                Verdict::Written(written) => {
                    self.report.step(Step::Written);
                    return Ok(self.launched(*written, attempt.as_ref()));
                }
                Verdict::Over(failure) if self.may_inject(&chosen, attempt.as_ref(), &failure) => {
                    self.volumes.note_failure(&failure.message);
                    let because = Some(failure.message.clone());
                    chosen = Chosen { strategy: Strategy::Inject, because };
                    let after = Duration::ZERO;
                    self.report.step(Step::Retrying { failure: Box::new(failure), after });
                    self.tell(&chosen);
                    ground.left.extend(attempt.map(|attempt| attempt.uid));
                    jobs = self.jobs().await?;
                    continue;
                }
                Verdict::Over(failure) if !is_others_end(attempt.as_ref(), &failure) => {
                    return Err(failure);
                }
                Verdict::Late(failure) => return Err(failure),
                Verdict::Over(failure) | Verdict::Again(failure) | Verdict::Leave(failure) => {
                    failure
                }
            };
            ground.left.extend(attempt.map(|attempt| attempt.uid));
            let after = pauses.pause();
            if budget.left(self.report.elapsed()) <= after {
                return Err(failure);
            }
            self.report.step(Step::Retrying { failure: Box::new(failure), after });
            sleep(after).await;
            jobs = self.jobs().await?;
        }
    }

    /// The ConfigMap as this request wants it. Nothing of it is changed while a Job fills it from
    /// another image.
    async fn take(
        &self,
        mut found: ConfigMap,
        jobs: &Result<Vec<Job>, Failure>,
        assigns_uids: bool,
    ) -> Result<(ConfigMap, Ground), Failure> {
        loop {
            let ground = Ground::of(&found, assigns_uids);
            if let Ok(jobs) = jobs {
                self.under_way(&ground, jobs)?;
            }
            match self.adapted(found).await? {
                Some(adapted) => return Ok((adapted, ground)),
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

    /// Whether the bundle can be injected in place of the volume that this attempt failed for.
    fn may_inject(&self, chosen: &Chosen, attempt: Option<&Attempt>, failure: &Failure) -> bool {
        failure.reason == Reason::VolumeUnsupported
            && chosen.strategy == Strategy::ImageVolume
            && self.options.strategy == Strategy::Auto
            && attempt.is_some_and(|attempt| attempt.wanted.strategy == Strategy::ImageVolume)
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

/// Whether it is the end of someone else's Job alone: it came to its own deadline, or has options
/// that stand in its way.
fn is_others_end(attempt: Option<&Attempt>, failure: &Failure) -> bool {
    let standing = attempt.map_or(Standing::Own, |attempt| attempt.standing);
    match failure.reason {
        Reason::Deadline => standing != Standing::Own,
        reason => standing == Standing::Other && reason.depends_on_options(),
    }
}

/// An object of our name that isn't ours.
fn taken(kind: &str, name: &str) -> Failure {
    let message = format!("there is a {kind} {name} that unlade hasn't made");
    Failure::new(Reason::NameTaken, message)
}
