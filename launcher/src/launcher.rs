//! [`Launcher`]: the entry point of the crate.

use std::sync::Arc;

use futures::Stream;

use crate::launch::Creations;
use crate::progress::report::Sink;
use crate::strategy::ImageVolumes;
use crate::{Failure, Inventory, LaunchUpdate, Launched, Options, Request, launch, progress};

/// Launches bundles on one cluster.
///
/// The future of a launch can be dropped at any point. The objects that it created stay, and a Job
/// keeps running. Another launch with the same request adopts them. [`Launcher::cancel`] deletes
/// the Job instead.
#[derive(Clone)]
pub struct Launcher {
    pub(crate) client: kube::Client,
    pub(crate) options: Options,
    /// What is known about the image volumes of the cluster, shared by clones.
    pub(crate) volumes: Arc<ImageVolumes>,
    /// The creations that a cancellation has to undo, shared by clones.
    pub(crate) creations: Arc<Creations>,
}

impl Launcher {
    /// Returns a launcher for the cluster of `client`, which
    /// [`client::from_config`](crate::client::from_config) creates.
    ///
    /// The launcher retries requests itself, and reports what it is waiting for. A client of
    /// another origin should therefore not retry: turn off
    /// [`Config::default_retry`](kube::Config::default_retry). Otherwise kube silently retries
    /// requests that got the response 429, 503 or 504 until the request times out, and the
    /// server's message is lost. [`client::observe`](crate::client::observe) adds what kube's
    /// client lacks.
    pub fn new(client: kube::Client, options: Options) -> Self {
        Self { client, options, volumes: Arc::default(), creations: Arc::default() }
    }

    /// Unpacks a bundle, and waits until its ConfigMap is written. The Job becomes complete a
    /// moment later.
    ///
    /// # Errors
    ///
    /// Returns why the launch failed. The ConfigMap stays, with the failure in its annotation
    /// `unlade.dev/failure`. The Job stays for the time that [`Options::retention`] sets.
    pub async fn launch(&self, request: &Request) -> Result<Launched, Failure> {
        self.launch_into(request, &drop).await
    }

    /// Launches a bundle as [`Launcher::launch`] does. The stream yields the events of the launch,
    /// and then its result. The launch proceeds while the stream is polled.
    ///
    /// ```no_run
    /// # async fn example(launcher: unlade_launcher::Launcher) {
    /// use futures::StreamExt;
    /// use unlade_launcher::{LaunchUpdate, Request};
    ///
    /// let request = Request::new("registry.example/bundles/etcd:0.9.4", "default");
    /// let mut updates = std::pin::pin!(launcher.launch_with_updates(request));
    /// while let Some(update) = updates.next().await {
    ///     match update {
    ///         LaunchUpdate::Event(event) => println!("{:?}: {:?}", event.at, event.step),
    ///         LaunchUpdate::Ended(Ok(launched)) => println!("unpacked by {:?}", launched.job),
    ///         LaunchUpdate::Ended(Err(failure)) => println!("{failure}"),
    ///     }
    /// }
    /// # }
    /// ```
    pub fn launch_with_updates(
        &self,
        request: Request,
    ) -> impl Stream<Item = LaunchUpdate> + use<> {
        let launcher = self.clone();
        progress::run_with_updates(async move |updates| {
            // Sending fails if the receiver was dropped, which is fine.
            let send = |update| _ = updates.unbounded_send(update);
            let result =
                launcher.launch_into(&request, &|event| send(LaunchUpdate::Event(event))).await;
            send(LaunchUpdate::Ended(result.map(Box::new)));
        })
    }

    /// Launches a bundle, and sends its events to `sink`.
    pub(crate) async fn launch_into(
        &self,
        request: &Request,
        sink: Sink<'_>,
    ) -> Result<Launched, Failure> {
        launch::launch(self, request, sink).await
    }

    /// Deletes the Jobs that are filling a ConfigMap, and their pods. The ConfigMap stays as it is.
    /// Returns the names of the Jobs.
    ///
    /// A launch that waits for one of them fails because the Job was deleted. The exception is a
    /// pack ([`Batch::pack`](crate::Batch::pack)), whose Job is deleted as well: if its batch is
    /// still running, it launches the bundles of the pack again, each with its own Job.
    ///
    /// A launch of this launcher, or of a clone, may have been dropped before the API server
    /// responded to its request to create a Job. This function waits at most 10 seconds for that
    /// Job. It also deletes the Secret with [`Credentials`](crate::Credentials) of such a launch,
    /// and looks for it a second time after 2 seconds if it does not exist yet. If the Secret
    /// cannot be deleted, this function logs a warning.
    ///
    /// # Errors
    ///
    /// Returns an error if the API server rejects a request or cannot be reached, or if a Job whose
    /// creation got no response has not appeared within 10 seconds. It may still appear.
    pub async fn cancel(&self, namespace: &str, config_map: &str) -> Result<Vec<String>, Failure> {
        launch::cancel(self, namespace, config_map).await
    }

    /// Returns the inventory of the launcher's cluster, which deletes what a launch created.
    pub fn inventory(&self) -> Inventory {
        Inventory::new(self.client.clone())
    }
}
