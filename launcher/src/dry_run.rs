//! What a launch would make, as the API server would take it.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt, api::PostParams};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    Failure, Launcher, Reason, Request, failure,
    object::{Facts, Plan, assigns_uids},
};

impl Launcher {
    /// The objects that a launch would make, with the API server's defaults and whatever its
    /// admission changes; nothing is kept. An object that is there already is given as it is. The
    /// RoleBinding is without them for whoever may not bind just any Role: its Role is looked up
    /// then, and a dry run hasn't made it. The Job is the first attempt.
    ///
    /// # Errors
    ///
    /// As [`Launcher::launch`], as far as the API server says so before anything runs.
    pub async fn dry_run(&self, request: &Request) -> Result<Vec<Value>, Failure> {
        let plan = Plan::new(request, &self.options)?;
        let client = &self.client;
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
        // Who may not read it isn't told.
        let namespace = namespaces.get(&request.namespace).await.ok();
        let assigns_uids = namespace.is_some_and(|namespace| assigns_uids(&namespace));
        let mut facts = Facts { assigns_uids, ..Facts::default() };
        let chosen = self.volumes.choose(client, &plan, &facts).await;
        let chosen = chosen.map_err(|error| {
            failure::of_api(&error, "find out whether the cluster has image volumes")
        })?;
        let config_map = create(client, &plan.config_map()).await?;
        facts.config_map_uid = config_map.uid();
        let mut objects = vec![serde_json::to_value(config_map)];
        if let Some(access) = plan.access(&facts) {
            objects.push(serde_json::to_value(create(client, &access.service_account).await?));
            objects.push(serde_json::to_value(create(client, &access.role).await?));
            objects.push(serde_json::to_value(create(client, &access.role_binding).await?));
        }
        let job = plan.job(1, chosen.strategy, &facts);
        objects.push(serde_json::to_value(create(client, &job).await?));
        let objects: Result<_, _> = objects.into_iter().collect();
        objects.map_err(|error| Failure::new(Reason::Internal, error))
    }
}

/// What the API server would make of `object`, or what is there in its place.
async fn create<K>(client: &Client, object: &K) -> Result<K, Failure>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + Serialize
        + DeserializeOwned,
{
    let namespace = object.namespace().unwrap_or_default();
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let name = object.name_any();
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let mut answer = match api.create(&params, object).await {
        Err(kube::Error::Api(status)) if status.is_already_exists() => api.get(&name).await,
        // Of a RoleBinding: who may not bind just any role has to have what is in this one, and
        // it is looked up, but a dry run hasn't made it.
        Err(kube::Error::Api(status)) if status.code == 404 && K::kind(&()) == "RoleBinding" => {
            Ok(object.clone())
        }
        answer => answer,
    }
    .map_err(|error| {
        failure::of_api(&error, &format!("create {} {namespace}/{name}", K::kind(&())))
    })?;
    answer.meta_mut().managed_fields = None;
    Ok(answer)
}
