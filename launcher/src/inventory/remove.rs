//! Deletion of a ConfigMap together with the objects that it owns.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Api, Client, api::ListParams};

use super::{list, object};
use crate::{Failure, launch, object::Kind, object::label};

/// The result of a deletion.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removed {
    /// The objects that were deleted together with the ConfigMap, as `Kind/name`. Pods are deleted
    /// with their Jobs.
    pub dependents: Vec<String>,
}

pub(super) async fn remove(
    client: &Client,
    namespace: &str,
    name: &str,
    is_dry_run: bool,
) -> Result<Option<Removed>, Failure> {
    let Some((metadata, removed)) = find(client, namespace, name).await? else {
        return Ok(None);
    };
    let existed = launch::delete(client, namespace, &metadata, is_dry_run).await?;
    Ok(existed.then_some(removed))
}

/// Finds a ConfigMap, and what would be deleted with it.
pub(super) async fn find(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<(ObjectMeta, Removed)>, Failure> {
    let Some(metadata) = launch::find(client, namespace, name).await? else { return Ok(None) };
    // Objects that may not be listed are deleted nevertheless, but not reported.
    let dependents = owned(client, &metadata).await.unwrap_or_default();
    Ok(Some((metadata, Removed { dependents })))
}

/// Lists the objects that the garbage collector deletes with a ConfigMap.
pub(super) async fn owned(
    client: &Client,
    config_map: &ObjectMeta,
) -> Result<Vec<String>, Failure> {
    let (accounts, roles, bindings, jobs) = futures::try_join!(
        list_owned::<ServiceAccount>(client, config_map),
        list_owned::<Role>(client, config_map),
        list_owned::<RoleBinding>(client, config_map),
        list_owned::<Job>(client, config_map),
    )?;
    Ok([accounts, roles, bindings, jobs].concat())
}

async fn list_owned<K: Kind>(
    client: &Client,
    metadata: &ObjectMeta,
) -> Result<Vec<String>, Failure> {
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let name = metadata.name.as_deref().unwrap_or_default();
    let params = ListParams::default().labels(&label::selector(name));
    let doing = format!("list the {}s of {}", K::kind(&()), object(namespace, name));
    let found = list::list_all_metadata(&doing, &params, &api).await?;
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
