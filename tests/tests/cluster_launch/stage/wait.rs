//! Waits for conditions of the cluster.

use std::fmt::Debug;
use std::future::pending;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use super::{PATIENCE, Stage};

/// The interval at which a condition that cannot be watched is checked.
const INTERVAL: Duration = Duration::from_millis(250);

impl Stage<'_> {
    /// Waits until an object meets a condition.
    pub(crate) async fn wait<K>(&self, name: &str, is_wanted: impl Fn(&K) -> bool) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + 'static,
    {
        let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
        self.wait_for(config, name, is_wanted).await
    }

    /// Waits until a Job has a pod.
    pub(crate) async fn wait_for_pod_of(&self, job: &str) -> Pod {
        let config = watcher::Config::default().labels(&format!("job-name={job}"));
        self.wait_for(config, &format!("the pod of {job}"), |_: &Pod| true).await
    }

    /// Waits until one of these objects meets a condition.
    pub(crate) async fn wait_for<K>(
        &self,
        config: watcher::Config,
        what: &str,
        is_wanted: impl Fn(&K) -> bool,
    ) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Send
            + 'static,
    {
        let mut last = None;
        let found = async {
            // A watch that fails is started again.
            let objects = watcher(self.api::<K>(), config).default_backoff().applied_objects();
            let mut objects = pin!(objects.filter_map(async |object| object.ok()));
            while let Some(object) = objects.next().await {
                if is_wanted(&object) {
                    return object;
                }
                last = Some(object);
            }
            pending().await
        };
        let found = timeout(PATIENCE, found).await;
        found.unwrap_or_else(|_| panic!("{what} is not as wanted: {last:?}"))
    }

    /// Waits until no object of a kind has a name with this prefix.
    pub(crate) async fn wait_until_none<K>(&self, prefix: &str)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let is_left = |objects: Vec<K>| objects.iter().any(|it| it.name_any().starts_with(prefix));
        let is_gone = async {
            while is_left(self.list::<K>().await) {
                sleep(INTERVAL).await;
            }
        };
        let is_gone = timeout(PATIENCE, is_gone).await;
        is_gone.unwrap_or_else(|_| panic!("{} {prefix}... is still there", K::kind(&())));
    }

    /// Waits until the API server refuses such an object in a namespace, because a new policy takes
    /// effect a moment later.
    pub(crate) async fn wait_until_denied<K>(&self, namespace: &str, object: &K)
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Serialize,
    {
        self.wait_until_answered(namespace, object, |response| response.is_err()).await;
    }

    /// Waits until the response to the dry run of an object meets the condition.
    pub(crate) async fn wait_until_answered<K>(
        &self,
        namespace: &str,
        object: &K,
        is_wanted: impl Fn(kube::Result<K>) -> bool,
    ) where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned
            + Serialize,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let params = PostParams { dry_run: true, ..PostParams::default() };
        let is_answered = async {
            while !is_wanted(api.create(&params, object).await) {
                sleep(INTERVAL).await;
            }
        };
        let is_answered = timeout(PATIENCE, is_answered).await;
        is_answered.unwrap_or_else(|_| panic!("{} is taken as before", K::kind(&())));
    }
}
