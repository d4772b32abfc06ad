//! [`Launcher`].

use std::sync::Arc;

use futures::channel::mpsc::{UnboundedSender, unbounded};

use crate::launch::Creations;
use crate::strategy::ImageVolumes;
use crate::{Event, Failure, Launched, Options, Request, launch};

/// Launches bundles on one cluster.
///
/// A launch can be dropped at any point: what was made stays, a Job goes on by itself, and the same
/// request takes up what is there. [`Launcher::cancel`] ends it instead.
#[derive(Clone)]
pub struct Launcher {
    pub(crate) client: kube::Client,
    pub(crate) options: Options,
    /// What was found out of the cluster, shared by clones.
    pub(crate) volumes: Arc<ImageVolumes>,
    /// The Jobs whose creation has not been answered yet, shared by clones.
    pub(crate) creations: Arc<Creations>,
}

impl Launcher {
    /// A launcher on the cluster of `client`.
    ///
    /// The launcher retries requests itself, and reports what it is waiting for. So the client
    /// should not retry: create it with [`Config::default_retry`](kube::Config::default_retry) off.
    /// Otherwise kube silently retries requests that were answered with 429, 503 or 504, for as
    /// long as a request may take, and the message of the server is lost.
    /// [`client::observe`](crate::client::observe) adds what kube's client lacks.
    pub fn new(client: kube::Client, options: Options) -> Self {
        Self { client, options, volumes: Arc::default(), creations: Arc::default() }
    }

    /// Unpacks a bundle, and waits until its ConfigMap is written, which is before the Job counts
    /// as complete.
    ///
    /// # Errors
    ///
    /// Why it failed. The ConfigMap stays, with the evidence in its annotation
    /// `unlade.dev/failure`, and so does the Job for a while: see [`Options::retention`].
    pub async fn launch(&self, request: &Request) -> Result<Launched, Failure> {
        self.launch_watched(request, unbounded().0).await
    }

    /// The same; what happens on the way goes into `events`, whose other end is a stream.
    ///
    /// # Errors
    ///
    /// As [`Launcher::launch`].
    pub async fn launch_watched(
        &self,
        request: &Request,
        events: UnboundedSender<Event>,
    ) -> Result<Launched, Failure> {
        let shared = (&*self.volumes, &*self.creations);
        launch::launch(&self.client, shared, &self.options, request, events).await
    }

    /// Deletes the Jobs that are filling a ConfigMap, and their pods. A launch that waits for one
    /// of them fails because the Job was deleted. The ConfigMap stays as it is. Returns the names
    /// of the Jobs.
    ///
    /// A launch of this launcher, or of a clone, may have been dropped before the API server
    /// answered its request to create a Job. This function waits at most 10 seconds for that Job.
    ///
    /// # Errors
    ///
    /// If the API server refuses or cannot be reached, or if such a Job has not appeared and still
    /// may.
    pub async fn cancel(&self, namespace: &str, config_map: &str) -> Result<Vec<String>, Failure> {
        launch::cancel(&self.client, &self.creations, namespace, config_map).await
    }

    /// Deletes a ConfigMap of a launch; with it go its Jobs, their pods and what they were allowed,
    /// which the cluster's garbage collector does a moment later. That it is gone is fine.
    ///
    /// # Errors
    ///
    /// [`Reason::NameTaken`](crate::Reason::NameTaken) if unlade hasn't made the ConfigMap, or if
    /// the API server refuses or can't be reached.
    pub async fn remove(&self, namespace: &str, config_map: &str) -> Result<(), Failure> {
        launch::remove(&self.client, namespace, config_map).await
    }
}
