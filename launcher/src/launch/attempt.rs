//! An attempt: adopts or creates a Job, and carries out what its [`Course`] decides.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::pin::pin;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use tokio::time::timeout_at;
use unlade_config_map::{mark, protocol::record::IMAGE};

use super::Launch;
use super::course::{Action, Answer, AttemptResult, Course};
use super::creation::Created;
use super::decision::{Continuation, JobOwnership};
use super::image::Wanted;
use super::job_list::list_jobs;
use super::judge::pod_progress::{job_strategy, job_tool};
use super::judge::{Attempt, Budget, condition};
use super::watch::Watch;
use crate::call::backoff;
use crate::object::{Facts, label, spec_hash};
use crate::{Failure, Reason, Step, Strategy, name};
use unlade_name::ImageReference;

/// What existed before the launch, and what the launch has left behind since.
#[derive(Debug)]
pub(super) struct LaunchBaseline {
    pub(super) facts: Facts,
    /// The uid of the Job that had written the ConfigMap before the launch.
    pub(super) written_by: Option<String>,
    /// The uids of Jobs that this launch does not adopt again, although they may still be running.
    pub(super) left: BTreeSet<String>,
}

impl LaunchBaseline {
    /// Returns the baseline for an existing ConfigMap.
    pub(super) fn from_found(config_map: &ConfigMap, assigns_uids: bool) -> Self {
        let facts = Facts { config_map_uid: config_map.uid(), assigns_uids };
        let written_by = config_map.annotations().get(mark::ATTEMPT).cloned();
        Self { facts, written_by, left: BTreeSet::new() }
    }
}

/// How an attempt ended.
pub(super) struct AttemptOutcome {
    /// The Job, or `None` if none could be created.
    pub(super) attempt: Option<Attempt>,
    pub(super) result: AttemptResult,
}

