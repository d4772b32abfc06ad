//! Connects to the cluster that the arguments and the kubeconfig select.

use std::time::Duration;
use std::{env, io};

use kube::{
    Client, Config,
    client::ClientBuilder,
    config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use secrecy::SecretString;
use tower::timeout::TimeoutLayer;
use unlade_launcher::{client, read_pull_secret};

use crate::{
    args::{Connection, PullSecret},
    error::Error as CommandError,
    log, stderr,
};

/// How long a server may take to accept a connection. A server that takes longer counts as
/// unreachable, because a user is waiting at the prompt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A cluster and the default namespace for requests.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) namespace: String,
}

/// Why the connection to a cluster was not prepared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    /// The kubeconfig is not usable.
    #[error("failed to use the kubeconfig {path}")]
    Kubeconfig {
        path: String,
        #[source]
        source: Box<KubeconfigError>,
    },
    /// The kubeconfig cannot be opened.
    #[error("failed to read the kubeconfig {path}")]
    Unreadable {
        path: String,
        #[source]
        source: io::Error,
    },
    /// The kubeconfig lacks the requested context.
    #[error("the kubeconfig {path} has no context {context:?}")]
    Context { path: String, context: String, all: Vec<String> },
    /// No context is requested, and the kubeconfig has no current context.
    #[error("the kubeconfig {path} has no current context")]
    NoContext { path: String, all: Vec<String> },
    /// The user of the context does not exist, so requests would be anonymous.
    #[error("the kubeconfig {path} has no user {user:?}, which the context {context:?} names")]
    User { path: String, context: String, user: String },
    /// Neither a kubeconfig nor the service account of a pod exists.
    #[error("neither a kubeconfig nor the service account of a pod exists")]
    Nowhere,
    /// The certificates, the proxy or the credential plugin of the kubeconfig are not usable.
    #[error("failed to prepare the connection to {url}")]
    Client {
        url: String,
        #[source]
        source: Box<kube::Error>,
    },
    /// The protocol of the proxy is not supported. The message names only the host, because the
    /// address may contain a password.
    #[error(
        "failed to prepare the connection to {url}: the protocol {protocol:?} of the proxy {host} is not supported"
    )]
    Proxy { url: String, protocol: String, host: String },
    /// The system has no threads or file descriptors left.
    #[error("failed to start the async runtime")]
    Runtime(#[source] io::Error),
}

/// Runs `future` to completion. Only the code that talks to a cluster is asynchronous.
///
/// # Errors
///
/// Returns the error of `future`, or an error if the async runtime does not start.
pub(crate) fn block_on<T, E: From<Error>>(
    future: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| E::from(Error::Runtime(source)))?;
    // rustls does not choose a provider if several are built in, which any dependency can cause.
    // This fails if a provider is already installed, which is fine.
    _ = rustls::crypto::ring::default_provider().install_default();
    let result = runtime.block_on(future);
    // Dropping the runtime would wait for a DNS lookup that is still running.
    runtime.shutdown_background();
    result
}

/// Prepares the connection to the cluster, and starts the log. Sends nothing yet.
///
/// # Errors
///
/// Fails if no kubeconfig is found or it is not usable.
pub(crate) async fn connect(connection: &Connection) -> Result<Cluster, Error> {
    log::start(connection.verbose, connection.log_format);
    let Target { mut config, context } = target(connection).await?;
    drop_user_info(&mut config);
    withhold_credentials(&mut config);
    if let Some(user) = &connection.as_user {
        config.auth_info.impersonate = Some(user.clone());
        config.auth_info.impersonate_groups =
            Some(connection.as_group.clone()).filter(|groups| !groups.is_empty());
    }
    let namespace = namespace(connection, &config);
    // The launcher retries requests itself and reports it. kube would retry silently.
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    let url = config.cluster_url.to_string().trim_end_matches('/').to_owned();
    let server = match context {
        Some(context) => format!("{url} (context {context:?})"),
        None => format!("{url} (the service account of this pod)"),
    };
    tracing::info!(server, namespace, "connecting");
    let failed = |source| match source {
        kube::Error::ProxyProtocolUnsupported { proxy_url }
        | kube::Error::ProxyProtocolDisabled { proxy_url, .. } => Error::Proxy {
            url,
            protocol: proxy_url.scheme_str().unwrap_or_default().to_owned(),
            host: proxy_url.host().unwrap_or_default().to_owned(),
        },
        source => Error::Client { url, source: Box::new(source) },
    };
    let builder = ClientBuilder::try_from(config).map_err(failed)?;
    let timeout = connection.request_timeout.0;
    let client = if timeout.is_zero() {
        builder.build()
    } else {
        // The limit applies until the head of the response arrives, so watches are not cut off.
        builder.with_layer(&TimeoutLayer::new(timeout)).build()
    };
    Ok(Cluster { client: client::observe(client, &server), namespace })
}

/// The credentials in a pull secret.
#[derive(Debug, Clone)]
pub(crate) struct SecretCredentials {
    /// The name of the secret, for messages.
    pub(crate) origin: String,
    /// The JSON of a file of docker.
    pub(crate) config: SecretString,
}

/// Reads pull secrets from the cluster of the kubeconfig. Without secrets, no cluster is needed.
pub(crate) fn read_pull_secrets(
    connection: &Connection,
    secrets: &[PullSecret],
) -> Result<Vec<SecretCredentials>, CommandError> {
    if secrets.is_empty() {
        return Ok(Vec::new());
    }
    block_on(async {
        let Cluster { client, namespace } = connect(connection).await?;
        let mut credentials = Vec::new();
        for PullSecret { namespace: given, name } in secrets {
            let namespace = given.as_deref().unwrap_or(&namespace);
            let config = read_pull_secret(&client, namespace, name).await?;
            credentials.push(SecretCredentials {
                origin: format!("the Secret {namespace}/{name}"),
                config,
            });
        }
        Ok(credentials)
    })
}

