//! The way to the cluster.

use std::io;

use kube::{
    Client, Config,
    client::ClientBuilder,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use tower::timeout::TimeoutLayer;

use crate::{args::Connection, error};

/// A cluster, and the namespace that is meant where none is named.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

/// Why there is no way to a cluster.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// A kubeconfig that isn't usable.
    #[error("reading the kubeconfig")]
    Kubeconfig(#[source] Box<KubeconfigError>),
    /// Neither a kubeconfig nor a pod's service account.
    #[error("no kubeconfig, and this is no pod with a service account")]
    Nowhere,
    /// Certificates, proxies and log-in programs of a kubeconfig.
    #[error("preparing the connection to {url}")]
    Client {
        url: String,
        #[source]
        source: Box<kube::Error>,
    },
    /// Threads or file descriptors.
    #[error("starting")]
    Runtime(#[source] io::Error),
}

/// Runs `future` to its end: what talks to a cluster is the only asynchronous part of the command.
///
/// # Errors
///
/// Those of `future`, and if nothing asynchronous can be started.
pub(crate) fn block_on<T, E: From<Error>>(
    future: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| E::from(Error::Runtime(source)))?;
    // rustls refuses to choose by itself as soon as a second provider is built in, by whomever.
    // That one is installed already is fine.
    _ = rustls::crypto::ring::default_provider().install_default();
    let result = runtime.block_on(future);
    // A name that is still being looked up would hold the end up.
    runtime.shutdown_background();
    result
}

/// The cluster that was asked for. Nothing is sent to it yet.
///
/// # Errors
///
/// If the kubeconfig is not usable, or there is none.
pub(crate) async fn connect(connection: &Connection) -> Result<Cluster, Error> {
    let mut config = config(connection).await?;
    withhold_credentials(&mut config);
    if let Some(user) = &connection.as_user {
        config.auth_info.impersonate = Some(user.clone());
        config.auth_info.impersonate_groups =
            Some(connection.as_group.clone()).filter(|groups| !groups.is_empty());
    }
    let namespace = namespace(connection, &config);
    let url = config.cluster_url.to_string();
    let failed = |source| Error::Client { url, source: Box::new(source) };
    let builder = ClientBuilder::try_from(config).map_err(failed)?;
    let timeout = connection.request_timeout.0;
    let client = if timeout.is_zero() {
        builder.build()
    } else {
        // From a request to the head of its answer: watches go on behind it.
        builder.with_layer(&TimeoutLayer::new(timeout)).build()
    };
    Ok(Cluster { client, namespace })
}

/// Without TLS the credentials of the kubeconfig are left out, and that is said. kubectl does the
/// same without a word (`ClientConfig` of client-go's clientcmd). Whom to impersonate is no secret.
fn withhold_credentials(config: &mut Config) {
    if config.cluster_url.scheme_str() != Some("http") {
        return;
    }
    let auth = &mut config.auth_info;
    let names =
        [&auth.username, &auth.token_file, &auth.client_certificate, &auth.client_certificate_data];
    let has_credentials = names.into_iter().any(Option::is_some)
        || auth.token.is_some()
        || auth.password.is_some()
        || auth.auth_provider.is_some()
        || auth.exec.is_some();
    if !has_credentials {
        return;
    }
    *auth = AuthInfo {
        impersonate: auth.impersonate.take(),
        impersonate_uid: auth.impersonate_uid.take(),
        impersonate_groups: auth.impersonate_groups.take(),
        impersonate_user_extra: auth.impersonate_user_extra.take(),
        ..AuthInfo::default()
    };
    error::note(&format!(
        "warning: {} is reached without TLS; as kubectl does it, the credentials of the kubeconfig \
         are not sent",
        config.cluster_url
    ));
}

/// The namespace alone, without a cluster: `default` where nothing names another.
pub(crate) async fn namespace_only(connection: &Connection) -> Result<String, Error> {
    if let Some(namespace) = &connection.namespace {
        return Ok(namespace.clone());
    }
    match config(connection).await {
        Ok(config) => Ok(namespace(connection, &config)),
        Err(Error::Nowhere) => Ok("default".to_owned()),
        Err(error) => Err(error),
    }
}

fn namespace(connection: &Connection, config: &Config) -> String {
    connection.namespace.clone().unwrap_or_else(|| config.default_namespace.clone())
}

async fn config(connection: &Connection) -> Result<Config, Error> {
    let failed = |source| Error::Kubeconfig(Box::new(source));
    let options =
        KubeConfigOptions { context: connection.context.clone(), ..KubeConfigOptions::default() };
    if let Some(path) = &connection.kubeconfig {
        let kubeconfig = Kubeconfig::read_from(path).map_err(failed)?;
        return Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(failed);
    }
    match Config::from_kubeconfig(&options).await {
        Ok(config) => Ok(config),
        // Only where there is none: a broken one must not lead to another cluster.
        Err(error) if is_missing(&error) && options.context.is_none() => {
            Config::incluster().map_err(|_| Error::Nowhere)
        }
        Err(error) => Err(failed(error)),
    }
}

fn is_missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(error, _) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}
