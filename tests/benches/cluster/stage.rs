//! A namespace of a testbed, images in its registry, and a client.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{DeleteParams, ListParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use tokio::time::{Instant, sleep};
use unlade_bundle::Limits;
use unlade_oci::Platform;
use unlade_oci::build::bundle;
use unlade_tests::cluster::{Cluster, Namespace};

use crate::{Way, tool::Tools};

/// How long the cluster may take to delete the objects of a launch.
const PATIENCE: Duration = Duration::from_mins(2);
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

    /// Returns images with the same programs as in [`Stage::tools`], which no node has.
    pub(crate) fn renew_tools(&self, way: Way, round: &str) -> Tools {
        self.tools.renew(self.cluster, way, round)
    }

    /// Waits until the Job of a launch has ended, deletes everything that the launch created, and
    /// waits until it is gone, so that it does not slow down the next launch.
    pub(crate) async fn clear(&self, name: &str) {
        let end = Instant::now() + PATIENCE;
        let jobs: Api<Job> = Api::namespaced(self.client.clone(), self.namespace());
        let all = ListParams::default();
        while !jobs.list(&all).await.unwrap().items.iter().all(is_over) {
            assert!(Instant::now() < end, "{name}: its Job has not ended");
            sleep(INTERVAL).await;
        }
        let config_maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), self.namespace());
        config_maps.delete(name, &DeleteParams::default()).await.unwrap();
        while self.n_left().await > 0 {
            assert!(Instant::now() < end, "{name}: something of it is still there");
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
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .filter(|condition| condition.status == "True")
        .any(|condition| ["Complete", "Failed"].contains(&condition.type_.as_str()))
}