/// Removes `user:password@` from the address of the server, because messages and logs show the
/// address. kube's client does not send it.
fn drop_user_info(config: &mut Config) {
    let authority = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    if let Some((_, host)) = authority.rsplit_once('@') {
        let url = config.cluster_url.to_string().replacen(&authority, host, 1);
        config.cluster_url = url.parse().unwrap_or_default();
    }
}

/// Removes the credentials of the kubeconfig if the server is reached without TLS, and warns about
/// it. kubectl does the same without a warning (`ClientConfig` of client-go's clientcmd). The
/// impersonated user is kept, because it is not a secret.
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
    let warning = format!(
        "the connection to {} does not use TLS, so the credentials of the kubeconfig are not sent, \
         as with kubectl",
        config.cluster_url
    );
    stderr::note(&stderr::plain_warning(&warning));
}

/// Returns the namespace without connecting to the cluster. The default is `default`.
pub(crate) async fn namespace_only(connection: &Connection) -> Result<String, Error> {
    if let Some(namespace) = &connection.namespace {
        return Ok(namespace.clone());
    }
    match target(connection).await {
        Ok(target) => Ok(namespace(connection, &target.config)),
        Err(Error::Nowhere) => Ok("default".to_owned()),
        Err(error) => Err(error),
    }
}

fn namespace(connection: &Connection, config: &Config) -> String {
    connection.namespace.clone().unwrap_or_else(|| config.default_namespace.clone())
}

/// The server that requests are sent to.
struct Target {
    config: Config,
    /// The context of the kubeconfig; `None` in a pod.
    context: Option<String>,
}

async fn target(connection: &Connection) -> Result<Target, Error> {
    let path = kubeconfig_path(connection);
    let read = match &connection.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => read_kubeconfig(),
    };
    let kubeconfig = match read {
        Ok(kubeconfig) => kubeconfig,
        // Only if no kubeconfig exists: a broken one must not lead to another cluster.
        Err(error)
            if is_missing(&error)
                && connection.kubeconfig.is_none()
                && connection.context.is_none() =>
        {
            let config = Config::incluster().map_err(|_| Error::Nowhere)?;
            return Ok(Target { config, context: None });
        }
        Err(KubeconfigError::ReadConfig(source, path)) => {
            return Err(Error::Unreadable { path: path.display().to_string(), source });
        }
        Err(source) => return Err(Error::Kubeconfig { path, source: Box::new(source) }),
    };
    let context = known_context(connection, &kubeconfig, &path)?;
    let options = KubeConfigOptions { context: Some(context.clone()), ..Default::default() };
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let config = config.map_err(|source| Error::Kubeconfig { path, source: Box::new(source) })?;
    Ok(Target { config, context: Some(context) })
}

/// Reads the files of `KUBECONFIG`, or else the file in the home directory.
///
/// Files of `KUBECONFIG` that do not exist are skipped, and an empty current context is replaced by
/// that of a later file, as in client-go (`ClientConfigLoadingRules`). kube would refuse the whole
/// list.
fn read_kubeconfig() -> Result<Kubeconfig, KubeconfigError> {
    let paths = env::var_os("KUBECONFIG").unwrap_or_default();
    let paths: Vec<_> =
        env::split_paths(&paths).filter(|path| !path.as_os_str().is_empty()).collect();
    let mut files = Vec::new();
    let mut missing = None;
    for path in &paths {
        match Kubeconfig::read_from(path) {
            Ok(mut file) => {
                file.current_context = file.current_context.filter(|name| !name.is_empty());
                files.push(file);
            }
            Err(error) if is_missing(&error) => missing = Some(error),
            Err(error) => return Err(error),
        }
    }
    match missing {
        _ if paths.is_empty() => Kubeconfig::read(),
        Some(error) if files.is_empty() => Err(error),
        _ => files.into_iter().try_fold(Kubeconfig::default(), Kubeconfig::merge),
    }
}

/// Returns the requested or the current context if it exists and its user exists. kube would go on
/// without a user.
fn known_context(
    connection: &Connection,
    kubeconfig: &Kubeconfig,
    path: &str,
) -> Result<String, Error> {
    let path = path.to_owned();
    let all = || kubeconfig.contexts.iter().map(|context| context.name.clone()).collect();
    let wanted = connection.context.as_ref().or(kubeconfig.current_context.as_ref());
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
        return Err(Error::NoContext { path, all: all() });
    };
    let context = wanted.clone();
    let Some(found) = kubeconfig.contexts.iter().find(|found| found.name == context) else {
        return Err(Error::Context { path, context, all: all() });
    };
    let user = found.context.as_ref().and_then(|context| context.user.clone()).unwrap_or_default();
    if !user.is_empty() && !kubeconfig.auth_infos.iter().any(|found| found.name == user) {
        return Err(Error::User { path, context, user });
    }
    Ok(context)
}

/// Returns the path of the kubeconfig for messages.
fn kubeconfig_path(connection: &Connection) -> String {
    let variable = || env::var_os("KUBECONFIG").filter(|value| !value.is_empty());
    match &connection.kubeconfig {
        Some(path) => path.display().to_string(),
        None => variable().map_or_else(
            || "~/.kube/config".to_owned(),
            |value| value.to_string_lossy().into_owned(),
        ),
    }
}

fn is_missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(error, _) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    }
}
