//! The registry of a cluster that isn't a testbed.

use std::env;
use std::path::Path;

use unlade_oci::Source;
use unlade_registry::{Name, Options, push};

use super::CLUSTER;

/// Names it: host, port if need be, and perhaps the start of the repositories' names.
const NAME: &str = "UNLADE_REGISTRY";
/// Set to `1`, it is spoken to without TLS.
const PLAIN_HTTP: &str = "UNLADE_REGISTRY_PLAIN_HTTP";
/// Who pushes, as `USER:PASSWORD`, if it asks; `cargo xtask image` reads it too.
const CREDENTIALS: &str = "UNLADE_REGISTRY_CREDENTIALS";

#[derive(Debug)]
pub(super) struct Registry {
    name: String,
    options: Options,
}

impl Registry {
    /// # Panics
    ///
    /// If the environment doesn't name one.
    pub(super) fn from_env() -> Self {
        let text = |variable| env::var(variable).ok().filter(|value| !value.is_empty());
        let name = text(NAME).unwrap_or_else(|| panic!("{CLUSTER} needs {NAME}"));
        let credentials = text(CREDENTIALS)
            .map(|both| both.parse().unwrap_or_else(|error| panic!("{CREDENTIALS}: {error}")));
        let plain_http = text(PLAIN_HTTP).is_some_and(|value| value == "1");
        Self { name, options: Options { plain_http, credentials } }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// # Panics
    ///
    /// If it doesn't take the image.
    pub(super) fn push(&self, archive: &Path, name: &str) -> String {
        let full = format!("{}/{name}", self.name);
        let name: Name = full.parse().unwrap_or_else(|error| panic!("{NAME}: {error}"));
        let pushed = push(&Source::Path(archive.to_owned()), &name, &self.options);
        let digest = pushed.unwrap_or_else(|error| panic!("{full}: {error:?}"));
        format!("{}/{}@{digest}", name.registry, name.repository)
    }
}
