//! [`Connections`]: what the clients of one registry share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use unlade_name::ImageReference;
use unlade_oci::limit::TRANSFERS;
use ureq::http::{StatusCode, Uri};
use ureq::tls::TlsConfig;
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Proxy, Timeout};

use crate::address::Guard;
use crate::configuration::{self, Configuration, Rules};
use crate::limit::HEADERS;
use crate::retry::Retry;
use crate::tls::Configs;
use crate::{Error, Limits, Options, Tls};

/// What the root of the API is called in messages.
pub(crate) const API: &str = "the API of the registry";

/// The open connections to registries, and the rules that were read. Clones share them, so several
/// images of one registry need one handshake for each connection.
#[derive(Debug, Clone, Default)]
pub struct Connections(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    connections: Mutex<HashMap<Key, Connection>>,
    rules: Mutex<Option<(Configuration, Arc<Rules>)>>,
}

/// Everything on which a connection depends.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    registry: String,
    insecure: bool,
    plain_http: bool,
    tls: Tls,
    limits: Limits,
}

/// The connections to one registry, and to the hosts that it names.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    pub(crate) agent: Agent,
    /// The agent for hosts that the registry names. It does not present the certificate of the
    /// client.
    pub(crate) others: Agent,
    pub(crate) guard: Guard,
    /// The host of the registry, with its port.
    host: String,
    /// `https` or `http`. For an insecure registry, this is not known before the first request.
    scheme: Arc<OnceLock<&'static str>>,
}

impl Connections {
    /// Returns the connection to the registry of `image`.
    pub(crate) fn connect(
        &self,
        image: &ImageReference,
        insecure: bool,
        options: &Options,
    ) -> Result<Connection, Error> {
        let key = Key {
            registry: image.registry().to_owned(),
            insecure,
            plain_http: options.plain_http,
            tls: options.tls.clone(),
            limits: options.limits.clone(),
        };
        let mut connections = self.0.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) = connections.get(&key) {
            return Ok(connection.clone());
        }
        let connection = Connection::new(image, insecure, options)?;
        connections.insert(key, connection.clone());
        Ok(connection)
    }

    /// Returns the rules of `configuration`, whose files are read once.
    pub(crate) fn rules(
        &self,
        configuration: &Configuration,
    ) -> Result<Arc<Rules>, configuration::Error> {
        let mut known = self.0.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rules)) = known.as_ref().filter(|(from, _)| from == configuration) {
            return Ok(Arc::clone(rules));
        }
        let rules = Arc::new(configuration.read()?);
        *known = Some((configuration.clone(), Arc::clone(&rules)));
        Ok(rules)
    }
}

impl Connection {
    fn new(image: &ImageReference, insecure: bool, options: &Options) -> Result<Self, Error> {
        let uri = format!("https://{}", image.host());
        let uri: Uri = uri.parse().map_err(|_| Error::Reference { image: image.to_string() })?;
        let limits = &options.limits;
        let registry = || image.registry().to_owned();
        let tls = options.tls.configs(image.registry(), insecure);
        let Configs { registry: own, others } =
            tls.map_err(|source| Error::Tls { registry: registry(), source })?;
        let proxy = if options.plain_http { None } else { Proxy::try_from_env() };
        let guard = Guard::new(&uri, proxy.as_ref().map(Proxy::uri));
        let agent = |tls: TlsConfig| {
            let config = Agent::config_builder()
                .http_status_as_error(false)
                // `Client::follow` follows them.
                .max_redirects(0)
                .max_redirects_will_error(false)
                // A token server without TLS would receive the password unencrypted.
                .https_only(!options.plain_http && !insecure)
                .proxy(proxy.clone())
                .tls_config(tls)
                .user_agent(concat!("unlade/", env!("CARGO_PKG_VERSION")))
                .max_response_header_size(HEADERS)
                .max_idle_connections_per_host(TRANSFERS)
                // The other hosts are usually a token server and a server with blobs.
                .max_idle_connections(2 * TRANSFERS)
                .timeout_resolve(Some(limits.idle))
                .timeout_connect(Some(limits.idle))
                .timeout_recv_response(Some(limits.patience))
                .timeout_per_read(Some(limits.idle))
                .timeout_per_write(Some(limits.idle))
                .build();
            Agent::with_parts(config, DefaultConnector::default(), guard.clone())
        };
        let (agent, others) = (agent(own), agent(others));
        let scheme = match (options.plain_http, insecure) {
            (true, _) => OnceLock::from("http"),
            (false, false) => OnceLock::from("https"),
            (false, true) => OnceLock::new(),
        };
        let (host, scheme) = (image.host().to_owned(), Arc::new(scheme));
        Ok(Self { agent, others, guard, host, scheme })
    }

    /// Returns the address of the registry, such as `https://registry.example:5000`. Requests the
    /// API if the scheme is not known. Other threads may do so too, because a registry that does
    /// not respond would make each wait for the others.
    pub(crate) fn determine_base(&self, limits: &Limits) -> Result<String, Error> {
        let scheme = if let Some(scheme) = self.scheme.get() {
            scheme
        } else {
            let scheme = self.determine_scheme(limits)?;
            self.scheme.get_or_init(|| scheme)
        };
        Ok(format!("{scheme}://{}", self.host))
    }

    /// Finds out whether the registry has TLS, from any response to a request with or without TLS.
    fn determine_scheme(&self, limits: &Limits) -> Result<&'static str, Error> {
        let request = |scheme| self.agent.get(format!("{scheme}://{}/v2/", self.host)).call();
        let describe = |error| Error::http(API.to_owned())(error);
        let mut retry = Retry::new(limits);
        loop {
            let error = match request("https") {
                Ok(_) => return Ok("https"),
                // A firewall can drop what is sent to the port of HTTPS, and a server without TLS
                // can wait for the rest of the handshake. A later timeout is that of a registry
                // with TLS.
                Err(
                    error @ (ureq::Error::Io(_)
                    | ureq::Error::Tls(_)
                    | ureq::Error::Timeout(Timeout::Connect)),
                ) => match request("http") {
                    Ok(response) if may_have_tls(response.status(), &error) => describe(error),
                    Ok(_) => return Ok("http"),
                    Err(other) => match (describe(error), describe(other)) {
                        (error, other) if other.is_transient() && !error.is_transient() => other,
                        (error, _) => error,
                    },
                },
                Err(error) => describe(error),
            };
            if !error.is_transient() || !retry.pause(None) {
                return Err(error);
            }
        }
    }
}

/// Checks whether a registry may have TLS although a request with TLS failed with `error`. `status`
/// is that of the response to a request without TLS.
fn may_have_tls(status: StatusCode, error: &ureq::Error) -> bool {
    // The usual response to a request without TLS to a port for TLS.
    status == StatusCode::BAD_REQUEST
        // A redirect to HTTPS, where the registry is slow.
        || (status.is_redirection() && matches!(error, ureq::Error::Timeout(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_for_registries_are_read_once() {
        let directory = tempfile::tempdir().unwrap();
        let [file, other] = ["a.conf", "b.conf"].map(|name| directory.path().join(name));
        std::fs::write(&file, "unqualified-search-registries = ['a.example']").unwrap();
        let options = Options { configuration: Configuration::file(&file), ..Options::default() };
        let first = options.rules().unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(options.clone().rules().unwrap(), first);
        let configuration = Configuration::file(&other);
        options.connections.rules(&configuration).unwrap_err();
    }
}
