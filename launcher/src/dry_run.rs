//! [`Launcher::dry_run`]: the objects that a launch would create.

use kube::{Api, Client, ResourceExt, api::PostParams};
use serde_json::Value;

use crate::call::{Reply, send, send_for_value};
use crate::{
    Failure, Launcher, Reason, Request,
    object::{Facts, Kind, Plan, assigns_uids},
};

impl Launcher {
    /// Returns the objects that a launch would create, with the defaults of the API server and the
    /// changes of admission. Nothing is stored. An object that already exists is returned as it is.
    /// The Job is that of the first attempt.
    ///
    /// The RoleBinding lacks these defaults and changes if the current user may not bind every
    /// Role. The API server then looks up the Role, which a dry run has not stored.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Launcher::launch`] that the API server reports before a pod runs.
    pub async fn dry_run(&self, request: &Request) -> Result<Vec<Value>, Failure> {
        let plan = Plan::new(request, &self.options)?;
        let client = &self.client;
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
        // A user who may not read the namespace gets the objects for one without assigned uids.
        let doing = format!("read namespace {}", request.namespace);
        let namespace = send_for_value(&doing, || namespaces.get(&request.namespace)).await.ok();
        let assigns_uids = namespace.is_some_and(|namespace| assigns_uids(&namespace));
        let mut facts = Facts { assigns_uids, ..Facts::default() };
        let doing = "find out whether the cluster supports image volumes";
        let chosen = send_for_value(doing, || self.volumes.choose(client, &plan, &facts)).await?;
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

/// Creates `object` as a dry run. Returns the existing object if there is one.
async fn create<K: Kind>(client: &Client, object: &K) -> Result<K, Failure> {
    let namespace = object.namespace().unwrap_or_default();
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let name = object.name_any();
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let kind = K::kind(&());
    let doing = format!("create {kind} {namespace}/{name}");
    let mut answer = match send(&doing, || api.create(&params, object)).await? {
        Reply::Exists => {
            send_for_value(&format!("read {kind} {namespace}/{name}"), || api.get(&name)).await?
        }
        // RBAC escalation check: without `bind`, the caller must hold the Role's own permissions.
        // The API server looks up the Role, which the dry run has not stored.
        Reply::Missing if kind == "RoleBinding" => object.clone(),
        answer => answer.expect_value(&doing)?,
    };
    answer.meta_mut().managed_fields = None;
    Ok(answer)
}
