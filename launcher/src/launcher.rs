//! [`Launcher`].

use futures::channel::mpsc::UnboundedSender;

use crate::{Event, Failure, Launched, Options, Reason, Request};

/// Launches bundles on one cluster.
#[derive(Clone)]
pub struct Launcher {
    client: kube::Client,
    options: Options,
}

impl Launcher {
    /// A launcher on the cluster of `client`.
    pub fn new(client: kube::Client, options: Options) -> Self {
        Self { client, options }
    }

    /// Unpacks a bundle, and waits until its ConfigMap is written.
    ///
    /// # Errors
    ///
    /// Why it failed. The ConfigMap and the Job of a failure stay, see [`Options::retention`].
    pub async fn launch(&self, request: &Request) -> Result<Launched, Failure> {
        self.launch_watched(request, futures::channel::mpsc::unbounded().0).await
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
        let _ = (&self.client, &self.options, request, events);
        Err(Failure::new(Reason::Internal, "not built yet"))
    }
}
