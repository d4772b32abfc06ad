//! ConfigMap and Job with random names, without waiting for anything.

use futures::channel::mpsc::unbounded;
use futures::join;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Client, ResourceExt};

use super::patience::Answer;
use super::report::Report;
use super::{Launch, removal};
use crate::object::{Facts, Plan};
use crate::strategy::ImageVolumes;
use crate::{Failure, Name, Options, Request, Strategy, name};

/// What the name of the ConfigMap begins with.
const CONFIG_MAP: &str = "bundle-image-";
/// What the name of the Job begins with; the ConfigMap's comes after it.
const JOB: &str = "deploy-";

/// Makes the objects, injecting the unpacker; all or none of them stay.
pub(crate) async fn plain(
    client: &Client,
    options: &Options,
    request: &Request,
) -> Result<(ConfigMap, Job), Failure> {
    let volumes = ImageVolumes::default();
    loop {
        let name = Name::Given(format!("{CONFIG_MAP}{}", name::random()));
        let request = &Request { name, ..request.clone() };
        let plan = Plan::new(request, options)?;
        let report = Report::start(unbounded().0);
        let launch = Launch { client, volumes: &volumes, options, request, plan, report };
        let (config_map, assigns_uids) = join!(launch.make(), launch.assigns_uids());
        let Some(config_map) = config_map? else { continue };
        let facts = Facts { config_map_uid: config_map.uid(), assigns_uids };
        return match launch.make_rest(&facts).await {
            Ok(job) => Ok((config_map, job)),
            Err(failure) => {
                // The failure is what matters, not that something couldn't be taken away.
                let _ = removal::remove(client, &request.namespace, launch.plan.name()).await;
                Err(failure)
            }
        };
    }
}

impl Launch<'_> {
    /// The ConfigMap; none if the name is taken.
    async fn make(&self) -> Result<Option<ConfigMap>, Failure> {
        let api = self.api::<ConfigMap>();
        let object = self.plan.config_map();
        let doing = format!("create ConfigMap {}", self.plan.name());
        let params = PostParams::default();
        match self.patience().ask(&doing, || api.create(&params, &object)).await? {
            Answer::Exists => Ok(None),
            answer => answer.expected(&doing).map(Some),
        }
    }

    /// The Job, and before it what it is allowed.
    async fn make_rest(&self, facts: &Facts) -> Result<Job, Failure> {
        self.grant(facts).await?;
        let api = self.api::<Job>();
        let mut object = self.plan.job(1, Strategy::Inject, facts);
        object.metadata.name = Some(format!("{JOB}{}", self.plan.name()));
        let doing = format!("create Job {}", object.name_any());
        let params = PostParams::default();
        self.patience().ask(&doing, || api.create(&params, &object)).await?.expected(&doing)
    }
}
