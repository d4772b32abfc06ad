//! Creates objects that this launch recognises as its own, even if the response to their creation
//! is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt;
use kube::api::PostParams;
use tokio::time::Instant;
use unlade_config_map::protocol::record::LAUNCH;

use super::Launch;
use crate::call::{Reply, Retrier, create};
use crate::{Failure, object::Kind};

/// The outcome of creating an object.
pub(super) enum Created<K> {
    /// This launch created it.
    Own(K),
    /// Someone else created it; `None` if it no longer exists.
    Theirs(Option<K>),
}

/// The time after which the API server no longer carries out a request without a response. It is
/// longer than the launcher waits for a response, and longer than the API server processes a
/// request.
const SETTLED: Duration = Duration::from_mins(2);

/// An object whose creation was requested, and that no list of the Jobs leads to yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Creation {
    pub(super) namespace: String,
    pub(super) config_maps: Vec<String>,
    /// The id of the launch.
    pub(super) launch: String,
    pub(super) object: Requested,
}

/// The name of an object whose creation was requested. A Secret comes before the Job, because its
/// deletion need not wait for anything.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Requested {
    /// A Secret with credentials, until it is deleted or the Job owns it.
    Secret(String),
    /// A Job, until there is a response.
    Job(String),
}

/// The creations that have to be undone if their launch is cancelled, of all launches of one
/// launcher, and when the launch stopped taking care of them. The creation of a dropped launch is
/// kept for some time, because its request may still be in flight.
#[derive(Debug, Default)]
pub(crate) struct Creations(Mutex<BTreeMap<Creation, Option<Instant>>>);

/// A creation while its launch takes care of it.
#[derive(Debug)]
pub(super) struct Live {
    creations: Arc<Creations>,
    creation: Creation,
}

impl Live {
    /// Forgets the creation, because nothing of it has to be undone.
    pub(super) fn settle(self) {
        self.creations.remove(&self.creation);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let Some(end) = self.creations.unsettled().get_mut(&self.creation) {
            *end = Some(Instant::now());
        }
    }
}

impl Creations {
    /// Returns the creations for a ConfigMap that a cancelled launch leaves behind.
    pub(super) fn pending(&self, namespace: &str, config_map: &str) -> Vec<Creation> {
        let is_for = |it: &&Creation| {
            it.namespace == namespace && it.config_maps.iter().any(|name| name == config_map)
        };
        self.unsettled().keys().filter(is_for).cloned().collect()
    }

    /// Removes a creation whose outcome is known.
    pub(super) fn remove(&self, creation: &Creation) {
        self.unsettled().remove(creation);
    }

    fn unsettled(&self) -> MutexGuard<'_, BTreeMap<Creation, Option<Instant>>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, end| end.is_none_or(|end| end.elapsed() < SETTLED));
        all
    }
}

impl Launch<'_> {
    /// Makes an object known to [`Launcher::cancel`](crate::Launcher::cancel), even before the API
    /// server has responded to its creation.
    pub(super) fn announce(&self, object: Requested) -> Live {
        let creations = Arc::clone(&self.launcher.creations);
        let creation = Creation {
            namespace: self.request.namespace.clone(),
            config_maps: self.plan.config_maps(),
            launch: self.id.clone(),
            object,
        };
        creations.unsettled().insert(creation.clone(), None);
        Live { creations, creation }
    }

    /// Creates an object that carries the id of this launch.
    pub(super) async fn create<K: Kind>(&self, object: K) -> Result<Created<K>, Failure> {
        self.create_with(&self.retrier(), object).await
    }

    /// Does the same with this retrier.
    pub(super) async fn create_with<K: Kind>(
        &self,
        retrier: &Retrier<'_>,
        mut object: K,
    ) -> Result<Created<K>, Failure> {
        let api = self.api::<K>();
        let (kind, name) = (K::kind(&()), object.name_any());
        object.annotations_mut().insert(LAUNCH.to_owned(), self.id.clone());
        let doing = format!("create the {kind} {name}");
        let params = PostParams::default();
        let response = retrier.send(&doing, || create(&api, &params, &object)).await?;
        if !matches!(response, Reply::Exists) {
            return Ok(Created::Own(response.expect_value(&doing)?));
        }
        let doing = format!("read the {kind} {name}");
        let found = retrier.send(&doing, || api.get(&name)).await?.value();
        Ok(match found {
            Some(found) if found.annotations().get(LAUNCH) == Some(&self.id) => Created::Own(found),
            found => Created::Theirs(found),
        })
    }

    /// Creates a Job. [`Launcher::cancel`](crate::Launcher::cancel) knows about it even before the
    /// API server has responded.
    pub(super) async fn create_job(
        &self,
        retrier: &Retrier<'_>,
        job: Job,
    ) -> Result<Created<Job>, Failure> {
        let live = self.announce(Requested::Job(job.name_any()));
        let created = Box::pin(self.create_with(retrier, job)).await;
        // The request may still be in flight if it got no response.
        if created.is_ok() || !retrier.had_outage() {
            live.settle();
        }
        created
    }
}
