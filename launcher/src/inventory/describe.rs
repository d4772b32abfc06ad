//! [`Description`]: all that is known of one ConfigMap.

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use k8s_openapi::api::rbac::v1::Role;
use k8s_openapi::jiff::Timestamp;
use kube::{Api, Client, api::ListParams};
use unlade_bundle::{Finding, Limits};
use unlade_config_map::decode;
use unlade_loader as loader;

use super::{item::Item, list, object, remove};
use crate::config_map::{load, of_format};
use crate::launch::{ask_for, seal::Seal};
use crate::{
    DigestSource, Failure,
    object::{Kind, label},
};

/// All that is known of one ConfigMap.
#[derive(Debug)]
#[non_exhaustive]
pub struct Description {
    /// What a list tells of it.
    pub item: Item,
    /// The ConfigMap with its content.
    pub config_map: ConfigMap,
    /// The Jobs that are still there, by name.
    pub jobs: Vec<Job>,
    /// Their pods, by name.
    pub pods: Vec<Pod>,
    /// What happened to any of these, the oldest first. Kubernetes keeps events for an hour.
    pub events: Vec<Event>,
    /// The digest of the image that the content was verified to come from, and how that was known;
    /// none if no launch verified it, or it was changed since.
    pub verified: Option<(String, DigestSource)>,
    /// What was not taken from the bundle as written, both when the ConfigMap was filled and when
    /// it is loaded, or why it cannot be loaded. A ConfigMap that was never filled cannot.
    pub report: Result<Vec<Finding>, loader::Error>,
    /// What goes with the ConfigMap when it is deleted, as `Kind/name`.
    pub owned: Vec<String>,
    /// What isn't told above because it couldn't be read.
    pub untold: Vec<Failure>,
}

/// Looks around `config_map`.
pub(super) async fn describe(client: &Client, config_map: ConfigMap) -> Description {
    let namespace = config_map.metadata.namespace.clone().unwrap_or_default();
    let name = config_map.metadata.name.clone().unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let params = ListParams::default().labels(&label::selector(&name));
    let roles: Api<Role> = Api::namespaced(client.clone(), &namespace);
    let of = object(&namespace, &name);
    let (list_pods, read_role) =
        (format!("list the pods of {of}"), format!("read the Role of {of}"));
    let (jobs, pods, owned, role) = futures::join!(
        list::jobs(client, Some(&namespace), Some(&name)),
        listed(&list_pods, &params, &pods),
        remove::owned(client, &config_map.metadata),
        ask_for(&read_role, || roles.get_opt(&name)),
    );
    let mut untold = Vec::new();
    let jobs = or_tell(jobs, &mut untold);
    let mut jobs: Vec<Job> = jobs.into_values().flatten().collect();
    let mut pods = or_tell(pods, &mut untold);
    let owned = or_tell(owned, &mut untold);
    let role = or_tell(role, &mut untold);
    let verified = role.and_then(|role| verified(&role, &config_map));
    jobs.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    pods.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let mut uids = vec![config_map.metadata.uid.clone()];
    uids.extend(jobs.iter().map(|job| job.metadata.uid.clone()));
    uids.extend(pods.iter().map(|pod| pod.metadata.uid.clone()));
    let events = events(client, &namespace, &of, uids.into_iter().flatten().collect()).await;
    let events = or_tell(events, &mut untold);
    let report = load(&config_map, &loader::Options::default()).map(|manifest| manifest.report);
    Description {
        item: Item::new(&config_map, &jobs),
        config_map,
        jobs,
        pods,
        events,
        verified,
        report,
        owned,
        untold,
    }
}

/// What the seal on the Role says of the content that is there.
fn verified(role: &Role, config_map: &ConfigMap) -> Option<(String, DigestSource)> {
    let seal = Seal::of(role, config_map)?;
    let decoded = decode(&[of_format(config_map)], &Limits::default()).ok()?;
    let image = decoded.source_image?;
    seal.covers(&image, &decoded.digest?).then_some((seal.image_digest, seal.digest_source))
}

/// The events of the objects with these uids, the oldest first.
async fn events(
    client: &Client,
    namespace: &str,
    of: &str,
    uids: Vec<String>,
) -> Result<Vec<Event>, Failure> {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let doing = format!("list the events of {of}");
    let lists = uids.into_iter().map(async |uid| {
        let params = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
        listed(&doing, &params, &api).await
    });
    let mut events: Vec<_> =
        futures::future::try_join_all(lists).await?.into_iter().flatten().collect();
    events.sort_by_key(last_seen);
    Ok(events)
}

/// The objects of a list.
async fn listed<K: Kind>(
    doing: &str,
    params: &ListParams,
    api: &Api<K>,
) -> Result<Vec<K>, Failure> {
    list::pages(doing, params, async |page| api.list(&page).await).await?.expected(doing)
}

/// What was read, or nothing where it couldn't be.
fn or_tell<T: Default>(read: Result<T, Failure>, untold: &mut Vec<Failure>) -> T {
    read.unwrap_or_else(|failure| {
        untold.push(failure);
        T::default()
    })
}

/// When an event was last seen.
fn last_seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref().and_then(|series| series.last_observed_time.as_ref());
    series
        .map(|time| time.0)
        .or_else(|| event.last_timestamp.as_ref().map(|time| time.0))
        .or_else(|| event.event_time.as_ref().map(|time| time.0))
        .or_else(|| event.first_timestamp.as_ref().map(|time| time.0))
        .or_else(|| event.metadata.creation_timestamp.as_ref().map(|time| time.0))
}
