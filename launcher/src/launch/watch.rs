//! [`Watch`]: the observed state of an attempt, which watches keep up to date. Failed watches are
//! restarted.

mod event;
mod seen;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::time::Duration;

use futures::stream::{BoxStream, SelectAll, poll_fn};
use futures::{FutureExt, StreamExt, TryStreamExt};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod};
use kube::runtime::watcher::{self, Config, watcher};
use kube::runtime::{WatchStreamExt, watcher::Event as Change};
use kube::{Api, Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tracing::{debug, debug_span};

use crate::call::{STARTING, backoff, retry_after};
use crate::client::classify_request_error;
use crate::object::{Kind, label};
use crate::{Failure, Reason};

use seen::{apply_keyed, apply_single};

pub(super) use seen::{Presence, Seen, is_over};

/// The duration of one watch in seconds, after which it is restarted. A connection that was
/// silently lost is noticed five seconds later.
const DURATION: u32 = 30;

/// The maximum number of objects in one response to a list. Each may have more than a megabyte.
const PAGE: u32 = 50;

/// How long trouble is remembered. Trouble that persists shows again within this time: a request
/// may take half a minute, and the next one follows two seconds later.
const TROUBLE: Duration = Duration::from_secs(35);

const CONFIG_MAPS: &str = "ConfigMaps";
const EVENTS: &str = "Events";
const JOBS: &str = "Jobs";
const NAMESPACES: &str = "Namespaces";
const PODS: &str = "Pods";

/// The watches of one attempt.
pub(super) struct Watch {
    client: Client,
    namespace: String,
    streams: SelectAll<BoxStream<'static, Update>>,
    /// The uids of the objects whose events are watched.
    events_of: BTreeSet<String>,
    /// Whether the namespace is watched.
    has_namespace: bool,
    /// Lists that are not complete yet.
    listing: Listing,
    /// The kinds that were seen at least once.
    known: BTreeSet<&'static str>,
    /// The name of the ConfigMap in `seen`.
    shown: String,
    /// The other ConfigMaps of a pack, by name.
    hidden: BTreeMap<String, Presence<ConfigMap>>,
    first_denial: Option<Instant>,
    /// When a watch last failed.
    last_trouble: Option<Instant>,
    pub(super) seen: Seen,
}

#[derive(Default)]
struct Listing {
    config_maps: BTreeMap<String, ConfigMap>,
    job: Presence<Job>,
    pods: BTreeMap<String, Pod>,
    namespace: Presence<Namespace>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "each lives for a moment, and most are of that size")]
enum Update {
    ConfigMap(Change<ConfigMap>),
    Job(Change<Job>),
    Pod(Change<Pod>),
    Event(Change<Event>),
    Namespace(Change<Namespace>),
    Error(&'static str, watcher::Error),
}

impl Watch {
    /// Watches ConfigMaps, and the pods of a Job that need not exist yet.
    pub(super) fn start(
        client: &Client,
        namespace: &str,
        config_maps: Vec<String>,
        job: &str,
    ) -> Self {
        let selected = match config_maps.as_slice() {
            [name] => Config::default().fields(&format!("metadata.name={name}")),
            names => Config::default().labels(&label::selector_of_any(names)),
        };
        let mut config_maps = config_maps.into_iter();
        let shown = config_maps.next().unwrap_or_default();
        let mut watch = Self {
            client: client.clone(),
            namespace: namespace.to_owned(),
            streams: SelectAll::new(),
            events_of: BTreeSet::new(),
            has_namespace: false,
            listing: Listing::default(),
            known: BTreeSet::new(),
            shown,
            hidden: config_maps.map(|name| (name, Presence::Unknown)).collect(),
            first_denial: None,
            last_trouble: None,
            seen: Seen::default(),
        };
        watch.add(CONFIG_MAPS, selected, Update::ConfigMap);
        let labels = format!("job-name={job}");
        watch.add(PODS, Config::default().labels(&labels), Update::Pod);
        watch
    }

