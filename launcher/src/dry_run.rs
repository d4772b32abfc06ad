//! What a launch would make, as the API server would take it.

use kube::{Api, Client, ResourceExt, api::PostParams};
use serde_json::Value;

use crate::launch::{Answer, ask, ask_for};
use crate::{
    Failure, Launcher, Reason, Request,
    object::{Facts, Kind, Plan, assigns_uids},
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
        let doing = format!("read namespace {}", request.namespace);
        let namespace = ask_for(&doing, || namespaces.get(&request.namespace)).await.ok();
        let assigns_uids = namespace.is_some_and(|namespace| assigns_uids(&namespace));
        let mut facts = Facts { assigns_uids, ..Facts::default() };
        let doing = "find out whether the cluster has image volumes";
        let chosen = ask_for(doing, || self.volumes.choose(client, &plan, &facts)).await?;
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
async fn create<K: Kind>(client: &Client, object: &K) -> Result<K, Failure> {
    let namespace = object.namespace().unwrap_or_default();
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let name = object.name_any();
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let kind = K::kind(&());
    let doing = format!("create {kind} {namespace}/{name}");
    let mut answer = match ask(&doing, || api.create(&params, object)).await? {
        Answer::Exists => {
            ask_for(&format!("read {kind} {namespace}/{name}"), || api.get(&name)).await?
        }
        // Who may not bind just any role has to have what is in this one, and it is looked up, but
        // a dry run hasn't made it.
        Answer::Missing if kind == "RoleBinding" => object.clone(),
        answer => answer.expected(&doing)?,
    };
    answer.meta_mut().managed_fields = None;
    Ok(answer)
}
