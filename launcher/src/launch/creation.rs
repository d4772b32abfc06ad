//! Creates objects that this launch recognises as its own, even if the response to their creation
//! is lost.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use kube::api::PostParams;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use unlade_format::record::LAUNCH;

use super::Launch;
use super::patience::Answer;
use crate::Failure;

/// The outcome of creating an object.
pub(super) enum Created<K> {
    /// This launch created it.
    Own(K),
    /// Someone else created it; `None` if it no longer exists.
    Theirs(Option<K>),
}

/// A Job whose creation was requested but not answered yet.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Creation {
    pub(super) namespace: String,
    pub(super) config_map: String,
    pub(super) job: String,
    /// The id of the launch.
    pub(super) launch: String,
}

/// The unanswered creations of all launches of one launcher. The creation of a dropped launch is
/// kept, because its request may still be in flight.
#[derive(Debug, Default)]
pub(crate) struct Creations(Mutex<BTreeSet<Creation>>);

impl Creations {
    /// Removes and returns the creations for a ConfigMap.
    pub(super) fn take(&self, namespace: &str, config_map: &str) -> BTreeSet<Creation> {
        let is_for = |it: &Creation| it.namespace == namespace && it.config_map == config_map;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = all.iter().filter(|it| is_for(it)).cloned().collect();
        all.retain(|it| !is_for(it));
        taken
    }

    fn insert(&self, creation: Creation) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(creation);
    }

    fn remove(&self, creation: &Creation) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(creation);
    }
}

impl Launch<'_> {
    /// Creates an object that carries the id of this launch.
    pub(super) async fn create<K>(&self, mut object: K) -> Result<Created<K>, Failure>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        let api = self.api::<K>();
        let patience = self.patience();
        let (kind, name) = (K::kind(&()), object.name_any());
        object.annotations_mut().insert(LAUNCH.to_owned(), self.id.clone());
        let doing = format!("create {kind} {name}");
        let params = PostParams::default();
        let answer = patience.ask(&doing, || api.create(&params, &object)).await?;
        if !matches!(answer, Answer::Exists) {
            return Ok(Created::Own(answer.expected(&doing)?));
        }
        let doing = format!("read {kind} {name}");
        let found = patience.ask(&doing, || api.get(&name)).await?.done();
        Ok(match found {
            Some(found) if found.annotations().get(LAUNCH) == Some(&self.id) => Created::Own(found),
            found => Created::Theirs(found),
        })
    }

    /// Creates a Job. [`Launcher::cancel`](crate::Launcher::cancel) knows about it even before the
    /// API server has answered.
    pub(super) async fn create_job(&self, job: Job) -> Result<Created<Job>, Failure> {
        let creation = Creation {
            namespace: self.request.namespace.clone(),
            config_map: self.plan.name().to_owned(),
            job: job.name_any(),
            launch: self.id.clone(),
        };
        self.creations.insert(creation.clone());
        let created = Box::pin(self.create(job)).await;
        self.creations.remove(&creation);
        created
    }
}
