//! Paginated lists of ConfigMaps and Jobs.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::{batch::v1::Job, core::v1::ConfigMap};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client, ResourceExt as _, api::ListParams, core::PartialObjectMeta};

use super::{Scope, item::Item, item::JobRecord, object};
use crate::call::{list_all, pages};
use crate::{
    Failure,
    object::{
        Kind,
        label::{self, UNPACK_REF},
    },
};

pub(super) async fn items(client: &Client, scope: &Scope) -> Result<Vec<Item>, Failure> {
    let (params, namespace) = (params(scope), scope.namespace.as_deref());
    // The content of each ConfigMap can be a megabyte large, and a list needs only the metadata.
    let config_maps = async {
        let api: Api<ConfigMap> = api(client, namespace);
        let doing = format!("list the {}", objects("ConfigMaps", namespace));
        list_all_metadata(&doing, &params, &api).await
    };
    // The caller's selector cannot apply to the Jobs: they lack labels that were set on the
    // ConfigMap later.
    let jobs = jobs(client, namespace, None);
    let (config_maps, jobs) = futures::try_join!(config_maps, jobs)?;
    let attempts = attempts(&jobs);
    let mut items: Vec<_> = config_maps
        .into_iter()
        .map(|PartialObjectMeta { metadata, .. }| {
            let attempts = attempts.get(&key(&metadata)).cloned().unwrap_or_default();
            Item::new(&ConfigMap { metadata, ..ConfigMap::default() }, attempts)
        })
        .collect();
    items.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    Ok(items)
}

pub(super) async fn config_maps(client: &Client, scope: &Scope) -> Result<Vec<ConfigMap>, Failure> {
    let namespace = scope.namespace.as_deref();
    let api: Api<ConfigMap> = api(client, namespace);
    let doing = format!("list the {}", objects("ConfigMaps", namespace));
    let mut found = list_all(&doing, &params(scope), &api).await?;
    found.sort_by(|a, b| key(&a.metadata).cmp(&key(&b.metadata)));
    Ok(found)
}

/// Lists the Jobs of all ConfigMaps, or of one.
pub(super) async fn jobs(
    client: &Client,
    namespace: Option<&str>,
    config_map: Option<&str>,
) -> Result<Vec<Job>, Failure> {
    let api: Api<Job> = api(client, namespace);
    let selectors = match config_map {
        Some(name) => label::selectors_of_jobs(name).to_vec(),
        None => vec![label::SELECTOR.to_owned()],
    };
    let doing = match (namespace, config_map) {
        (Some(namespace), Some(name)) => format!("list the Jobs of {}", object(namespace, name)),
        _ => format!("list the {}", objects("Jobs", namespace)),
    };
    let mut jobs = Vec::new();
    for selector in selectors {
        jobs.extend(list_all(&doing, &ListParams::default().labels(&selector), &api).await?);
    }
    if let Some(name) = config_map {
        jobs.retain(|job| names_of_config_maps(job).contains(name));
    }
    Ok(jobs)
}

/// Returns the records of the Jobs of each ConfigMap, by the namespace and the name of the
/// ConfigMap. A Job can name tens of thousands of ConfigMaps, so their records share its texts.
fn attempts(jobs: &[Job]) -> BTreeMap<(&str, &str), Vec<JobRecord>> {
    let mut attempts = BTreeMap::<_, Vec<_>>::new();
    for job in jobs {
        let record = JobRecord::new(job);
        let (namespace, _) = key(&job.metadata);
        for name in names_of_config_maps(job) {
            attempts.entry((namespace, name)).or_default().push(record.clone());
        }
    }
    attempts
}

/// Returns the names of the ConfigMaps that a Job belongs to. The Job of a pack has several.
fn names_of_config_maps(job: &Job) -> BTreeSet<&str> {
    let owners = job.owner_references().iter().filter(|owner| owner.kind == "ConfigMap");
    let names = owners.map(|owner| &owner.name);
    job.labels().get(UNPACK_REF).into_iter().chain(names).map(String::as_str).collect()
}

/// Lists the metadata of all objects, as [`list_all`] lists the objects.
pub(super) async fn list_all_metadata<K: Kind>(
    doing: &str,
    params: &ListParams,
    api: &Api<K>,
) -> Result<Vec<PartialObjectMeta<K>>, Failure> {
    pages(doing, params, None, async |page| api.list_metadata(&page).await)
        .await?
        .expect_value(doing)
}

fn key(metadata: &ObjectMeta) -> (&str, &str) {
    let ObjectMeta { namespace, name, .. } = metadata;
    (namespace.as_deref().unwrap_or_default(), name.as_deref().unwrap_or_default())
}

fn params(scope: &Scope) -> ListParams {
    let ours = label::SELECTOR;
    ListParams::default().labels(&match scope.selector.as_deref() {
        Some(selector) if !selector.is_empty() => format!("{ours},{selector}"),
        _ => ours.to_owned(),
    })
}

fn objects(kinds: &str, namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("{kinds} in the namespace {namespace}"),
        None => format!("{kinds} in all namespaces"),
    }
}

fn api<K: Kind>(client: &Client, namespace: Option<&str>) -> Api<K> {
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn config_maps_share_the_texts_of_their_job() {
        let owner = |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "name": name, "uid": "1"});
        let job: Job = serde_json::from_value(json!({"metadata": {
            "namespace": "olm",
            "name": "pack-1",
            "labels": {UNPACK_REF: "a"},
            "ownerReferences": [
                owner("ConfigMap", "a"), owner("ConfigMap", "b"), owner("Secret", "c"),
            ],
        }}))
        .unwrap();
        let jobs = [job];
        let attempts = attempts(&jobs);
        let keys: Vec<_> = attempts.keys().copied().collect();
        assert_eq!(keys, [("olm", "a"), ("olm", "b")]);
        let records: Vec<_> = attempts.values().flatten().collect();
        assert_eq!(records.len(), 2);
        for record in &records {
            assert!(Arc::ptr_eq(&record.job, &records[0].job));
            assert!(Arc::ptr_eq(&record.uid, &records[0].uid));
        }
    }
}
