//! The registry of a cluster that is not a testbed.

use std::env;
use std::path::Path;

use unlade_name::ImageReference;
use unlade_oci::Source;
use unlade_registry::{Auth, Options, push};

use super::CLUSTER;

/// The variable that names the registry: host, optional port, and optional prefix of repositories.
const NAME: &str = "UNLADE_REGISTRY";
/// The variable that turns TLS off, if it is `1`.
const PLAIN_HTTP: &str = "UNLADE_REGISTRY_PLAIN_HTTP";
/// The variable with the credentials as `USER:PASSWORD`, which `cargo xtask image` reads too.
const CREDENTIALS: &str = "UNLADE_REGISTRY_CREDENTIALS";

#[derive(Debug)]
pub(super) struct Registry {
    name: String,
    options: Options,
}

impl Registry {
    /// # Panics
    ///
    /// Panics if the environment does not name a registry.
    pub(super) fn from_env() -> Self {
        let text = |variable| env::var(variable).ok().filter(|value| !value.is_empty());
        let name = text(NAME).unwrap_or_else(|| panic!("{CLUSTER} needs {NAME}"));
        let auth = text(CREDENTIALS).map_or(Auth::Anonymous, |both| {
            Auth::Credentials(both.parse().unwrap_or_else(|error| panic!("{CREDENTIALS}: {error}")))
        });
        let plain_http = text(PLAIN_HTTP).is_some_and(|value| value == "1");
        Self { name, options: Options::default().with_plain_http(plain_http).with_auth(auth) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// # Panics
    ///
    /// Panics if the registry does not accept the image.
    pub(super) fn push(&self, archive: &Path, name: &str) -> String {
        let full = format!("{}/{name}", self.name);
        let image: ImageReference = full.parse().unwrap_or_else(|error| panic!("{NAME}: {error}"));
        let pushed = push(&Source::Path(archive.to_owned()), &image, &self.options);
        let digest = pushed.unwrap_or_else(|error| panic!("{full}: {error:?}"));
        format!("{}/{}@{digest}", image.registry(), image.repository())
    }
}
