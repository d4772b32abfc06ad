//! [`Inventory`]: lists, describes and deletes the objects that launches left on a cluster.

mod describe;
mod item;
mod list;
mod remove;

use derive_setters::Setters;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};

pub(crate) use self::remove::remove;
pub use self::{
    describe::Description,
    item::{Item, JobEnd, JobRecord, State},
};
pub use unlade_diagnose::last_occurrence;

use crate::call::send_for_value;
use crate::{Failure, Reason, object::label};

/// The ConfigMaps of launches, with the objects that belong to each.
///
/// Objects that unlade did not create, such as OLM's own ConfigMaps, are not included.
#[derive(Clone)]
pub struct Inventory {
    client: Client,
}

/// A selection of ConfigMaps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Scope {
    /// The namespace. `None` selects all namespaces.
    pub namespace: Option<String>,
    /// A label selector in the syntax of the API server, such as `tier=backend,owner!=me`.
    pub selector: Option<String>,
}

impl Inventory {
    /// Returns the inventory of the cluster of `client`.
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Lists the ConfigMaps in `scope`, sorted by namespace and name. Does not fetch their content.
    ///
    /// # Errors
    ///
    /// Returns an error if the API server rejects a request or cannot be reached. The caller needs
    /// the verb `list` on ConfigMaps and Jobs.
    pub async fn list(&self, scope: &Scope) -> Result<Vec<Item>, Failure> {
        list::items(&self.client, scope).await
    }

    /// Returns the ConfigMaps in `scope`, with their content.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Inventory::list`].
    pub async fn config_maps(&self, scope: &Scope) -> Result<Vec<ConfigMap>, Failure> {
        list::config_maps(&self.client, scope).await
    }

    /// Returns a ConfigMap with its content, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns [`Reason::NameTaken`] if unlade did not create the ConfigMap.
    pub async fn config_map(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<ConfigMap>, Failure> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let doing = format!("read {}", object(namespace, name));
        match send_for_value(&doing, || api.get_opt(name)).await? {
            Some(config_map) if !label::is_ours(config_map.metadata.labels.as_ref()) => {
                Err(foreign(namespace, name))
            }
            found => Ok(found),
        }
    }

    /// Describes a ConfigMap: its Jobs, pods and events, and the objects that it owns.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Inventory::config_map`]. [`Description::unreadable`] lists what else
    /// could not be read.
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

    /// Returns the objects that would be deleted together with a ConfigMap, as `Kind/name`, or
    /// `None` if the ConfigMap does not exist. Pods are deleted with their Jobs. Objects that the
    /// caller may not list are missing. The Secret of a launch with credentials is always missing:
    /// to list it, the caller would need permission to read all Secrets of the namespace.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Inventory::config_map`].
    pub async fn owned(&self, namespace: &str, name: &str) -> Result<Option<Vec<String>>, Failure> {
        match remove::find(&self.client, namespace, name).await? {
            // Objects that may not be listed are deleted nevertheless, but not reported. The future
            // is boxed because it is large.
            Some(found) => {
                let owned = Box::pin(remove::owned(&self.client, &found)).await;
                Ok(Some(owned.unwrap_or_default()))
            }
            None => Ok(None),
        }
    }

    /// Deletes a ConfigMap of a launch. The cluster's garbage collector then deletes its Jobs with
    /// their pods, its service account, its Role and its RoleBinding, and the Secret of a launch
    /// with credentials. With `is_dry_run` the API server only checks the request. Returns whether
    /// the ConfigMap existed.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Inventory::config_map`], and an error if the API server rejects the
    /// deletion.
    pub async fn remove(
        &self,
        namespace: &str,
        name: &str,
        is_dry_run: bool,
    ) -> Result<bool, Failure> {
        remove::remove(&self.client, namespace, name, is_dry_run).await
    }
}

pub(crate) fn object(namespace: &str, name: &str) -> String {
    format!("the ConfigMap {namespace}/{name}")
}

pub(crate) fn foreign(namespace: &str, name: &str) -> Failure {
    let mut failure = Failure::new(
        Reason::NameTaken,
        format!("{} was not created by unlade", object(namespace, name)),
    );
    failure.hint = None;
    failure.remedies.clear();
    failure
}
