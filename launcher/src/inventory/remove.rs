//! Deletion of a ConfigMap together with the objects that it owns.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client};

use super::{foreign, list, object};
use crate::call::{Reply, send};
use crate::{Failure, object::Kind, object::label};

/// Deletes a ConfigMap of unlade, and thereby everything that it owns. Returns whether it existed.
/// With `is_dry_run` the API server only checks whether it would delete it.
pub(crate) async fn remove(
    client: &Client,
    namespace: &str,
    name: &str,
    is_dry_run: bool,
) -> Result<bool, Failure> {
    let Some(found) = find(client, namespace, name).await? else { return Ok(false) };
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    // The precondition protects another ConfigMap that was created in its place.
    let preconditions = Preconditions { uid: found.uid, resource_version: None };
    let mut params = DeleteParams::background().preconditions(preconditions);
    params.dry_run = is_dry_run;
    let doing = format!("delete {}", object(namespace, name));
    match send(&doing, || api.delete(name, &params)).await? {
        Reply::Done(_) => Ok(true),
        Reply::Missing => Ok(false),
        other => other.expect_value(&doing).map(|_| true),
    }
}

/// Returns the metadata of a ConfigMap, or `None` if it does not exist.
///
/// # Errors
///
/// Returns an error if unlade did not create the ConfigMap, or if the API server rejects the
/// request or cannot be reached.
pub(super) async fn find(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<ObjectMeta>, Failure> {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let doing = format!("read {}", object(namespace, name));
    match send(&doing, || api.get_metadata(name)).await?.value() {
        Some(found) if label::is_ours(found.metadata.labels.as_ref()) => Ok(Some(found.metadata)),
        Some(_) => Err(foreign(namespace, name)),
        None => Ok(None),
    }
}

/// Lists the objects that the garbage collector deletes with a ConfigMap, except Secrets
/// ([`Inventory::owned`](super::Inventory::owned)).
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
