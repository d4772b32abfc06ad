//! The shared attempt of a pack.

mod ending;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, Volume};
use kube::ResourceExt;
use tokio::time::{Instant, timeout_at};

use super::culprit::culprit;
use super::pace::{PullPace, has_pulled};
use super::{Ended, Member, Single};
use crate::launch::Launch;
use crate::launch::attempt::LaunchBaseline;
use crate::launch::course::CONFIRMATION;
use crate::launch::decision::AttemptEnd;
use crate::launch::image::Wanted;
use crate::launch::judge::pod_progress::{attempt_pods, node};
use crate::launch::judge::{Attempt, Budget, Conclusion, Judge, Judgement, State, Written};
use crate::launch::watch::Watch;
use crate::object::Plan;
use crate::progress::report::Wait;
use crate::strategy::WithPod;
use crate::{Failure, Launcher, Reason, Step, Strategy};

/// The longest time between two judgements.
const LONGEST: Duration = Duration::from_hours(1);

/// The result of a shared attempt.
#[derive(Default)]
pub(super) struct Attempted<'m> {
    /// The launches that share another attempt, because a node fails to pull the image of a launch
    /// that is not among them.
    pub(super) again: Vec<Member<'m>>,
    /// The launches that continue alone.
    pub(super) left: Vec<Single<'m>>,
    /// The name of the Job if no launch continues. The Job finishes a moment after the launches.
    pub(super) job: Option<String>,
}

/// How a launch continues after a shared attempt that did not fill its ConfigMap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterShared {
    /// It shares another attempt.
    Share,
    /// It continues alone, from what it had found before.
    Alone,
    /// It starts over alone, because the shared attempt may have changed its ConfigMap.
    StartOver,
}

/// The places of the launches that have not ended.
type Places = Mutex<BTreeSet<usize>>;

/// Makes one attempt to fill the ConfigMaps of `members`: with the Job that was `found`, or with a
/// new one.
pub(super) async fn run<'m>(
    launcher: &Launcher,
    members: Vec<Member<'m>>,
    found: Option<Job>,
    pace: &PullPace,
    ended: Ended<'_>,
) -> Attempted<'m> {
    let (continuations, job) = make_attempt(launcher, &members, found, pace, ended).await;
    let mut attempted = Attempted { job, ..Attempted::default() };
    for (place, member) in members.into_iter().enumerate() {
        match continuations.get(&place) {
            Some(AfterShared::Share) => attempted.again.push(member),
            Some(AfterShared::Alone) => attempted.left.push(member.into()),
            Some(AfterShared::StartOver) => {
                let Member { index, launch, .. } = member;
                attempted.left.push(Single { index, launch, opened: None });
            }
            None => {}
        }
    }
    attempted
}

/// How the launches continue that the attempt did not finish, by their places.
type AfterSharedByPlace = BTreeMap<usize, AfterShared>;

