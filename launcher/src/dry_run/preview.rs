//! [`Launcher::dry_run`]: the objects that a launch would create.

use kube::api::PostParams;
use kube::core::DynamicObject;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;

use crate::call::{self, PROMPT, Reply, Retrier, send, send_for_value};
use crate::object::{Erased, Facts, Plan, erase, to_json};
use crate::progress::report::Report;
use crate::{Failure, Launcher, Request, uid};

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
        let report = Report::unobserved();
        let retrier = Retrier::new(&report, PROMPT);
        // If the user cannot read the namespace, it counts as one without assigned uids.
        let assigns_uids =
            uid::is_assigned(client, &retrier, &self.options, &request.namespace).await;
        let mut facts = Facts { assigns_uids, ..Facts::default() };
        let doing = "find out whether the cluster supports image volumes";
        let chosen = send_for_value(doing, || self.volumes.choose(client, &plan, &facts)).await?;
        let config_map = create(client, erase(&plan.config_map())?).await?;
        facts.config_map_uid = config_map.uid();
        let mut objects = vec![config_map];
        for object in plan.other_objects(chosen.strategy, &facts)? {
            objects.push(create(client, object).await?);
        }
        objects.iter().map(to_json).collect()
    }
}

/// Creates an object as a dry run. Returns the existing object if there is one.
async fn create(client: &Client, (resource, object): Erased) -> Result<DynamicObject, Failure> {
    let namespace = object.namespace().unwrap_or_default();
    let api = Api::namespaced_with(client.clone(), &namespace, &resource);
    let name = object.name_any();
    let kind = &resource.kind;
    let doing = format!("create the {kind} {namespace}/{name}");
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let mut response = match send(&doing, || call::create(&api, &params, &object)).await? {
        Reply::Exists => {
            send_for_value(&format!("read the {kind} {namespace}/{name}"), || api.get(&name))
                .await?
        }
        // RBAC escalation check: without `bind`, the caller must hold the Role's own permissions.
        // The API server looks up the Role, which the dry run has not stored.
        Reply::Missing if kind == "RoleBinding" => object,
        response => response.expect_value(&doing)?,
    };
    response.metadata.managed_fields = None;
    Ok(response)
}
