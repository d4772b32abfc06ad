//! The arguments about images and registries.

use std::path::PathBuf;

use clap::{ArgAction, Args as Group};
use unlade_registry::{Auth, Configuration, Connections, Options, Tls, credential::Stored};

use super::{CachePlace, Connection};
use crate::{connection, error::Error, source};

/// How the images of catalogs and bundles are read.
#[derive(Debug, Clone, Group)]
pub(crate) struct ImageArgs {
    /// Platform of the image to read from an index, as `os/architecture[/variant]`
    #[arg(long, value_name = "PLATFORM", hide_short_help = true)]
    platform: Option<String>,

    #[command(flatten)]
    registry: Registry,
}

/// The arguments of the commands that read and write images in registries.
#[derive(Debug, Clone, Group)]
pub(crate) struct Registry {
    #[command(flatten)]
    client: RegistryClient,

    /// Secret in the cluster with credentials for the registry of the source, which take precedence
    /// over credentials in files; can be given several times
    ///
    /// The command reads it with the kubeconfig that `KUBECONFIG` names, else ~/.kube/config, and
    /// its current context. The default namespace is the namespace of the context.
    #[arg(
        long,
        value_name = "[NAMESPACE/]SECRET",
        value_parser = secret,
        help_heading = "Registry",
        hide_short_help = true
    )]
    pull_secret: Vec<PullSecret>,

    #[command(flatten)]
    cache: CachePlace,
}

/// The name of a Secret with credentials for registries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PullSecret {
    /// The namespace; `None` means that of the context.
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl Registry {
    /// Returns the connection to a registry. Reads the pull secrets.
    pub(crate) fn options(self) -> Result<Options, Error> {
        Ok(self.connections(None, None)?.0)
    }

    /// Returns the connections to the registries of a source and of a destination, each with the
    /// credentials of its own file, or else with those for both. Reads the pull secrets, which are
    /// only for the source.
    pub(crate) fn connections(
        self,
        source: Option<PathBuf>,
        destination: Option<PathBuf>,
    ) -> Result<(Options, Options), Error> {
        let secrets = connection::read_pull_secrets(&Connection::default(), &self.pull_secret)?;
        let cache = self.cache.open();
        let connections = Connections::default();
        let options = |authfile: Option<PathBuf>, secrets| {
            let mut client = self.client.clone();
            client.authfile = authfile.or(client.authfile);
            let (cache, connections) = (cache.clone(), connections.clone());
            client.options(secrets).with_cache(cache).with_connections(connections)
        };
        Ok((options(source, secrets), options(destination, Vec::new())))
    }
}

/// The arguments about the connection to a registry.
#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Registry")]
pub(crate) struct RegistryClient {
    /// File with credentials for registries
    ///
    /// The default is `REGISTRY_AUTH_FILE`, else the files in which podman and docker store
    /// credentials.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    authfile: Option<PathBuf>,

    /// PEM file with CA certificates to trust in addition to those of this machine
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    ca_file: Option<PathBuf>,

    /// Whether to require TLS and a trusted certificate
    ///
    /// With `false`, the command accepts any certificate, and registries without TLS. It may then
    /// send credentials unencrypted, and to anyone.
    #[arg(
        long,
        value_name = "BOOL",
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        action = ArgAction::Set,
        hide_short_help = true
    )]
    tls_verify: bool,

    /// Connect to the registry without TLS; credentials are then sent unencrypted
    #[arg(long, hide_short_help = true)]
    plain_http: bool,
}

impl ImageArgs {
    /// Parses the platform, and reads the pull secrets.
    pub(crate) fn resolve(self) -> Result<source::Images, Error> {
        Ok(self.resolve_with_destination()?.0)
    }

    /// Parses the platform, and reads the pull secrets, which are only for the images that are
    /// read. Also returns the connection to the registry of an image that is written.
    pub(crate) fn resolve_with_destination(self) -> Result<(source::Images, Options), Error> {
        let platform = self.platform.as_deref().map(str::parse).transpose()?;
        let (registry, destination) = self.registry.connections(None, None)?;
        Ok((source::Images { platform, registry }, destination))
    }
}

impl RegistryClient {
    /// Returns the connection to a registry. The credentials of the pull secrets come first.
    pub(crate) fn options(self, secrets: Vec<connection::SecretCredentials>) -> Options {
        let Self { authfile, ca_file, tls_verify, plain_http } = self;
        let tls = Tls { insecure: !tls_verify, authorities: ca_file, ..Tls::from_env() };
        Options::default()
            .with_plain_http(plain_http)
            .with_tls(tls)
            .with_configuration(Configuration::from_env())
            .with_auth(stored_auth(authfile, secrets))
    }
}

/// Returns the credentials of the pull secrets, and those of `authfile` or of the files of podman
/// and docker.
pub(crate) fn stored_auth(
    authfile: Option<PathBuf>,
    secrets: Vec<connection::SecretCredentials>,
) -> Auth {
    let files = authfile.map_or_else(Stored::from_env, Stored::file);
    Auth::Stored(secrets.into_iter().fold(
        files,
        |stored, connection::SecretCredentials { origin, config }| {
            stored.with_pull_secret(origin, config)
        },
    ))
}

fn secret(text: &str) -> Result<PullSecret, crate::object_name::Error> {
    let (namespace, name) = match text.split_once('/') {
        Some((namespace, name)) => (Some(crate::object_name::parse_namespace(namespace)?), name),
        None => (None, text),
    };
    Ok(PullSecret { namespace, name: crate::object_name::parse(name)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_secret_is_named_with_or_without_its_namespace() {
        let named = |namespace: Option<&str>, name: &str| PullSecret {
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        };
        assert_eq!(secret("pull.a").unwrap(), named(None, "pull.a"));
        assert_eq!(secret("team/pull").unwrap(), named(Some("team"), "pull"));
        for text in ["", "/pull", "team/", "a/b/c", "a.b/pull", "Pull"] {
            assert!(secret(text).is_err(), "{text}");
        }
    }
}