impl Launch<'_> {
    /// Lists the existing Jobs of all attempts to fill the ConfigMap.
    pub(super) async fn jobs(&self) -> Result<Vec<Job>, Failure> {
        let api = self.api::<Job>();
        let selector = label::selector(self.plan.name());
        let doing = format!("list the Jobs in the namespace {}", self.request.namespace);
        list_jobs(&api, &self.retrier(), &selector, &doing).await
    }

    /// Adopts the running attempt or starts the next one, and waits for its end.
    pub(super) async fn attempt(
        &self,
        baseline: &LaunchBaseline,
        jobs: Vec<Job>,
        strategy: Strategy,
        budget: &mut Budget,
    ) -> AttemptOutcome {
        let before = self.report.elapsed();
        let (attempt, mut watch) = match Box::pin(self.begin(baseline, &jobs, strategy)).await {
            Ok(begun) => begun,
            Err(failure) => {
                let failure = self.record_early_failure(baseline, &jobs, failure).await;
                return AttemptOutcome {
                    attempt: None,
                    result: Err((failure, Continuation::Fail)),
                };
            }
        };
        let may_inject = strategy == Strategy::ImageVolume
            && self.launcher.options.strategy == Strategy::Auto
            && attempt.wanted.strategy == Strategy::ImageVolume;
        let now = self.report.elapsed();
        // The requests that create the Job have a time of their own.
        budget.exclude(now.saturating_sub(before));
        let course = Course::new(&self.plan, baseline, &attempt, may_inject, budget, now);
        let result = match self.drive(course, &attempt, &mut watch).await {
            Ok(written) => Ok(self.record_verification(written, false).await),
            failed => failed,
        };
        self.withdraw_credentials().await;
        AttemptOutcome { attempt: Some(attempt), result }
    }

    /// Adopts or creates a Job. The watches start at the same time.
    pub(super) async fn begin(
        &self,
        baseline: &LaunchBaseline,
        jobs: &[Job],
        strategy: Strategy,
    ) -> Result<(Attempt, Watch), Failure> {
        let name = self.plan.name();
        let mut jobs = Cow::Borrowed(jobs);
        let retrier = self.retrier();
        let mut waits = backoff::REQUEST.waits();
        loop {
            let wanted = self.plan.job(next_number(name, &jobs), strategy, &baseline.facts);
            let found = self.find_running_job(baseline, &jobs)?;
            let found = found.filter(|found| self.may_adopt(found));
            let job = found.unwrap_or(&wanted).name_any();
            let config_maps = self.plan.config_maps();
            let mut watch =
                Watch::start(&self.launcher.client, &self.request.namespace, config_maps, &job);
            let begun = {
                let mut beginning = pin!(self.adopt_or_create(baseline, found, &wanted));
                loop {
                    tokio::select! {
                        biased;
                        begun = &mut beginning => break begun?,
                        // A watch reports its problems again later.
                        changed = watch.changed() => if changed.is_err() {
                            break beginning.await?;
                        },
                    }
                }
            };
            if let Some((job, ownership)) = begun {
                watch.add_job(&job.name_any());
                return Ok((self.attempt_by(&job, ownership, baseline), watch));
            }
            let message = format!(
                "the Job {} already exists, and this launch does not wait for it",
                wanted.name_any()
            );
            retrier.wait(Failure::new(Reason::Conflict, message), &mut waits).await?;
            jobs = Cow::Owned(self.jobs().await?);
        }
    }

    /// Returns the attempt of this Job.
    pub(super) fn attempt_by(
        &self,
        job: &Job,
        ownership: JobOwnership,
        baseline: &LaunchBaseline,
    ) -> Attempt {
        Attempt {
            job: job.name_any(),
            uid: job.uid().unwrap_or_default(),
            wanted: self.wanted(job_strategy(job), ownership),
            config_map: self.plan.name().to_owned(),
            config_map_uid: baseline.facts.config_map_uid.clone().unwrap_or_default(),
            ownership,
        }
    }

    /// Returns the images that an attempt should use.
    fn wanted(&self, strategy: Strategy, ownership: JobOwnership) -> Wanted {
        let tool = self.plan.tool_image();
        let is_known = tool.is_digest() || ownership != JobOwnership::Other;
        let tool = is_known.then(|| tool.clone());
        // The node always reports the digest of a container's image.
        let resolves = strategy == Strategy::Inject || self.launcher.options.records_digest();
        let volume = self.plan.volume(self.plan.name());
        Wanted { bundle: self.plan.image().clone(), tool, strategy, volume, resolves }
    }

    /// Returns the Job and its ownership, or `None` if a Job of that name exists, but has ended or
    /// is not adopted.
    async fn adopt_or_create(
        &self,
        baseline: &LaunchBaseline,
        found: Option<&Job>,
        wanted: &Job,
    ) -> Result<Option<(Job, JobOwnership)>, Failure> {
        // Needed for an adopted Job too: its creator may have been terminated before it granted
        // access.
        self.grant(&baseline.facts).await?;
        if let Some(found) = found {
            return Ok(Some(self.adopt(found, wanted)));
        }
        let name = wanted.name_any();
        let facts = &baseline.facts;
        let found = match self.create_job_with_credentials(wanted.clone(), facts).await? {
            Created::Own(job) => {
                self.report.step(Step::Created { job: name });
                return Ok(Some((job, JobOwnership::Own)));
            }
            Created::Theirs(found) => found,
        };
        if found.as_ref().is_some_and(|found| !label::is_ours(found.metadata.labels.as_ref())) {
            return Err(super::name_taken("Job", &name));
        }
        let found = self.find_running_job(baseline, found.as_slice())?;
        let found = found.filter(|found| self.may_adopt(found));
        Ok(found.map(|found| self.adopt(found, wanted)))
    }

    /// Returns the newest Job that is filling this ConfigMap. A Job that wrote the ConfigMap before
    /// the launch does not count even if it is not complete yet, because a tag may have moved
    /// since.
    pub(super) fn find_running_job<'j>(
        &self,
        baseline: &LaunchBaseline,
        jobs: &'j [Job],
    ) -> Result<Option<&'j Job>, Failure> {
        let uid = baseline.facts.config_map_uid.as_ref();
        let is_of_this =
            |job: &&Job| job.owner_references().iter().any(|owner| Some(&owner.uid) == uid);
        let is_done_with = |job: &Job| {
            job.uid()
                .is_some_and(|uid| baseline.left.contains(&uid) || Some(uid) == baseline.written_by)
        };
        let under_way = jobs
            .iter()
            .filter(|job| !condition::is_over(job) && !is_done_with(job))
            .filter(is_of_this);
        let newest =
            under_way.max_by_key(|job| name::attempt_number(self.plan.name(), &job.name_any()));
        match newest.map(|job| (job, job.annotations().get(IMAGE))) {
            // A ConfigMap whose name the caller chose may be used for several images.
            Some((job, Some(image))) if *image != self.request.image => {
                let message = format!(
                    "the Job {} is still filling the ConfigMap {} from {image}",
                    job.name_any(),
                    self.plan.name()
                );
                Err(Failure::new(Reason::NameTaken, message))
            }
            newest => Ok(newest.map(|(job, _)| job)),
        }
    }

    /// Checks whether the launch waits for an existing Job. It does not if it requests the digest
    /// of the tool image, and the Job has another tool image: such a Job is left alone.
    pub(super) fn may_adopt(&self, found: &Job) -> bool {
        let Some(digest) = self.plan.tool_image().digest() else { return true };
        let tool = job_tool(found).and_then(|tool| ImageReference::parse(tool).ok());
        tool.is_some_and(|tool| tool.digest() == Some(digest))
    }

    /// Reports that an existing Job is adopted. Returns the Job and its ownership.
    pub(super) fn adopt(&self, found: &Job, wanted: &Job) -> (Job, JobOwnership) {
        let job = found.name_any();
        let differs = !spec_hash::is_same(found, wanted);
        self.report.step(Step::Adopted { job, differs });
        (found.clone(), if differs { JobOwnership::Other } else { JobOwnership::Same })
    }

    /// Carries out what the course of an attempt decides.
    async fn drive(
        &self,
        mut course: Course<'_>,
        attempt: &Attempt,
        watch: &mut Watch,
    ) -> AttemptResult {
        let wait = self.report.wait();
        let mut answer = None;
        loop {
            watch.forget_old_trouble();
            for action in course.step(&watch.seen, answer.take(), self.report.elapsed()) {
                match action {
                    Action::Report(step) => self.report.step(step),
                    Action::WaitOn(failure) => wait.on(*failure),
                    Action::Proceed => wait.end(),
                    Action::StopWaiting => _ = wait.stop(),
                    Action::WatchEvents(uid) => {
                        watch.add_events(&uid);
                        watch.add_namespace();
                    }
                    Action::Ask(question) => {
                        answer = Some(self.answer(question, attempt, &watch.seen).await);
                    }
                    Action::Wait { until } => {
                        let changed = timeout_at(self.report.at(until), watch.changed()).await;
                        answer = changed.ok().and_then(Result::err).map(Answer::WatchForbidden);
                    }
                    Action::Finish(result) => return result,
                }
            }
        }
    }
}

/// Returns the number of the next attempt. Two launchers that see the same Jobs get the same
/// number, so only one of them can create the Job.
fn next_number(name: &str, jobs: &[Job]) -> u32 {
    let numbers = jobs.iter().filter_map(|job| name::attempt_number(name, &job.name_any()));
    let numbers: BTreeSet<_> = numbers.collect();
    let next = numbers.last().map_or(Some(1), |newest| newest.checked_add(1));
    // Someone else has chosen the highest number.
    next.or_else(|| (1..u32::MAX).find(|number| !numbers.contains(number))).unwrap_or(1)
}
