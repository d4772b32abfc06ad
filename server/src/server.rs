//! [`Server`]: listens, and stops gracefully.

use std::env;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use futures::future::{self, Either, FutureExt as _, OptionFuture};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::sleep;
use tonic::service::Routes;
use tonic_health::pb::health_server::HealthServer;
use unlade_catalog_directory::Limits;

use crate::cache::CacheState;
use crate::health::ServerHealth;
use crate::index::Index;
use crate::load::{self, Error, Loaded};
use crate::message::DESCRIPTORS;
use crate::metas::Metas;
use crate::metrics::Metrics;
use crate::opm::{self, Error as OpmCacheError};
use crate::service::Service;
use crate::service::generated::experimental_registry_server::ExperimentalRegistryServer;
use crate::service::generated::registry_server::RegistryServer;
use crate::{call, catalogd, connection, http};

/// The time after which the server checks whether a silent client is still connected.
const KEEPALIVE: Duration = Duration::from_mins(1);

/// The maximum number of calls at a time on one connection. OLM's packageserver calls for all
/// packages at once, and waits if the server allows fewer.
const MAX_STREAMS: u32 = 256;

/// The maximum number of resets of streams that a connection remembers, and of those that the
/// client sends before the server has accepted the streams. Beyond that, the connection is closed.
const MAX_RESETS: usize = 64;

/// The maximum size of a request, in bytes. Requests contain names only.
const MAX_REQUEST: usize = 64 << 10;

/// The options for serving a catalog.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// The directory of the cache. It is created if it does not exist. A cache that does not match
    /// the catalog, that is damaged, or that cannot be read or written is never an error.
    pub cache: Option<PathBuf>,
    /// The directory for a temporary file with the texts of the catalog, if there is no cache. If
    /// it cannot be written to, the texts are in memory.
    pub temporary: PathBuf,
    /// The limits of the reader.
    pub limits: Limits,
    /// Whether the digest of the catalog is computed even without a cache, for the metrics.
    pub digest: bool,
    /// The maximum number of connections of each listener at a time. Further clients wait.
    pub connections: usize,
    /// The maximum number of running calls on all connections, without those for the health of the
    /// server. Further calls are refused with `RESOURCE_EXHAUSTED`. A call runs until its client
    /// has received the whole response, so this limits the memory that slow clients take.
    pub calls: usize,
    /// The time that running calls have to end when the server stops. Kubernetes kills a container
    /// after 30 seconds.
    pub grace: Duration,
}

/// A catalog that can be served.
#[derive(Debug, Clone)]
pub struct Server {
    index: Arc<Index>,
    cache: CacheState,
    digest: Option<[u8; 32]>,
    options: Options,
}

/// Where a [`Server`] listens.
#[derive(Debug)]
#[non_exhaustive]
pub struct Listeners {
    /// The port for OLM.
    pub grpc: TcpListener,
    /// The port for Prometheus, over HTTP/1.1: `/metrics`.
    pub metrics: Option<TcpListener>,
    /// The port of the HTTP API of catalogd, and what it serves, over HTTP/1.1: `/api/v1/all` and
    /// `/api/v1/metas`.
    pub http: Option<(TcpListener, Metas)>,
}

/// Serves gRPC only.
impl From<TcpListener> for Listeners {
    fn from(grpc: TcpListener) -> Self {
        Self { grpc, metrics: None, http: None }
    }
}

/// The reason why a server stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The listener or a connection failed.
    #[error("failed to serve the catalog")]
    Transport(#[from] tonic::transport::Error),
    /// The descriptors of the API could not be registered.
    #[error("failed to set up the reflection service")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// The digest of the catalog does not make an entity tag.
    #[error("failed to set up the HTTP API: the entity tag {tag} of the catalog is invalid")]
    EntityTag {
        /// The tag.
        tag: String,
    },
}

impl Default for Options {
    fn default() -> Self {
        Self {
            cache: None,
            temporary: env::temp_dir(),
            limits: Limits::default(),
            digest: false,
            connections: 256,
            calls: 2_048,
            grace: Duration::from_secs(20),
        }
    }
}

impl Server {
    /// Reads and validates the catalog at `path`: a directory or a single file.
    ///
    /// # Errors
    ///
    /// Returns an error if the catalog is invalid, or if it cannot be read.
    pub fn load(path: &Path, options: &Options) -> Result<Self, Error> {
        let Loaded { index, cache, digest } = load::load(path, options)?;
        Ok(Self { index: Arc::new(index), cache, digest, options: options.clone() })
    }

    /// Writes a cache in the JSON format of opm to `directory`, so that opm can serve the catalog
    /// from it. `catalog` is the directory that was [loaded](Self::load): opm compares the cache
    /// with it, the permissions of the files included.
    ///
    /// # Errors
    ///
    /// Returns an error if the cache cannot be written, if its format cannot represent the names in
    /// the catalog, or if the cache would be many times as large as the catalog.
    pub fn write_opm_cache(&self, catalog: &Path, directory: &Path) -> Result<(), OpmCacheError> {
        opm::write(&self.index, catalog, directory)
    }

