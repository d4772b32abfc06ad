//! OLM's unpack Job, with the same client.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Instant;

use futures::{StreamExt, future};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use unlade_loader::{Options, load_config_maps};
use unlade_tests::olm::{Olm, Unpack};

use crate::{
    Run,
    stage::{Stage, true_conditions},
};

/// Unpacks a bundle with the objects of OLM and the images of `olm`, and loads the bundle.
pub(crate) async fn run(stage: &Stage<'_>, olm: &Olm, image: &str, name: &str) -> Run {
    let start = Instant::now();
    let job = create_job(stage, olm, image, name).await;
    let created = start.elapsed();
    until_complete(stage, &job).await;
    let complete = start.elapsed();
    let csv_name = load(stage, name).await;
    let total = start.elapsed();
    let phases = vec![("Job created", created), ("Job complete", complete)];
    Run { phases, total, csv_name }
}

/// Unpacks many bundles as OLM's catalog-operator does for one namespace: it creates the objects
/// of one bundle after those of another, and does not wait for any Job before it creates the next.
/// Each bundle is loaded as soon as its Job is complete. Returns the names of the CSVs in the order
/// of the images.
pub(crate) async fn run_all(stage: &Stage<'_>, olm: &Olm, images: &[String]) -> Vec<String> {
    let names: Vec<_> = (0..images.len()).map(|number| format!("bundle-{number}")).collect();
    let create = async {
        for (image, name) in images.iter().zip(&names) {
            create_job(stage, olm, image, name).await;
        }
    };
    let load = async {
        let api: Api<Job> = Api::namespaced(stage.client.clone(), stage.namespace());
        let changes = watcher(api, Config::default()).applied_objects();
        let mut changes = pin!(changes);
        let mut loaded = BTreeMap::new();
        while loaded.len() < names.len() {
            let job = changes.next().await.unwrap().unwrap();
            let name = job.name_any();
            if is_complete(&job) && !loaded.contains_key(&name) {
                let csv_name = self::load(stage, &name).await;
                loaded.insert(name, csv_name);
            }
        }
        loaded
    };
    let ((), mut loaded) = future::join(create, load).await;
    names.iter().map(|name| loaded.remove(name).unwrap()).collect()
}

/// Creates the five objects, one after the other, as OLM does.
async fn create_job(stage: &Stage<'_>, olm: &Olm, image: &str, name: &str) -> Job {
    let unpack = Unpack { name, namespace: stage.namespace(), bundle: image };
    let config_map: ConfigMap = create(stage, unpack.config_map()).await;
    let uid = config_map.uid().unwrap();
    let [role, account, binding] = unpack.access(&uid);
    create::<Role>(stage, role).await;
    create::<ServiceAccount>(stage, account).await;
    create::<RoleBinding>(stage, binding).await;
    create(stage, unpack.job(olm, &uid)).await
}

/// Loads the bundle in a ConfigMap, and returns the name of its CSV.
async fn load(stage: &Stage<'_>, name: &str) -> String {
    let path = format!("/api/v1/namespaces/{}/configmaps/{name}", stage.namespace());
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let filled: unlade_config_map::ConfigMap = stage.client.request(request).await.unwrap();
    load_config_maps(&[filled], &Options::default()).unwrap().bundle.csv_name
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
    let mut changes = pin!(api.watch(&params, &version).await.unwrap());
    while let Some(change) = changes.next().await {
        let (WatchEvent::Added(job) | WatchEvent::Modified(job)) = change.unwrap() else {
            continue;
        };
        if is_complete(&job) {
            return;
        }
    }
    panic!("the watch of OLM's Job ended");
}

fn is_complete(job: &Job) -> bool {
    true_conditions(job).any(|condition| {
        assert!(condition.type_ != "Failed", "OLM's Job failed: {condition:?}");
        condition.type_ == "Complete"
    })
}
