//! Packs: several launches whose first attempt is one Job (docs/decisions/0039).
//!
//! A pack only saves Jobs. Each of its launches prepares its own ConfigMap, judges the shared Job
//! for itself ([`shared_attempt`]), and makes attempts of its own if the pack did not fill its
//! ConfigMap. So a launch in a pack has the verdict of a launch without one.

mod culprit;
mod pace;
mod shared_attempt;

use std::collections::BTreeSet;

use futures::future::join_all;
use k8s_openapi::api::batch::v1::Job;
use kube::Api;
use tracing::{Instrument, warn};

pub(crate) use self::pace::PullPace;
use self::shared_attempt::Attempted;
use super::job_list::list_jobs;
use super::judge::condition;
use super::{Beginning, Launch, Opened};
use crate::object::label;
use crate::progress::report::Sink;
use crate::{Failure, Launched, Launcher, Request, Strategy};

/// How often a pack starts again without an image that a node failed to pull. Each start shows one
/// more of such images.
const MAX_RESTARTS: usize = 3;

/// One launch of a pack.
#[derive(Clone, Copy)]
pub(crate) struct Share<'a> {
    pub(crate) request: &'a Request,
    pub(crate) sink: Sink<'a>,
}

/// Takes the outcome of the launch with this index.
type Ended<'a> = &'a (dyn Fn(usize, Result<Launched, Failure>) + Send + Sync);

/// A launch whose ConfigMap has to be filled.
struct Member<'m> {
    index: usize,
    launch: &'m Launch<'m>,
    opened: Opened,
}

/// A launch that is not part of the shared attempt, or no longer.
struct Single<'m> {
    index: usize,
    launch: &'m Launch<'m>,
    /// `None` if the shared attempt may have changed what the launch had found before.
    opened: Option<Opened>,
}

/// Launches bundles of one namespace and encoding, with one Job as far as possible. Calls `ended`
/// with the outcome of each launch as soon as it is known. Creates one Job after another, but does
/// not wait for every Job that failed ([`Batch::concurrency`](crate::Batch::concurrency)). Returns
/// the name of the last Job if no launch failed in it, because it may still be running.
pub(crate) async fn pack(
    launcher: &Launcher,
    shares: &[Share<'_>],
    pace: &PullPace,
    ended: Ended<'_>,
) -> Option<String> {
    let mut prepared = Vec::new();
    for (index, share) in shares.iter().enumerate() {
        match Launch::new(launcher, share.request, share.sink) {
            Ok(launch) => prepared.push((index, launch)),
            Err(failure) => ended(index, Err(failure)),
        }
    }
    let (members, mut singles) = open_all(&prepared, ended).await;
    let namespace = shares.first().map(|it| it.request.namespace.as_str()).unwrap_or_default();
    let mut job: Option<String> = None;
    for group in adopt_running(members).await {
        let mut found = group.job;
        let mut members = group.members;
        let mut n_starts = 0;
        while found.is_some() || members.len() > 1 {
            if n_starts > MAX_RESTARTS {
                break;
            }
            if n_starts == 0 {
                let report = |it: &Member<'_>| it.launch.report_strategy(&it.opened.chosen);
                members.iter().for_each(report);
            }
            n_starts += 1;
            if let Some(job) = job.take() {
                launcher.wait_until_finished(namespace, &job).await;
            }
            if found.is_none() && n_starts == 1 {
                pace.admit(members.len()).await;
            }
            let found = found.take();
            let attempted =
                Box::pin(shared_attempt::run(launcher, members, found, pace, ended)).await;
            let Attempted { again, left, job: used } = attempted;
            job = used;
            singles.extend(left);
            members = again;
        }
        singles.extend(members.into_iter().map(Single::from));
    }
    run_singles(launcher, singles, job, ended).await
}

/// Checks whether launches like the first of these mount their images. The response of the API
/// server is kept for the launches.
pub(crate) async fn mounts_images(launcher: &Launcher, shares: &[Share<'_>]) -> bool {
    // An invalid request is reported when it is launched.
    let launch = shares.iter().find_map(|it| Launch::new(launcher, it.request, it.sink).ok());
    let Some(launch) = launch else { return false };
    let (_, chosen) = launch.choose().await;
    chosen.is_ok_and(|chosen| chosen.strategy == Strategy::ImageVolume)
}

/// Opens all launches. Returns those that can share a Job, and the others that have to be filled.
async fn open_all<'m>(
    all: &'m [(usize, Launch<'m>)],
    ended: Ended<'_>,
) -> (Vec<Member<'m>>, Vec<Single<'m>>) {
    let open = |(index, launch): &'m (usize, Launch<'m>)| {
        let opening = Box::pin(launch.open()).instrument(launch.span());
        async move { (*index, launch, opening.await) }
    };
    // The first one finds out whether the cluster supports image volumes.
    let (first, rest) = all.split_at(all.len().min(1));
    let mut opened = join_all(first.iter().map(open)).await;
    opened.extend(join_all(rest.iter().map(open)).await);
    let (mut members, mut singles, mut names) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (index, launch, result) in opened {
        let opened = match result {
            Ok(Beginning::Open(opened)) => *opened,
            Ok(Beginning::Reused(launched)) => {
                ended(index, Ok(*launched));
                continue;
            }
            Err(failure) => {
                ended(index, Err(failure));
                continue;
            }
        };
        let is_shared = all.len() > 1
            && opened.chosen.strategy == Strategy::ImageVolume
            && matches!(launch.find_running_job(&opened.baseline, &opened.jobs), Ok(None))
            // Two requests can differ and still have the same ConfigMap.
            && names.insert(launch.plan.name());
        let member = Member { index, launch, opened };
        if is_shared {
            members.push(member);
        } else {
            singles.push(member.into());
        }
    }
    (members, singles)
}