    /// Returns the state of the cache.
    pub fn cache(&self) -> &CacheState {
        &self.cache
    }

    /// Serves the catalog until `shutdown` ends, and then until the running calls have ended, or
    /// until [`Options::grace`] has passed.
    ///
    /// # Errors
    ///
    /// Returns an error if a listener fails.
    pub async fn serve(
        self,
        listeners: impl Into<Listeners>,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<(), ServeError> {
        let Listeners { grpc, metrics, http } = listeners.into();
        let Options { connections: limit, calls: max_calls, grace, .. } = self.options;
        let (serving, is_serving) = watch::channel(true);
        let max_calls = max_calls.min(Semaphore::MAX_PERMITS);
        let calls = Arc::new(Semaphore::new(max_calls));
        let measured = metrics
            .map(|listener| (listener, Arc::new(Metrics::new(&self.cache, self.digest.as_ref()))));
        let own_metrics = measured.as_ref().map(|(_, metrics)| metrics);
        let services = self.measured_services(own_metrics, &calls, is_serving.clone())?;
        // The connections are tasks of their own. They end with this method, even if it is
        // cancelled.
        let (_until_return, cut) = oneshot::channel();
        let cut = cut.shared();
        let http = match http {
            Some((listener, metas)) => {
                let api = catalogd::router(metas)?;
                let api = match own_metrics {
                    Some(metrics) => Arc::clone(metrics).count(api),
                    None => api,
                };
                let stopped = stopping(is_serving.clone());
                Some(http::serve(listener, api, limit, stopped, cut.clone()))
            }
            None => None,
        };
        // The metrics can be read until the last call has ended.
        let (grpc_running, grpc_ended) = oneshot::channel::<()>();
        let metrics = measured.map(|(listener, metrics)| {
            let router = metrics.router(calls, max_calls);
            http::serve(listener, router, limit, grpc_ended.map(drop), cut.clone())
        });
        let connections = connection::accept(grpc, limit, cut.clone());
        let shutdown = async move {
            shutdown.await;
            // Notify the clients that watch the health, so that their calls end.
            serving.send_replace(false);
            drop(serving);
        };
        let grpc = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE))
            .http2_max_pending_accept_reset_streams(Some(MAX_RESETS))
            .http2_max_local_error_reset_streams(Some(MAX_RESETS))
            .max_concurrent_streams(MAX_STREAMS)
            .serve_with_incoming_shutdown(services, connections, shutdown);
        let grpc = async {
            let served = grpc.await;
            drop(grpc_running);
            served
        };
        let others = future::join(OptionFuture::from(http), OptionFuture::from(metrics));
        let everything = future::try_join(grpc, others.map(Ok));
        let end = after_grace(is_serving, grace);
        match future::select(pin!(everything), pin!(end)).await {
            Either::Left((served, _)) => {
                served?;
                Ok(())
            }
            Either::Right(_) => {
                tracing::warn!("terminated the calls that did not end within the grace period");
                Ok(())
            }
        }
    }

    /// Returns the services with the limit of calls, and with the metrics if they are served.
    fn measured_services(
        &self,
        metrics: Option<&Arc<Metrics>>,
        calls: &Arc<Semaphore>,
        is_serving: watch::Receiver<bool>,
    ) -> Result<Routes, ServeError> {
        let services = self.routes(is_serving)?.into_axum_router();
        let services = call::limit(services, Arc::clone(calls));
        let services = match metrics {
            Some(metrics) => Arc::clone(metrics).measure(services),
            None => services,
        };
        Ok(Routes::from(services).prepare())
    }

    /// Returns the services.
    pub(crate) fn routes(&self, is_serving: watch::Receiver<bool>) -> Result<Routes, ServeError> {
        let service = Service::new(Arc::clone(&self.index));
        let reflection = || {
            tonic_reflection::server::Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let registry = RegistryServer::new(service.clone());
        let experimental = ExperimentalRegistryServer::new(service);
        let health = HealthServer::new(ServerHealth::new(is_serving));
        Ok(Routes::new(registry.max_decoding_message_size(MAX_REQUEST))
            .add_service(experimental.max_decoding_message_size(MAX_REQUEST))
            .add_service(health.max_decoding_message_size(MAX_REQUEST))
            .add_service(reflection().build_v1()?.max_decoding_message_size(MAX_REQUEST))
            .add_service(reflection().build_v1alpha()?.max_decoding_message_size(MAX_REQUEST)))
    }
}

/// Waits until the server is stopping.
async fn stopping(mut is_serving: watch::Receiver<bool>) {
    // It fails when the sender is dropped, which is the end too.
    _ = is_serving.wait_for(|is_serving| !is_serving).await;
}

/// Waits until the server is stopping, and then for `grace`.
async fn after_grace(is_serving: watch::Receiver<bool>, grace: Duration) {
    stopping(is_serving).await;
    sleep(grace).await;
}
