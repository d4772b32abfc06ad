//! [`Inventory`]: what launches left on a cluster, and how it goes away.

mod describe;
mod item;
mod list;
mod remove;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

pub(crate) use self::list::pages;
pub use self::{
    describe::Description,
    item::{Attempt, End, Item, State},
    remove::Removed,
};
use crate::launch::ask_for;
use crate::{Failure, Reason, object::label};

/// The ConfigMaps of launches, and what belongs to each: reading, and deleting.
///
/// Whatever was made by other means, such as OLM's own ConfigMaps, is not in it.
#[derive(Clone)]
pub struct Inventory {
    client: Client,
}

/// Which ConfigMaps are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// The namespace; all of them without one.
    pub namespace: Option<String>,
    /// A label selector, as the API server takes it: `tier=backend,owner!=me`.
    pub selector: Option<String>,
}

impl Inventory {
    /// The inventory of the cluster of `client`.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// What is in `scope`, by namespace and name. Contents are not fetched.
    ///
    /// # Errors
    ///
    /// What the API server refuses: `list` of ConfigMaps and of Jobs is needed.
    pub async fn list(&self, scope: &Scope) -> Result<Vec<Item>, Failure> {
        list::items(&self.client, scope).await
    }

    /// The same as whole objects, with their contents.
    ///
    /// # Errors
    ///
    /// As [`Inventory::list`].
    pub async fn config_maps(&self, scope: &Scope) -> Result<Vec<ConfigMap>, Failure> {
        list::config_maps(&self.client, scope).await
    }

    /// One ConfigMap, with its content.
    ///
    /// # Errors
    ///
    /// [`Reason::NameTaken`] if it is there and wasn't made by unlade; that it is missing is
    /// `None`.
    pub async fn config_map(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<ConfigMap>, Failure> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let doing = format!("get {}", object(namespace, name));
        match ask_for(&doing, || api.get_opt(name)).await? {
            Some(config_map) if !label::is_ours(config_map.metadata.labels.as_ref()) => {
                Err(foreign(namespace, name))
            }
            found => Ok(found),
        }
    }

    /// All that is known of one ConfigMap: its Jobs, pods, events and what belongs to it.
    ///
    /// # Errors
    ///
    /// As [`Inventory::config_map`]. What may not be read beside the ConfigMap is told of in
    /// [`Description::untold`].
    pub async fn describe(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Description>, Failure> {
        match self.config_map(namespace, name).await? {
            Some(config_map) => {
                Ok(Some(Box::pin(describe::describe(&self.client, config_map)).await))
            }
            None => Ok(None),
        }
    }

    /// What would go with a ConfigMap if it were deleted.
    ///
    /// # Errors
    ///
    /// As [`Inventory::config_map`].
    pub async fn owned(&self, namespace: &str, name: &str) -> Result<Option<Removed>, Failure> {
        remove::look(&self.client, namespace, name).await.map(|found| found.map(|(_, with)| with))
    }

    /// Deletes a ConfigMap; the cluster's garbage collector then takes all that it owns. With
    /// `is_dry_run` the API server only says whether it would.
    ///
    /// # Errors
    ///
    /// As [`Inventory::config_map`], and what the API server refuses.
    pub async fn remove(
        &self,
        namespace: &str,
        name: &str,
        is_dry_run: bool,
    ) -> Result<Option<Removed>, Failure> {
        remove::remove(&self.client, namespace, name, is_dry_run).await
    }
}

pub(crate) fn object(namespace: &str, name: &str) -> String {
    format!("ConfigMap {namespace}/{name}")
}

pub(crate) fn foreign(namespace: &str, name: &str) -> Failure {
    let mut failure = Failure::new(
        Reason::NameTaken,
        format!("{} was not made by unlade", object(namespace, name)),
    );
    failure.hint = None;
    failure.remedies.clear();
    failure
}
