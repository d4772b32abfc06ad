//! Deletes what a launch created.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use tokio::time::{Instant, sleep};
use unlade_config_map::record::LAUNCH;

use super::creation::{Creation, Creations};
use super::judge::condition;
use super::report::Report;
use super::retrier::{PROMPT, Reply, Retrier, send};
use crate::inventory::{foreign, object};
use crate::object::label;
use crate::{Failure, Reason};

/// The interval at which to check whether a Job exists by now.
const APPEARANCE: Duration = Duration::from_millis(200);

/// Deletes the Jobs that are filling a ConfigMap, including those whose creation was not answered
/// yet.
pub(crate) async fn cancel(
    client: &Client,
    creations: &Creations,
    namespace: &str,
    config_map: &str,
) -> Result<Vec<String>, Failure> {
    let report = Report::unobserved();
    let retrier = Retrier::new(&report, PROMPT);
    let api: Api<Job> = Api::namespaced(client.clone(), namespace);
    let params = ListParams::default().labels(&label::selector(config_map));
    let doing = format!("list Jobs in namespace {namespace}");
    let jobs = retrier.send(&doing, || api.list(&params)).await?.expect_value(&doing)?;
    let mut names = Vec::new();
    for job in jobs.items.iter().filter(|job| !condition::is_over(job)) {
        names.extend(delete_job(&api, &retrier, job).await?);
    }
    for creation in creations.pending(namespace, config_map) {
        let Creation { job: name, launch, .. } = &creation;
        if !jobs.items.iter().any(|job| is_of_launch(job, launch) && job.name_any() == *name) {
            let job = wait_for_job(&api, &retrier, name, launch).await?;
            names.extend(delete_job(&api, &retrier, &job).await?);
        }
        creations.remove(&creation);
    }
    Ok(names)
}

/// Deletes a Job with its pods. Returns its name if it still existed.
async fn delete_job(
    api: &Api<Job>,
    retrier: &Retrier<'_>,
    job: &Job,
) -> Result<Option<String>, Failure> {
    let name = job.name_any();
    // Without background propagation, the pods of the Job would remain.
    let params = DeleteParams::background().preconditions(with_uid(job.uid()));
    let doing = format!("delete Job {name}");
    let answer = retrier.send(&doing, || api.delete(&name, &params)).await?;
    Ok(matches!(answer, Reply::Done(_)).then_some(name))
}

/// Returns the metadata of a ConfigMap, or `None` if it does not exist.
///
/// # Errors
///
/// Returns an error if unlade did not create the ConfigMap, or if the API server rejects the
/// request or cannot be reached.
pub(crate) async fn find(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<ObjectMeta>, Failure> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let doing = format!("get {}", object(namespace, name));
    match send(&doing, || api.get_metadata(name)).await?.value() {
        Some(found) if label::is_ours(found.metadata.labels.as_ref()) => Ok(Some(found.metadata)),
        Some(_) => Err(foreign(namespace, name)),
        None => Ok(None),
    }
}

/// Deletes an existing ConfigMap, and thereby everything that it owns. Returns whether it still
/// existed. With `is_dry_run` the API server only checks whether it would delete it.
pub(crate) async fn delete(
    client: &Client,
    namespace: &str,
    found: &ObjectMeta,
    is_dry_run: bool,
) -> Result<bool, Failure> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let name = found.name.as_deref().unwrap_or_default();
    // The precondition protects another ConfigMap that was created in its place.
    let mut params = DeleteParams::background().preconditions(with_uid(found.uid.clone()));
    params.dry_run = is_dry_run;
    let doing = format!("delete {}", object(namespace, name));
    match send(&doing, || api.delete(name, &params)).await? {
        Reply::Done(_) => Ok(true),
        Reply::Missing => Ok(false),
        other => other.expect_value(&doing).map(|_| true),
    }
}

/// Waits for a Job whose creation is in flight.
async fn wait_for_job(
    api: &Api<Job>,
    retrier: &Retrier<'_>,
    name: &str,
    launch: &str,
) -> Result<Job, Failure> {
    let end = Instant::now() + PROMPT;
    let doing = format!("read Job {name}");
    loop {
        match retrier.send(&doing, || api.get(name)).await?.value() {
            Some(job) if is_of_launch(&job, launch) => return Ok(job),
            _ if Instant::now() >= end => {
                let message = format!(
                    "the API server has not answered the request to create the Job {name}: the \
                     Job may still appear"
                );
                return Err(Failure::new(Reason::ApiUnreachable, message));
            }
            _ => sleep(APPEARANCE).await,
        }
    }
}

fn is_of_launch(job: &Job, launch: &str) -> bool {
    job.annotations().get(LAUNCH).is_some_and(|id| id == launch)
}

/// Deletes a ConfigMap of unlade, and thereby everything that it owns. The ConfigMap need not
/// exist.
pub(crate) async fn remove(
    client: &Client,
    namespace: &str,
    config_map: &str,
) -> Result<(), Failure> {
    if let Some(found) = find(client, namespace, config_map).await? {
        delete(client, namespace, &found, false).await?;
    }
    Ok(())
}

fn with_uid(uid: Option<String>) -> Preconditions {
    Preconditions { uid, resource_version: None }
}