    /// Puts the ConfigMap with this name into `seen`, in place of another one of the pack.
    pub(super) fn show(&mut self, config_map: &str) {
        if let Some(next) = self.hidden.remove(config_map) {
            let shown = std::mem::replace(&mut self.seen.config_map, next);
            let name = std::mem::replace(&mut self.shown, config_map.to_owned());
            self.hidden.insert(name, shown);
        }
    }

    /// Watches the Job as well. The Job must exist, because a missing one counts as deleted.
    pub(super) fn add_job(&mut self, name: &str) {
        let fields = format!("metadata.name={name}");
        self.add(JOBS, Config::default().fields(&fields), Update::Job);
    }

    /// Watches the events of an object as well.
    pub(super) fn add_events(&mut self, uid: &str) {
        if self.events_of.insert(uid.to_owned()) {
            let fields = format!("involvedObject.uid={uid}");
            self.add(EVENTS, Config::default().fields(&fields), Update::Event);
        }
    }

    /// Watches the namespace as well.
    pub(super) fn add_namespace(&mut self) {
        if !std::mem::replace(&mut self.has_namespace, true) {
            let api: Api<Namespace> = Api::all(self.client.clone());
            let fields = format!("metadata.name={}", self.namespace);
            self.push(NAMESPACES, api, Config::default().fields(&fields), Update::Namespace);
        }
    }

    /// Waits for a change, and applies all changes that have arrived.
    ///
    /// # Errors
    ///
    /// Returns an error if a watch is forbidden, unless it is that of events or of the namespace,
    /// which a launch can do without.
    pub(super) async fn changed(&mut self) -> Result<(), Failure> {
        match self.streams.next().await {
            Some(update) => self.apply(update)?,
            // Unreachable in practice, because the streams of watches never end.
            None => std::future::pending().await,
        }
        while let Some(Some(update)) = self.streams.next().now_or_never() {
            self.apply(update)?;
        }
        Ok(())
    }

    fn add<K>(&mut self, kind: &'static str, config: Config, update: fn(Change<K>) -> Update)
    where
        K: Kind + Send + 'static,
    {
        self.push(kind, Api::namespaced(self.client.clone(), &self.namespace), config, update);
    }

    fn push<K>(
        &mut self,
        kind: &'static str,
        api: Api<K>,
        config: Config,
        update: fn(Change<K>) -> Update,
    ) where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        let waits = backoff::REQUEST.waits();
        let floor = waits.floor();
        let stream = watcher(api, config.timeout(DURATION).page_size(PAGE))
            .inspect_err(move |error| floor.set(refusal(error).map_or(Duration::ZERO, retry_after)))
            .backoff(waits);
        let mut first_denial = None;
        let stream = stream.take_while(move |change| {
            let is_denied = is_dispensable(kind) && change.as_ref().is_err_and(is_denied);
            if !is_denied {
                first_denial = None;
            }
            let mut denied_for = || first_denial.get_or_insert_with(Instant::now).elapsed();
            futures::future::ready(!is_denied || denied_for() < STARTING)
        });
        let updates = stream.map(move |change| match change {
            Ok(change) => update(change),
            Err(error) => Update::Error(kind, error),
        });
        let mut updates = updates.boxed();
        let span = debug_span!("watch", kind);
        let updates = poll_fn(move |context| {
            let _entered = span.enter();
            let update = updates.poll_next_unpin(context);
            if update.is_ready() {
                debug!("received an update");
            }
            update
        });
        self.streams.push(updates.boxed());
    }