/// Launches that share a Job.
struct Group<'m> {
    /// The running Job of an earlier pack, or `None` if one has to be created.
    job: Option<Job>,
    members: Vec<Member<'m>>,
}

/// Groups the members by the running Jobs of packs that already fill their ConfigMaps, as after an
/// interrupted batch. The last group has no Job.
async fn adopt_running(mut members: Vec<Member<'_>>) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    let existing = members.iter().find(|member| !member.opened.is_new);
    let jobs = match existing {
        Some(member) => running_packs(member.launch).await,
        None => Vec::new(),
    };
    for job in jobs {
        let is_owner = |member: &mut Member<'_>| {
            let found = std::slice::from_ref(&job);
            matches!(member.launch.find_running_job(&member.opened.baseline, found), Ok(Some(_)))
        };
        let owners: Vec<_> = members.extract_if(.., is_owner).collect();
        if !owners.is_empty() {
            groups.push(Group { job: Some(job), members: owners });
        }
    }
    groups.push(Group { job: None, members });
    groups
}

/// Lists the running Jobs of packs. Returns none if they cannot be listed, because a conflict with
/// one of them leads only to another attempt.
async fn running_packs(launch: &Launch<'_>) -> Vec<Job> {
    let api: Api<Job> = launch.api();
    let doing = "list the Jobs of packs";
    match list_jobs(&api, &launch.retrier(), &label::pack_selector(), doing).await {
        Ok(jobs) => jobs.into_iter().filter(|job| !condition::is_over(job)).collect(),
        Err(failure) => {
            warn!(%failure, "cannot find running packs, so none is adopted");
            Vec::new()
        }
    }
}

/// Runs launches with their own Jobs, one after another, and after `job`. Returns the name of the
/// last Job, unless its launch failed.
async fn run_singles(
    launcher: &Launcher,
    singles: Vec<Single<'_>>,
    mut job: Option<String>,
    ended: Ended<'_>,
) -> Option<String> {
    let mut unreachable = None;
    for Single { index, launch, opened } in singles {
        if let Some(failure) = &unreachable {
            ended(index, Err(Failure::clone(failure)));
            continue;
        }
        if let Some(job) = job.take() {
            launcher.wait_until_finished(launch.plan.namespace(), &job).await;
        }
        let filling = async {
            match opened {
                Some(opened) => Box::pin(launch.fill(opened)).await,
                None => Box::pin(launch.run()).await,
            }
        };
        let result = filling.instrument(launch.span()).await;
        match &result {
            Ok(filled) => job.clone_from(&filled.job),
            Err(failure) if failure.is_cluster_unreachable() => unreachable = Some(failure.clone()),
            Err(_) => {}
        }
        ended(index, result);
    }
    job
}

impl<'m> From<Member<'m>> for Single<'m> {
    fn from(Member { index, launch, opened }: Member<'m>) -> Self {
        Self { index, launch, opened: Some(opened) }
    }
}