/// Makes the attempt. Also returns the name of the Job if no launch continues.
async fn make_attempt(
    launcher: &Launcher,
    members: &[Member<'_>],
    found: Option<Job>,
    pace: &PullPace,
    ended: Ended<'_>,
) -> (AfterSharedByPlace, Option<String>) {
    let uid = |member: &Member<'_>| member.opened.baseline.facts.config_map_uid.clone();
    let plans = members.iter().map(|member| (&member.launch.plan, uid(member)));
    let (Some(plan), Some(first)) = (Plan::pack(plans), members.first()) else {
        return (AfterSharedByPlace::new(), None);
    };
    let places: Places = Mutex::new((0..members.len()).collect());
    // What happens to the Job concerns every launch that waits for it.
    let sink = |event: crate::Event| {
        for place in &*places.lock().unwrap_or_else(PoisonError::into_inner) {
            if let Some(member) = members.get(*place) {
                member.launch.report.step(event.step.clone());
            }
        }
    };
    let lead = Launch::with_plan(launcher, first.launch.request, plan, &sink);
    let facts = first.opened.baseline.facts.clone();
    // A Job that has written one of the ConfigMaps before is not adopted.
    let left = members.iter().filter_map(|it| it.opened.baseline.written_by.clone()).collect();
    let baseline = LaunchBaseline { facts, written_by: None, left };
    let is_new = members.iter().all(|it| it.opened.is_new);
    let (attempt, watch) = match Box::pin(lead.begin_pack(&baseline, found, is_new)).await {
        Ok(begun) => begun,
        // Each launch finds out for itself, and records it.
        Err(failure) => {
            let failure = Box::new(failure);
            lead.report.step(Step::Retrying { failure, after: Duration::ZERO });
            return ((0..members.len()).map(|place| (place, AfterShared::Alone)).collect(), None);
        }
    };
    let attempts: Vec<_> = members.iter().map(|member| lead.attempt_of(&attempt, member)).collect();
    let deadlines = launcher.options.deadlines;
    let budget = |member: &Member<'_>| Budget::new(deadlines, member.launch.report.elapsed());
    let mut budgets: Vec<_> = members.iter().map(budget).collect();
    let judged = members.iter().zip(&attempts).zip(&mut budgets);
    let open = judged.map(|((member, attempt), budget)| {
        let judge = Judge::new(attempt, budget, member.launch.report.elapsed());
        Open { member, attempt, judge, wait: member.launch.report.wait() }
    });
    let mut following = Following {
        lead: &lead,
        attempt: &attempt,
        watch,
        open: open.enumerate().collect(),
        failed: BTreeMap::new(),
        places: &places,
        pace,
        ended,
        asked: None,
    };
    let continuations = Box::pin(following.follow()).await;
    following.note_pace();
    // A launch that continues has already waited for the Job, as long as it is worth it.
    let job = continuations.is_empty().then(|| attempt.job.clone());
    (continuations, job)
}

impl Launch<'_> {
    /// Adopts the running Job of a pack, or creates one. If all ConfigMaps are new, there are no
    /// other Jobs.
    async fn begin_pack(
        &self,
        baseline: &LaunchBaseline,
        found: Option<Job>,
        is_new: bool,
    ) -> Result<(Attempt, Watch), Failure> {
        let wanted = self.plan.job(1, Strategy::ImageVolume, &baseline.facts);
        let Some(found) = found.filter(|found| self.may_adopt(found)) else {
            let jobs = if is_new { Vec::new() } else { self.jobs().await? };
            return Box::pin(self.begin(baseline, &jobs, Strategy::ImageVolume)).await;
        };
        // Its creator had granted access before it created the Job.
        let (job, ownership) = self.adopt(&found, &wanted);
        let attempt = self.attempt_by(&job, ownership, baseline);
        let (client, config_maps) = (&self.launcher.client, self.plan.config_maps());
        let mut watch = Watch::start(client, self.plan.namespace(), config_maps, &attempt.job);
        watch.add_job(&attempt.job);
        Ok((attempt, watch))
    }

    /// Returns the shared attempt as the attempt of one launch.
    fn attempt_of(&self, attempt: &Attempt, member: &Member<'_>) -> Attempt {
        let plan = &member.launch.plan;
        let facts = &member.opened.baseline.facts;
        Attempt {
            wanted: Wanted {
                bundle: plan.image().clone(),
                volume: self.plan.volume(plan.name()),
                ..attempt.wanted.clone()
            },
            config_map: plan.name().to_owned(),
            config_map_uid: facts.config_map_uid.clone().unwrap_or_default(),
            ..attempt.clone()
        }
    }
}

/// A launch that follows the shared attempt.
struct Open<'f> {
    member: &'f Member<'f>,
    attempt: &'f Attempt,
    judge: Judge<'f>,
    wait: Wait<'f>,
}

/// A launch that has given up the shared attempt, and why.
struct GivenUp<'f> {
    open: Open<'f>,
    ending: AttemptEnd,
    failure: Failure,
}

