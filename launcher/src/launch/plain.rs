//! Creates a ConfigMap and a Job with random names, and does not wait for the Job
//! ([`launch_bundle_image`](crate::launch_bundle_image)).

use std::sync::Mutex;

use futures::join;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;

use super::Launch;
use super::creation::Created;
use crate::inventory;
use crate::object::{Facts, Plan};
use crate::progress::report::Report;
use crate::{Failure, Launcher, Name, Request, Strategy, name};

/// The prefix of the ConfigMap's name.
const CONFIG_MAP: &str = "bundle-image-";
/// The prefix of the Job's name, which the name of the ConfigMap follows.
const JOB: &str = "deploy-";

/// Creates the objects of a launch that injects the unpacker. If one fails, the others are deleted
/// again.
pub(crate) async fn plain(
    launcher: &Launcher,
    request: &Request,
) -> Result<(ConfigMap, Job), Failure> {
    loop {
        let name = Name::Given(format!("{CONFIG_MAP}{}", name::random()));
        let request = &Request { name, ..request.clone() };
        let plan = Plan::new(request, &launcher.options)?;
        let report = Report::unobserved();
        let id = name::random();
        let launch = Launch { launcher, request, id, plan, report, lent: Mutex::default() };
        let (config_map, assigns_uids) =
            join!(launch.create(launch.plan.config_map()), launch.assigns_uids());
        let failure = match config_map {
            Ok(Created::Own(config_map)) => {
                let facts = Facts { config_map_uid: config_map.uid(), assigns_uids };
                match Box::pin(launch.create_rest(&facts)).await {
                    Ok(job) => return Ok((config_map, job)),
                    Err(failure) => failure,
                }
            }
            Ok(Created::Theirs(_)) => continue,
            // The ConfigMap may exist nevertheless. It is ours, because nobody else knows its
            // random name.
            Err(failure) => failure,
        };
        // The failure matters more than an object that could not be deleted.
        let _ = inventory::remove(&launcher.client, &request.namespace, launch.plan.name(), false)
            .await;
        return Err(failure);
    }
}

impl Launch<'_> {
    /// Creates the Job, and before it the objects that grant its pod access.
    async fn create_rest(&self, facts: &Facts) -> Result<Job, Failure> {
        self.grant(facts).await?;
        let mut job = self.plan.job(1, Strategy::Inject, facts);
        let name = format!("{JOB}{}", self.plan.name());
        job.metadata.name = Some(name.clone());
        match self.create_job_with_credentials(job, facts).await? {
            Created::Own(job) => Ok(job),
            Created::Theirs(_) => Err(super::name_taken("Job", &name)),
        }
    }
}
