//! [`Description`]: details of one ConfigMap.

use std::cmp::Reverse;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Pod};
use k8s_openapi::api::rbac::v1::Role;
use kube::{Api, Client, ResourceExt, api::ListParams};
use unlade_bundle::{Finding, Limits};
use unlade_config_map::decode;
use unlade_diagnose::last_occurrence;
use unlade_loader as loader;

use super::{item::Item, item::JobRecord, list, object, remove};
use crate::call::{list_all, send_for_value};
use crate::load::load_bundle;
use crate::seal::Seal;
use crate::{DigestSource, Failure, Reason, object::label};

/// The maximum number of Jobs, and of pods, whose events are listed.
const MAX_OBJECTS: usize = 32;

/// The details of one ConfigMap.
#[derive(Debug)]
#[non_exhaustive]
pub struct Description {
    /// The ConfigMap as it appears in a list.
    pub item: Item,
    /// The ConfigMap with its content.
    pub config_map: ConfigMap,
    /// The Jobs that still exist, sorted by name.
    pub jobs: Vec<Job>,
    /// The pods of the Jobs, sorted by name.
    pub pods: Vec<Pod>,
    /// The events about the ConfigMap and the newest of these objects, the oldest first. Kubernetes
    /// keeps events for an hour.
    pub events: Vec<Event>,
    /// The verified digest of the image that the content came from, and how the digest was known.
    /// `None` if no launch verified it, or if the content has changed since.
    pub verified: Option<(String, DigestSource)>,
    /// What was not taken from the bundle as written, both when the ConfigMap was filled and when
    /// it was loaded. An error if the bundle cannot be loaded, as from a ConfigMap that was never
    /// filled.
    pub report: Result<Vec<Finding>, loader::Error>,
    /// The objects that are deleted together with the ConfigMap, as `Kind/name`.
    pub owned: Vec<String>,
    /// The failures to read the other parts of the description.
    pub unreadable: Vec<Failure>,
}

/// Describes `config_map`.
pub(super) async fn describe(client: &Client, config_map: ConfigMap) -> Description {
    let namespace = config_map.metadata.namespace.clone().unwrap_or_default();
    let name = config_map.metadata.name.clone().unwrap_or_default();
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let params = ListParams::default().labels(&label::selector(&name));
    let roles: Api<Role> = Api::namespaced(client.clone(), &namespace);
    let subject = object(&namespace, &name);
    let (list_pods, read_role) =
        (format!("list the pods of {subject}"), format!("read the Role of {subject}"));
    let (jobs, pods, owned, role) = futures::join!(
        list::jobs(client, Some(&namespace), Some(&name)),
        list_all(&list_pods, &params, &pods),
        remove::owned(client, &config_map.metadata),
        send_for_value(&read_role, || roles.get_opt(&name)),
    );
    let mut unreadable = Vec::new();
    let mut jobs = unwrap_or_record(jobs, &mut unreadable);
    let mut pods = unwrap_or_record(pods, &mut unreadable);
    let owned = unwrap_or_record(owned, &mut unreadable);
    let role = unwrap_or_record(role, &mut unreadable);
    let verified = role.and_then(|role| verified(&role, &config_map));
    jobs.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    pods.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let (of_jobs, of_pods) = (newest_uids(&jobs), newest_uids(&pods));
    let n_left_out = jobs.len() + pods.len() - of_jobs.len() - of_pods.len();
    if n_left_out > 0 {
        let message = format!("the events of {n_left_out} older Jobs and pods are left out");
        unreadable.push(Failure::new(Reason::TooLarge, message));
    }
    let uids = config_map.metadata.uid.iter().cloned().chain(of_jobs).chain(of_pods);
    let events = list_events(client, &namespace, &subject, uids.collect()).await;
    let events = unwrap_or_record(events, &mut unreadable);
    let report = load_bundle(&config_map, &loader::Options::default()).map(|loaded| loaded.report);
    Description {
        item: Item::new(&config_map, jobs.iter().map(JobRecord::new).collect()),
        config_map,
        jobs,
        pods,
        events,
        verified,
        report,
        owned,
        unreadable,
    }
}

/// Returns the verified digest if the seal on the Role covers the present content.
fn verified(role: &Role, config_map: &ConfigMap) -> Option<(String, DigestSource)> {
    let seal = Seal::from_role(role, config_map)?;
    let decoded = decode(&[config_map.into()], &Limits::default()).ok()?;
    let image = decoded.source_image?;
    seal.covers(&image, &decoded.digest?).then_some((seal.image_digest, seal.digest_source))
}

/// Returns the uids of the newest objects. A user with permission to create pods can create
/// thousands with the labels of the ConfigMap, and each needs a request of its own.
fn newest_uids<K: ResourceExt>(objects: &[K]) -> Vec<String> {
    let mut objects: Vec<_> = objects.iter().collect();
    objects.sort_by_key(|object| Reverse(object.creation_timestamp().map(|time| time.0)));
    objects.into_iter().take(MAX_OBJECTS).filter_map(K::uid).collect()
}

/// Lists the events about the objects with these uids, the oldest first.
async fn list_events(
    client: &Client,
    namespace: &str,
    subject: &str,
    uids: Vec<String>,
) -> Result<Vec<Event>, Failure> {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let doing = format!("list the events of {subject}");
    let lists = uids.into_iter().map(async |uid| {
        let params = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
        list_all(&doing, &params, &api).await
    });
    let mut events: Vec<_> =
        futures::future::try_join_all(lists).await?.into_iter().flatten().collect();
    events.sort_by_key(last_occurrence);
    Ok(events)
}

/// Returns what was read. Records a failure, and returns the default instead.
fn unwrap_or_record<T: Default>(read: Result<T, Failure>, unreadable: &mut Vec<Failure>) -> T {
    read.unwrap_or_else(|failure| {
        unreadable.push(failure);
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_events_of_the_newest_objects_are_listed() {
        let pod = |n: usize| -> Pod {
            let time = format!("2026-01-01T00:{:02}:{:02}Z", n / 60, n % 60);
            let metadata = json!({"uid": n.to_string(), "creationTimestamp": time});
            serde_json::from_value(json!({ "metadata": metadata })).unwrap()
        };
        let pods: Vec<_> = (0..3_000).map(pod).collect();
        let uids = newest_uids(&pods);
        assert_eq!((uids.len(), uids[0].as_str(), uids[31].as_str()), (32, "2999", "2968"));
        assert_eq!(newest_uids(&pods[..2]), ["1", "0"]);
    }
}
