//! The call from OLM's design of 2019: two objects with random names, and no waiting.
//!
//! Requirements 004.3 to 004.6 of the design (`LaunchBundleImage`) are the reason for it. The
//! programs of unlade do not use it: they launch with [`Launcher`], which waits, and finds earlier
//! launches.

use futures::join;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;

use super::Launch;
use super::creation::Created;
use crate::inventory;
use crate::object::Facts;
use crate::{Failure, Launcher, Name, Options, Request, Strategy, name};

/// The prefix of the ConfigMap's name.
const CONFIG_MAP: &str = "bundle-image-";
/// The prefix of the Job's name, which the name of the ConfigMap follows.
const JOB: &str = "deploy-";

/// Creates a ConfigMap and the Job that fills it from a bundle image, and returns without waiting
/// for the Job.
///
/// `init_image` is the image of `unlade-unpacker`, which an init container copies into the bundle
/// image's container. The names are random: `bundle-image-...` and `deploy-bundle-image-...`. The
/// ConfigMap owns all other objects, so it is enough to delete the ConfigMap.
/// [`Launcher`] waits for the bundle, and reports why a launch failed. It also verifies the image
/// that the pod ran, which this function cannot do.
///
/// # Errors
///
/// Returns an error if a name is invalid, or if the API server rejects an object or cannot be
/// reached for two minutes. The objects that were created are then deleted, if the API server can
/// be reached.
pub async fn launch_bundle_image(
    client: kube::Client,
    bundle_image: &str,
    init_image: &str,
    namespace: &str,
) -> Result<(ConfigMap, Job), Failure> {
    let launcher = Launcher::new(client, Options::new(init_image));
    let request = Request::new(bundle_image, namespace);
    // Boxed because the future is large, and callers hold it in theirs.
    Box::pin(create_all(&launcher, &request)).await
}

/// Creates the objects of a launch that injects the unpacker. If one fails, the others are deleted
/// again.
async fn create_all(launcher: &Launcher, request: &Request) -> Result<(ConfigMap, Job), Failure> {
    loop {
        let name = Name::Given(format!("{CONFIG_MAP}{}", name::random()));
        let request = &Request { name, ..request.clone() };
        let launch = Launch::new(launcher, request, &drop)?;
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
