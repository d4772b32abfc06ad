//! Deletes the Jobs that are filling a ConfigMap.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, ResourceExt};
use tokio::time::{Instant, sleep};
use unlade_config_map::protocol::record::LAUNCH;

use super::creation::{Creation, Requested};
use super::job_list::list_jobs;
use super::judge::condition;
use super::lent_secret::delete_secret;
use crate::call::{PROMPT, Reply, Retrier};
use crate::object::label;
use crate::progress::report::Report;
use crate::{Failure, Launcher, Reason};

/// The interval at which to check whether a Job exists by now.
const APPEARANCE: Duration = Duration::from_millis(200);

/// Deletes the Jobs that are filling a ConfigMap, including those whose creation got no response
/// yet, and the Secrets with credentials that no Job owns.
pub(crate) async fn cancel(
    launcher: &Launcher,
    namespace: &str,
    config_map: &str,
) -> Result<Vec<String>, Failure> {
    let Launcher { client, creations, .. } = launcher;
    let report = Report::unobserved();
    let retrier = Retrier::new(&report, PROMPT);
    let api: Api<Job> = Api::namespaced(client.clone(), namespace);
    let doing = format!("list the Jobs in the namespace {namespace}");
    // A request that fails does not prevent the others. The first failure is returned.
    let mut failed = None;
    let mut jobs = Vec::new();
    for selector in label::selectors_of_jobs(config_map) {
        match list_jobs(&api, &retrier, &selector, &doing).await {
            Ok(listed) => jobs.extend(listed),
            Err(failure) => _ = failed.get_or_insert(failure),
        }
    }
    let mut names = Vec::new();
    // Returns whether the request succeeded.
    let mut note = |deleted: Result<Option<String>, Failure>| match deleted {
        Ok(name) => {
            names.extend(name);
            true
        }
        Err(failure) => {
            failed.get_or_insert(failure);
            false
        }
    };
    let is_running = |job: &&Job| !condition::is_over(job) && is_of_config_map(job, config_map);
    for job in jobs.iter().filter(is_running) {
        note(delete_job(&api, &retrier, job).await);
    }
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    for creation in creations.pending(namespace, config_map) {
        let Creation { object, launch, .. } = &creation;
        let is_listed = |name: &String| {
            jobs.iter().any(|job| is_of_launch(job, launch) && job.name_any() == *name)
        };
        let is_undone = match object {
            // No pod of the launch needs the Secret any longer, even if the Job still appears. If
            // the Secret cannot be deleted, a warning is enough: a caller without this permission
            // leaves one behind after each launch.
            Requested::Secret(name) => delete_secret(&secrets, &retrier, name, None).await,
            Requested::Job(name) => {
                is_listed(name) || note(delete_new_job(&api, &retrier, name, launch).await)
            }
        };
        if is_undone {
            creations.remove(&creation);
        }
    }
    failed.map_or(Ok(names), Err)
}

/// Deletes the Job of a creation that got no response yet, as soon as the Job exists.
async fn delete_new_job(
    api: &Api<Job>,
    retrier: &Retrier<'_>,
    name: &str,
    launch: &str,
) -> Result<Option<String>, Failure> {
    let job = wait_for_job(api, retrier, name, launch).await?;
    delete_job(api, retrier, &job).await
}

/// Deletes a Job with its pods. Returns its name if it still existed.
async fn delete_job(
    api: &Api<Job>,
    retrier: &Retrier<'_>,
    job: &Job,
) -> Result<Option<String>, Failure> {
    let name = job.name_any();
    // Without background propagation, the pods of the Job would remain.
    let preconditions = Preconditions { uid: job.uid(), resource_version: None };
    let params = DeleteParams::background().preconditions(preconditions);
    let doing = format!("delete the Job {name}");
    let response = retrier.send(&doing, || api.delete(&name, &params)).await?;
    Ok(matches!(response, Reply::Done(_)).then_some(name))
}

/// Waits for a Job whose creation is in flight.
async fn wait_for_job(
    api: &Api<Job>,
    retrier: &Retrier<'_>,
    name: &str,
    launch: &str,
) -> Result<Job, Failure> {
    let end = Instant::now() + PROMPT;
    let doing = format!("read the Job {name}");
    loop {
        match retrier.send(&doing, || api.get(name)).await?.value() {
            Some(job) if is_of_launch(&job, launch) => return Ok(job),
            _ if Instant::now() >= end => {
                let message = format!(
                    "the API server has not responded to the request to create the Job {name}: the \
                     Job may still appear"
                );
                return Err(Failure::new(Reason::ApiUnreachable, message));
            }
            _ => sleep(APPEARANCE).await,
        }
    }
}

/// Checks whether a Job fills this ConfigMap, alone or in a pack.
fn is_of_config_map(job: &Job, config_map: &str) -> bool {
    job.labels().get(label::UNPACK_REF).is_some_and(|name| name == config_map)
        || job.owner_references().iter().any(|owner| owner.name == config_map)
}

fn is_of_launch(job: &Job, launch: &str) -> bool {
    job.annotations().get(LAUNCH).is_some_and(|id| id == launch)
}
