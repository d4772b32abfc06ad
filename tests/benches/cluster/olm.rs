//! OLM's unpack Job, with the same client.

use std::time::Instant;

use futures::StreamExt;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use unlade_loader::{Options, load_config_maps};
use unlade_tests::olm::{Olm, Unpack};

use crate::{Run, stage::Stage};

/// Unpacks a bundle with the objects of OLM and the images of `olm`, and loads the bundle.
pub(crate) async fn run(stage: &Stage<'_>, olm: &Olm, image: &str, name: &str) -> Run {
    let start = Instant::now();
    let unpack = Unpack { name, namespace: stage.namespace(), bundle: image };
    let config_map: ConfigMap = create(stage, unpack.config_map()).await;
    let uid = config_map.uid().unwrap();
    // One after another, as OLM creates them.
    let [role, account, binding] = unpack.access(&uid);
    create::<Role>(stage, role).await;
    create::<ServiceAccount>(stage, account).await;
    create::<RoleBinding>(stage, binding).await;
    let job: Job = create(stage, unpack.job(olm, &uid)).await;
    let created = start.elapsed();
    until_complete(stage, &job).await;
    let complete = start.elapsed();
    let path = format!("/api/v1/namespaces/{}/configmaps/{name}", stage.namespace());
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let filled: unlade_config_map::ConfigMap = stage.client.request(request).await.unwrap();
    let manifest = load_config_maps(&[filled], &Options::default()).unwrap();
    let total = start.elapsed();
    let phases = vec![("Job created", created), ("Job complete", complete)];
    Run { phases, total, csv_name: manifest.bundle.csv_name }
}

/// Creates an object.
pub(crate) async fn create<K>(stage: &Stage<'_>, object: Value) -> K
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Serialize,
{
    let api: Api<K> = Api::namespaced(stage.client.clone(), stage.namespace());
    let object = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap()
}

/// Waits until a Job is complete.
pub(crate) async fn until_complete(stage: &Stage<'_>, job: &Job) {
    let api: Api<Job> = Api::namespaced(stage.client.clone(), stage.namespace());
    let params = WatchParams::default().fields(&format!("metadata.name={}", job.name_any()));
    let version = job.resource_version().unwrap();
    let mut changes = std::pin::pin!(api.watch(&params, &version).await.unwrap());
    while let Some(change) = changes.next().await {
        let (WatchEvent::Added(job) | WatchEvent::Modified(job)) = change.unwrap() else {
            continue;
        };
        let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
        for condition in conditions.filter(|condition| condition.status == "True") {
            match condition.type_.as_str() {
                "Complete" => return,
                "Failed" => panic!("OLM's Job failed: {condition:?}"),
                _ => {}
            }
        }
    }
    panic!("the watch of OLM's Job ended");
}
