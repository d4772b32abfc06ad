//! A namespace, images in the registry, and launchers whose requests are counted.

mod image;
mod wait;

use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::client::{Body, ClientBuilder, DynBody};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::json;
use tower::util::{BoxService, MapRequestLayer};
use tower::{BoxError, Layer, Service};
use unlade_launcher::{Failure, LaunchUpdate, Launched, Launcher, Name, Options, Request, Step};
use unlade_tests::cluster::{Cluster, Namespace};

/// The deadline for everything that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);

/// Shared by tests that run at the same time, and held exclusively by a test that must run alone.
static ALONE: RwLock<()> = RwLock::new(());

/// The type of service that `ClientBuilder` creates.
type GenericService = BoxService<http::Request<Body>, http::Response<Box<DynBody>>, BoxError>;

/// The environment of a test.
pub(crate) struct Stage<'c> {
    pub(crate) cluster: &'c Cluster,
    pub(crate) namespace: Namespace<'c>,
    pub(crate) client: Client,
    unpacker: String,
    /// `METHOD resource` of each write request, except dry runs.
    writes: Arc<Mutex<Vec<String>>>,
}

impl Stage<'_> {
    /// Runs a test in its own namespace.
    pub(crate) fn open(test: &str, run: impl AsyncFnOnce(&Stage<'_>)) {
        let _others = ALONE.read().unwrap_or_else(PoisonError::into_inner);
        Self::run(test, run);
    }

    /// Runs a test while no other test runs here, because it stops parts of the cluster.
    pub(crate) fn open_alone(test: &str, run: impl AsyncFnOnce(&Stage<'_>)) {
        let _alone = ALONE.write().unwrap_or_else(PoisonError::into_inner);
        Self::run(test, run);
    }

    fn run(test: &str, run: impl AsyncFnOnce(&Stage<'_>)) {
        let cluster = Cluster::open_testbed();
        let unpacker = cluster.push_unpacker();
        let namespace = cluster.namespace(test);
        cluster.testbed().enter().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let writes = Arc::default();
            let client = client(&cluster.testbed().kubeconfig(), &writes).await;
            run(&Stage { cluster: &cluster, namespace, client, unpacker, writes }).await;
        });
    }

    pub(crate) fn options(&self) -> Options {
        Options::new(&self.unpacker)
    }

    pub(crate) fn request(&self, image: &str) -> Request {
        Request::new(image, self.namespace.name())
    }

    /// Runs a launch, and returns its result and steps.
    pub(crate) async fn launch(
        &self,
        options: &Options,
        request: &Request,
    ) -> (Result<Launched, Failure>, Vec<Step>) {
        let launcher = Launcher::new(self.client.clone(), options.clone());
        let mut updates = std::pin::pin!(launcher.launch_with_updates(request.clone()));
        let mut steps = Vec::new();
        loop {
            match updates.next().await.unwrap() {
                LaunchUpdate::Event(event) => steps.push(event.step),
                LaunchUpdate::Ended(result) => return (result.map(|launched| *launched), steps),
            }
        }
    }

    /// Returns the writes since the last call, sorted.
    pub(crate) fn writes(&self) -> Vec<String> {
        let mut writes = std::mem::take(&mut *self.writes.lock().unwrap());
        writes.sort();
        writes
    }

    /// Returns the number of versions of a ConfigMap since it was created.
    pub(crate) async fn versions(&self, config_map: &ConfigMap) -> usize {
        let params =
            WatchParams::default().fields(&format!("metadata.name={}", config_map.name_any()));
        // Start at the version of the namespace, which is older than the ConfigMap.
        let earlier: ConfigMap = self.api().get("kube-root-ca.crt").await.unwrap();
        let from = earlier.resource_version().unwrap();
        let watch = self.api::<ConfigMap>().watch(&params, &from).await.unwrap();
        let last = config_map.resource_version();
        let mut versions = 0;
        let mut watch = std::pin::pin!(watch);
        while let Some(event) = watch.next().await {
            let (WatchEvent::Added(found) | WatchEvent::Modified(found)) = event.unwrap() else {
                continue;
            };
            versions += 1;
            if found.resource_version() == last {
                return versions;
            }
        }
        panic!("the version {last:?} was not seen");
    }

    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), self.namespace.name())
    }

    pub(crate) async fn list<K>(&self) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        self.api::<K>().list(&ListParams::default()).await.unwrap().items
    }

    /// Returns a client whose requests pass through `layer`.
    pub(crate) async fn client_with<L>(&self, layer: &L) -> Client
    where
        L: Layer<GenericService>,
        L::Service: Service<
                http::Request<Body>,
                Response = http::Response<Box<DynBody>>,
                Error = BoxError,
                Future: Send,
            > + Send
            + 'static,
    {
        let config = config(&self.cluster.testbed().kubeconfig()).await;
        ClientBuilder::try_from(config).unwrap().with_layer(layer).build()
    }

    /// Returns a client with another configuration.
    pub(crate) async fn client_of(&self, change: impl FnOnce(&mut Config)) -> Client {
        let mut config = config(&self.cluster.testbed().kubeconfig()).await;
        change(&mut config);
        Client::try_from(config).unwrap()
    }

    /// Creates a service account with the permissions of the unpacker for any ConfigMap.
    pub(crate) fn account(&self, name: &str) {
        self.kubectl(&["create", "serviceaccount", name]);
        let verbs = ["--verb=get,update", "--resource=configmaps"];
        self.kubectl(&["create", "role", name, verbs[0], verbs[1]]);
        let account = format!("--serviceaccount={}:{name}", self.namespace.name());
        self.kubectl(&["create", "rolebinding", name, &format!("--role={name}"), &account]);
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        self.namespace.kubectl(arguments.iter().copied()).unwrap()
    }
}

/// Returns a name that a test sets.
pub(crate) fn given(name: &str) -> Name {
    Name::Given(name.to_lowercase())
}

/// Checks whether a Job has a condition that ends it.
pub(crate) fn finished(job: &Job) -> bool {
    let conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions
        .filter(|condition| condition.status == "True")
        .any(|condition| ["Complete", "Failed"].contains(&condition.type_.as_str()))
}

/// Returns a valid Job.
pub(crate) fn job() -> Job {
    let object = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "probe"},
        "spec": {"template": {"spec": {
            "containers": [{"name": "none", "image": "unlade.test/none:1"}],
            "restartPolicy": "Never",
        }}},
    });
    serde_json::from_value(object).unwrap()
}

async fn config(kubeconfig: &Path) -> Config {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    // `Launcher::new` requires this.
    config.default_retry = false;
    config
}

async fn client(kubeconfig: &Path, writes: &Arc<Mutex<Vec<String>>>) -> Client {
    let config = config(kubeconfig).await;
    let writes = Arc::clone(writes);
    let note = move |request: http::Request<Body>| {
        let is_dry = request.uri().query().is_some_and(|query| query.contains("dryRun"));
        if request.method() != http::Method::GET && !is_dry {
            let mut parts =
                request.uri().path().split('/').skip_while(|part| *part != "namespaces");
            let resource = parts.nth(2).unwrap_or("namespaces");
            writes.lock().unwrap().push(format!("{} {resource}", request.method()));
        }
        request
    };
    ClientBuilder::try_from(config).unwrap().with_layer(&MapRequestLayer::new(note)).build()
}