    fn apply(&mut self, update: Update) -> Result<(), Failure> {
        let kind = match update {
            Update::ConfigMap(change) => {
                let has_responded = !matches!(change, Change::Init);
                self.apply_config_map(change);
                has_responded.then_some(CONFIG_MAPS)
            }
            Update::Job(change) => {
                let has_responded = !matches!(change, Change::Init);
                if let Change::Apply(job) | Change::InitApply(job) = &change {
                    self.seen.note_job(job);
                }
                apply_single(change, &mut self.seen.job, &mut self.listing.job);
                has_responded.then_some(JOBS)
            }
            Update::Pod(change) => {
                let has_responded = !matches!(change, Change::Init);
                match &change {
                    Change::Apply(pod) => self.seen.note(pod),
                    Change::InitApply(pod) => self.seen.note_listed(pod),
                    Change::Delete(pod) => self.seen.note_deletion(pod),
                    Change::InitDone => self.seen.note_list(&self.listing.pods),
                    Change::Init => {}
                }
                apply_keyed(change, &mut self.seen.pods, &mut self.listing.pods);
                has_responded.then_some(PODS)
            }
            Update::Event(change) => {
                // Deletions are ignored, because the API server deletes events after an hour.
                if let Change::Apply(event) | Change::InitApply(event) = change {
                    self.seen.events.note(event);
                }
                None
            }
            Update::Namespace(change) => {
                apply_single(change, &mut self.seen.namespace, &mut self.listing.namespace);
                None
            }
            Update::Error(kind, error) => return self.trouble(kind, &error),
        };
        if let Some(kind) = kind {
            self.known.insert(kind);
            self.seen.trouble = None;
            self.first_denial = None;
        }
        Ok(())
    }

    fn apply_config_map(&mut self, change: Change<ConfigMap>) {
        let shown = (&self.shown, &mut self.seen.config_map);
        let mut all = self.hidden.iter_mut().chain([shown]);
        let listing = &mut self.listing.config_maps;
        let (name, now) = match change {
            Change::Init => return listing.clear(),
            Change::InitApply(found) => {
                // The list of a pack contains every ConfigMap with such a label.
                if all.any(|(name, _)| *name == found.name_any()) {
                    listing.insert(found.name_any(), found);
                }
                return;
            }
            Change::InitDone => {
                let listed = |name: Option<ConfigMap>| {
                    name.map_or(Presence::Gone, |found| Presence::There(Box::new(found)))
                };
                return all.for_each(|(name, place)| *place = listed(listing.remove(name)));
            }
            Change::Apply(found) => (found.name_any(), Presence::There(Box::new(found))),
            Change::Delete(found) => (found.name_any(), Presence::Gone),
        };
        if let Some((_, place)) = all.find(|(known, _)| **known == name) {
            *place = now;
        }
    }

    /// Forgets trouble that has not occurred again. A watch that has recovered is silent until
    /// something changes.
    pub(super) fn forget_old_trouble(&mut self) {
        if self.last_trouble.is_some_and(|last| last.elapsed() >= TROUBLE) {
            self.seen.trouble = None;
            self.first_denial = None;
            self.last_trouble = None;
        }
    }

    fn trouble(&mut self, kind: &'static str, error: &watcher::Error) -> Result<(), Failure> {
        let doing = format!("watch the {kind} in the namespace {}", self.namespace);
        // A stream that broke off or expired is not trouble yet. The next request shows whether it
        // is.
        let Some(error) = refusal(error) else { return Ok(()) };
        let failure = classify_request_error(error, &doing);
        self.last_trouble = Some(Instant::now());
        let is_denied = failure.reason == Reason::Forbidden;
        if is_denied && is_dispensable(kind) {
            return Ok(());
        }
        if is_denied {
            let first = *self.first_denial.get_or_insert_with(Instant::now);
            if !self.known.contains(kind) || first.elapsed() >= STARTING {
                return Err(failure);
            }
        }
        self.seen.trouble = Some(failure);
        Ok(())
    }
}

/// Checks whether a launch can do without watching this kind.
fn is_dispensable(kind: &str) -> bool {
    [EVENTS, NAMESPACES].contains(&kind)
}

/// Checks whether the error is a 401 or 403.
fn is_denied(error: &watcher::Error) -> bool {
    matches!(refusal(error), Some(kube::Error::Api(status)) if [401, 403].contains(&status.code))
}

/// Returns the error of a list or watch that failed to start.
fn refusal(error: &watcher::Error) -> Option<&kube::Error> {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            Some(error)
        }
        _ => None,
    }
}