/// The shared attempt, while it runs.
struct Following<'f> {
    /// The launch of the Job, which has no ConfigMap of its own.
    lead: &'f Launch<'f>,
    attempt: &'f Attempt,
    watch: Watch,
    open: BTreeMap<usize, Open<'f>>,
    failed: BTreeMap<usize, GivenUp<'f>>,
    places: &'f Places,
    pace: &'f PullPace,
    ended: Ended<'f>,
    /// When an event that nothing else has confirmed was last checked.
    asked: Option<Instant>,
}

/// What the launches have concluded at one time.
struct Round {
    written: Vec<(usize, Box<Written>)>,
    failed: Vec<(usize, AttemptEnd, Failure)>,
    /// The launches that wait for something that only an event reports as permanent.
    unconfirmed: Vec<(usize, Failure)>,
    /// The place of the launch whose image a node fails to pull.
    culprit: Option<(usize, Failure)>,
    /// When to judge again even if nothing changes.
    until: Instant,
}

impl Following<'_> {
    /// Follows the attempt until no launch waits for it. Returns how the launches continue that it
    /// did not finish.
    async fn follow(&mut self) -> AfterSharedByPlace {
        loop {
            self.watch.forget_old_trouble();
            self.watch_pulls();
            let Round { written, mut failed, unconfirmed, culprit, mut until } = self.judge();
            // The launch alone confirms it again, so it does not end the Job of another launcher.
            if self.confirms(&unconfirmed, &mut until).await {
                let ending = AttemptEnd::DeadlineExceeded;
                failed.extend(unconfirmed.into_iter().map(|(place, why)| (place, ending, why)));
            }
            self.finish(written).await;
            if let Some((place, failure)) = culprit {
                return self.start_again(place, &failure).await;
            }
            let is_replaced = failed.iter().any(|(_, _, failure)| failure.reason.is_of_image());
            for (place, ending, failure) in failed {
                self.fail(place, ending, failure);
            }
            if is_replaced {
                // The pod is not the requested one, so it should write nothing more.
                let job = &self.attempt.job;
                let message = format!(
                    "the Job {job} was ended because the image of another bundle in it was replaced"
                );
                self.fail_all(AttemptEnd::Retryable, &Failure::new(Reason::Killed, message));
            }
            if self.open.is_empty() {
                return self.settle().await;
            }
            if let Ok(Err(failure)) = timeout_at(until, self.watch.changed()).await {
                self.fail_all(AttemptEnd::Fatal, &failure);
            }
        }
    }

    /// Asks the API server whether it confirms the first of these failures. If it does not, it is
    /// asked again after some time.
    async fn confirms(&mut self, unconfirmed: &[(usize, Failure)], until: &mut Instant) -> bool {
        let Some((_, failure)) = unconfirmed.first() else { return false };
        if let Some(again) = self.asked.map(|asked| asked + CONFIRMATION)
            && Instant::now() < again
        {
            *until = again.min(*until);
            return false;
        }
        let is_confirmed = self.lead.confirms(failure, self.watch.seen.job.object()).await;
        let now = Instant::now();
        self.asked = Some(now);
        *until = (now + CONFIRMATION).min(*until);
        is_confirmed
    }

    /// Judges the attempt for each launch.
    fn judge(&mut self) -> Round {
        let volumes = self.volumes();
        let images: Vec<_> = volumes.iter().map(|(_, image)| image.as_str()).collect();
        let wanted =
            |(place, open): (&usize, &Open<'_>)| (open.attempt.wanted.volume.clone(), *place);
        let places: BTreeMap<_, _> = self.open.iter().map(wanted).collect();
        let tool = self.lead.plan.tool_image().as_str();
        let culprit_of = |failure: &Failure| {
            let (volume, _) = volumes.get(culprit(failure, &images, tool)?)?;
            Some((*places.get(volume)?, failure.clone()))
        };
        let until = Instant::now() + LONGEST;
        let mut round = Round {
            written: Vec::new(),
            failed: Vec::new(),
            unconfirmed: Vec::new(),
            culprit: None,
            until,
        };
        for (&place, Open { member, judge, wait, .. }) in &mut self.open {
            let report = &member.launch.report;
            self.watch.show(member.launch.plan.name());
            let Judgement { steps, state } = judge.judge(&self.watch.seen, report.elapsed());
            for step in steps {
                report.step(step);
            }
            match state {
                State::Ended(Conclusion::Written(written)) => round.written.push((place, written)),
                State::Ended(Conclusion::Failed(ending, failure)) => {
                    if ending != AttemptEnd::Superseded {
                        round.culprit = round.culprit.take().or_else(|| culprit_of(&failure));
                    }
                    round.failed.push((place, ending, failure));
                }
                State::Waiting(waiting) => {
                    if let Some(failure) = waiting.unconfirmed {
                        round.unconfirmed.push((place, *failure));
                    }
                    match waiting.on {
                        Some(on) => {
                            if on.reason == Reason::RateLimited {
                                self.pace.note_limit();
                            }
                            round.culprit = round.culprit.take().or_else(|| culprit_of(&on));
                            wait.on(*on);
                        }
                        None => wait.end(),
                    }
                    if let Some(uid) = waiting.events_of {
                        self.watch.add_events(&uid);
                        self.watch.add_namespace();
                    }
                    round.until = round.until.min(report.at(waiting.until));
                }
            }
        }
        round
    }

    /// Watches the events of the pods if the pace of the batch depends on them.
    fn watch_pulls(&mut self) {
        if self.pace.needs_events() {
            let pods = attempt_pods(&self.watch.seen, self.attempt);
            let uids: Vec<_> = pods.into_iter().filter_map(Pod::uid).collect();
            for uid in &uids {
                self.watch.add_events(uid);
            }
        }
    }

    /// Notes for the pace of the batch whether the node has pulled images for this attempt.
    fn note_pace(&self) {
        let volumes = self.volumes();
        let images: Vec<_> = volumes.iter().map(|(_, image)| image.as_str()).collect();
        for pod in attempt_pods(&self.watch.seen, self.attempt) {
            let events = self.watch.seen.events.about(pod.uid().as_ref());
            // Events can arrive later than the ConfigMaps.
            if let Some(has_pulled) = has_pulled(&events, &images) {
                self.pace.note(node(pod), has_pulled);
            }
        }
    }

    /// Ends the launches whose ConfigMaps were written.
    async fn finish(&mut self, written: Vec<(usize, Box<Written>)>) {
        let written = written.into_iter().filter_map(|(place, written)| {
            let open = self.open.remove(&place)?;
            self.lock().remove(&place);
            Some((open, written))
        });
        let written: Vec<_> = written.collect();
        join_all(written.into_iter().map(|(open, written)| self.end(open, written))).await;
    }

    async fn end(&self, open: Open<'_>, written: Box<Written>) {
        open.wait.stop();
        let Open { member: Member { index, launch, .. }, attempt, .. } = open;
        let written = launch.record_verification(written, true).await;
        launch.report.step(Step::Written);
        (self.ended)(*index, Ok(launch.launched(*written, Some(attempt))));
    }

    /// Returns the image volumes of the pod and their images, some of which may be those of other
    /// launches.
    fn volumes(&self) -> Vec<(String, String)> {
        let pods = attempt_pods(&self.watch.seen, self.attempt);
        let specs = pods.into_iter().filter_map(Pod::pod);
        let volumes = specs.flat_map(|spec| spec.volumes.iter().flatten());
        let image = |volume: &Volume| {
            Some((volume.name.clone(), volume.image.as_ref()?.reference.clone()?))
        };
        volumes.filter_map(image).collect()
    }

    fn fail(&mut self, place: usize, ending: AttemptEnd, failure: Failure) {
        if let Some(open) = self.open.remove(&place) {
            self.failed.insert(place, GivenUp { open, ending, failure });
        }
    }

    fn fail_all(&mut self, ending: AttemptEnd, failure: &Failure) {
        let places: Vec<_> = self.open.keys().copied().collect();
        for place in places {
            self.fail(place, ending, failure.clone());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeSet<usize>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
