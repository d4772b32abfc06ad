//! Paginated lists of ConfigMaps and Jobs.

use std::collections::BTreeSet;
use std::fmt::Debug;

use k8s_openapi::api::{batch::v1::Job, core::v1::ConfigMap};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Client, ResourceExt,
    api::{ListParams, ObjectList},
    core::PartialObjectMeta,
};
use serde::de::DeserializeOwned;

use super::{Scope, item::Item, item::JobsOf, object};
use crate::call::{Reply, send};
use crate::{
    Failure,
    object::{
        Kind,
        label::{self, UNPACK_REF},
    },
};

/// The page size of kubectl.
const PAGE: u32 = 500;

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
    let mut items: Vec<_> = config_maps
        .iter()
        .map(|config_map| {
            let metadata = config_map.metadata.clone();
            let jobs = jobs.get(&key(&metadata)).map_or(&[][..], Vec::as_slice);
            Item::new(&ConfigMap { metadata, ..ConfigMap::default() }, jobs)
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
    found.sort_by_key(|config_map| key(&config_map.metadata));
    Ok(found)
}

/// Lists the Jobs of all ConfigMaps, or of one. A Job of a pack belongs to several.
pub(super) async fn jobs(
    client: &Client,
    namespace: Option<&str>,
    config_map: Option<&str>,
) -> Result<JobsOf, Failure> {
    let api: Api<Job> = api(client, namespace);
    let selectors = match config_map {
        Some(name) => label::selectors_of_jobs(name).to_vec(),
        None => vec![label::SELECTOR.to_owned()],
    };
    let mut jobs = JobsOf::new();
    let doing = match (namespace, config_map) {
        (Some(namespace), Some(name)) => format!("list the Jobs of {}", object(namespace, name)),
        _ => format!("list the {}", objects("Jobs", namespace)),
    };
    let mut found = Vec::new();
    for selector in selectors {
        found.extend(list_all(&doing, &ListParams::default().labels(&selector), &api).await?);
    }
    for job in found {
        let namespace = job.metadata.namespace.clone().unwrap_or_default();
        let owners = job.owner_references().iter().map(|owner| &owner.name);
        let names: BTreeSet<_> = job.labels().get(UNPACK_REF).into_iter().chain(owners).collect();
        for name in names.into_iter().filter(|name| config_map.is_none_or(|it| it == *name)) {
            jobs.entry((namespace.clone(), name.clone())).or_default().push(job.clone());
        }
    }
    Ok(jobs)
}

/// Lists all objects, page by page. `doing` describes the request and completes "failed to" in
/// messages.
pub(crate) async fn list_all<K: Clone + Debug + DeserializeOwned>(
    doing: &str,
    params: &ListParams,
    api: &Api<K>,
) -> Result<Vec<K>, Failure> {
    pages(doing, params, async |page| api.list(&page).await).await?.expect_value(doing)
}

/// Lists the metadata of all objects, as [`list_all`] does.
pub(super) async fn list_all_metadata<K: Kind>(
    doing: &str,
    params: &ListParams,
    api: &Api<K>,
) -> Result<Vec<PartialObjectMeta<K>>, Failure> {
    pages(doing, params, async |page| api.list_metadata(&page).await).await?.expect_value(doing)
}

/// Returns all pages of a list, or [`Reply::Missing`] if the API server does not know the kind.
/// `doing` is that of [`list_all`].
pub(crate) async fn pages<K: Clone>(
    doing: &str,
    params: &ListParams,
    page: impl AsyncFn(ListParams) -> Result<ObjectList<K>, kube::Error>,
) -> Result<Reply<Vec<K>>, Failure> {
    let mut params = params.clone().limit(PAGE);
    let mut all = Vec::new();
    loop {
        let request_page = async || match page(params.clone()).await {
            Err(kube::Error::Api(status)) if status.code == 410 && params.limit.is_some() => {
                Ok(None)
            }
            list => list.map(Some),
        };
        let response = send(doing, request_page).await?;
        if matches!(response, Reply::Missing) {
            return Ok(Reply::Missing);
        }
        if let Some(list) = response.expect_value(doing)? {
            all.extend(list.items);
            params.continue_token = list.metadata.continue_.filter(|token| !token.is_empty());
            if params.continue_token.is_none() {
                return Ok(Reply::Done(all));
            }
        } else {
            // The continue token has expired. A list without pages is always complete.
            all.clear();
            params.limit = None;
            params.continue_token = None;
        }
    }
}

fn key(metadata: &ObjectMeta) -> (String, String) {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
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
