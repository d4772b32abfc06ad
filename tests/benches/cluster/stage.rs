//! A namespace of a testbed, images in its registry, and a client.

use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};
use tokio::time::{Instant, sleep};
use unlade_bundle::Limits;
use unlade_oci::Platform;
use unlade_oci::build::{Entry, bundle};
use unlade_tests::cluster::{Cluster, Namespace};

use crate::{Method, tool::Tools};

/// How long the cluster may take to delete the objects of a launch.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long the cluster may take to clear up after many launches.
const PATIENCE_FOR_MANY: Duration = Duration::from_mins(10);
/// The ConfigMap that Kubernetes creates in each namespace.
const AUTHORITY: &str = "kube-root-ca.crt";
/// How often to check whether they are deleted.
const INTERVAL: Duration = Duration::from_millis(250);
/// The environment of the measurement.
pub(crate) struct Stage<'c> {
    cluster: &'c Cluster,
    namespace: Namespace<'c>,
    pub(crate) client: Client,
    pub(crate) tools: Tools,
}

impl Stage<'_> {
    /// Opens the environment, and runs the measurement in it.
    pub(crate) fn open(run: impl AsyncFnOnce(&Stage<'_>)) {
        let cluster = Cluster::open_testbed();
        let tools = Tools::open(&cluster);
        let namespace = cluster.namespace("bench");
        cluster.testbed().enter().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let kubeconfig = Kubeconfig::read_from(cluster.testbed().kubeconfig()).unwrap();
            let options = KubeConfigOptions::default();
            let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
            // `Launcher::new` requires this.
            config.default_retry = false;
            let client = Client::try_from(config).unwrap();
            run(&Stage { cluster: &cluster, namespace, client, tools }).await;
        });
    }

    /// Returns the name of the namespace.
    pub(crate) fn namespace(&self) -> &str {
        self.namespace.name()
    }

    /// Pushes the image of a bundle to the registry, and returns its name with the digest.
    pub(crate) fn push(&self, name: &str, directory: &Path) -> String {
        let image = bundle::image(directory, Platform::host(), &Limits::default()).unwrap();
        self.cluster.push(&image, &format!("bench/{name}:1"))
    }

    /// Pushes `n` images of these bundles, which differ from those of any other `round`, and
    /// returns their names with the digests.
    pub(crate) fn push_many(&self, directories: &[PathBuf], round: &str, n: usize) -> Vec<String> {
        let push = |(number, directory): (usize, &PathBuf)| {
            let mut image = bundle::image(directory, Platform::host(), &Limits::default()).unwrap();
            // Another file in the layer, so that the node has to pull all of it.
            let layer = image.layers.first_mut().unwrap();
            layer.entries.push(Entry::file("round", format!("{round}-{number}")));
            self.cluster.push(&image, &format!("bench/{round}-{number}:1"))
        };
        directories.iter().cycle().take(n).enumerate().map(push).collect()
    }

    /// Returns images with the same programs as in [`Stage::tools`], which no node has.
    pub(crate) fn renew_tools(&self, method: Method, round: &str) -> Tools {
        self.tools.renew(self.cluster, method, round)
    }

    /// Waits until the Job of a launch has ended, deletes everything that the launch created, and
    /// waits until it is gone, so that it does not slow down the next launch.
    pub(crate) async fn clear(&self, name: &str) {
        let end = Instant::now() + PATIENCE;
        self.until_jobs_end(end).await;
        let config_maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), self.namespace());
        config_maps.delete(name, &DeleteParams::default()).await.unwrap();
        self.until_empty(end).await;
    }

    /// Does the same for all launches of a batch.
    pub(crate) async fn clear_all(&self) {
        let end = Instant::now() + PATIENCE_FOR_MANY;
        self.until_jobs_end(end).await;
        let config_maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), self.namespace());
        // The certificate authority of the API server has no owner, and stays.
        for config_map in config_maps.list_metadata(&ListParams::default()).await.unwrap() {
            let name = config_map.name_any();
            if name != AUTHORITY {
                config_maps.delete(&name, &DeleteParams::default()).await.unwrap();
            }
        }
        self.until_empty(end).await;
    }

    async fn until_jobs_end(&self, end: Instant) {
        let jobs: Api<Job> = Api::namespaced(self.client.clone(), self.namespace());
        let all = ListParams::default();
        while !jobs.list(&all).await.unwrap().items.iter().all(is_over) {
            assert!(Instant::now() < end, "a Job has not ended");
            sleep(INTERVAL).await;
        }
    }

    async fn until_empty(&self, end: Instant) {
        while self.n_left().await > 0 {
            assert!(Instant::now() < end, "some objects have not been deleted");
            sleep(INTERVAL).await;
        }
    }

    async fn n_left(&self) -> usize {
        macro_rules! count {
            ($($kind:ty),*) => {
                [$({
                    let api: Api<$kind> =
                        Api::namespaced(self.client.clone(), self.namespace.name());
                    api.list_metadata(&ListParams::default()).await.unwrap().items.len()
                }),*].iter().sum::<usize>()
            };
        }
        // One of the service accounts is that of the namespace itself.
        (count![Job, Pod, Role, RoleBinding, ServiceAccount]).saturating_sub(1)
    }
}

fn is_over(job: &Job) -> bool {
    true_conditions(job).any(|condition| ["Complete", "Failed"].contains(&condition.type_.as_str()))
}

/// Returns the conditions of a Job that are true.
pub(crate) fn true_conditions(job: &Job) -> impl Iterator<Item = &JobCondition> {
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.filter(|condition| condition.status == "True")
}
