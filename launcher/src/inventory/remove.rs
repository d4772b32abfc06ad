//! Deletion of a ConfigMap with all that it owns.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::{
    Api, Client, Resource,
    api::{DeleteParams, ListParams, Preconditions, PropagationPolicy},
};
use serde::de::DeserializeOwned;

use super::{foreign, list, object, refused};
use crate::{Failure, object::label};

/// What a deletion took.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removed {
    /// What went with the ConfigMap, as `Kind/name`; pods go with their Jobs.
    pub with: Vec<String>,
}

pub(super) async fn remove(
    client: &Client,
    namespace: &str,
    name: &str,
    is_dry_run: bool,
) -> Result<Option<Removed>, Failure> {
    let Some((config_map, removed)) = look(client, namespace, name).await? else {
        return Ok(None);
    };
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let params = DeleteParams {
        dry_run: is_dry_run,
        propagation_policy: Some(PropagationPolicy::Background),
        // Not another one that has come to its place.
        preconditions: Some(Preconditions {
            uid: config_map.metadata.uid.clone(),
            resource_version: None,
        }),
        ..DeleteParams::default()
    };
    match api.delete(name, &params).await {
        Ok(_) => Ok(Some(removed)),
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(error) => Err(refused("delete", &object(namespace, name), &error)),
    }
}

/// A ConfigMap, of which only the metadata is fetched, and what would go with it.
pub(super) async fn look(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<(ConfigMap, Removed)>, Failure> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = api.get_metadata_opt(name).await;
    let found = found.map_err(|error| refused("get", &object(namespace, name), &error))?;
    let Some(found) = found else { return Ok(None) };
    let config_map = ConfigMap { metadata: found.metadata, ..ConfigMap::default() };
    if !label::is_ours(config_map.metadata.labels.as_ref()) {
        return Err(foreign(namespace, name));
    }
    // What may not be listed is deleted all the same; it only isn't told of.
    let with = owned(client, &config_map).await.unwrap_or_default();
    Ok(Some((config_map, Removed { with })))
}

/// What the garbage collector takes with `config_map`.
pub(super) async fn owned(
    client: &Client,
    config_map: &ConfigMap,
) -> Result<Vec<String>, kube::Error> {
    let (accounts, roles, bindings, jobs) = futures::try_join!(
        of_kind::<ServiceAccount>(client, config_map),
        of_kind::<Role>(client, config_map),
        of_kind::<RoleBinding>(client, config_map),
        of_kind::<Job>(client, config_map),
    )?;
    Ok([accounts, roles, bindings, jobs].concat())
}

async fn of_kind<K>(client: &Client, config_map: &ConfigMap) -> Result<Vec<String>, kube::Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned,
{
    let metadata = &config_map.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let selector = label::selector(metadata.name.as_deref().unwrap_or_default());
    let params = ListParams::default().labels(&selector);
    let found = list::pages(&params, async |page| api.list_metadata(&page).await).await?;
    let is_owned = |owners: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference]| {
        owners.iter().any(|owner| Some(&owner.uid) == metadata.uid.as_ref())
    };
    Ok(found
        .iter()
        .filter(|found| is_owned(found.metadata.owner_references.as_deref().unwrap_or_default()))
        .filter_map(|found| found.metadata.name.as_ref())
        .map(|name| format!("{}/{name}", K::kind(&())))
        .collect())
}
