//! The arguments about registries.

use std::path::PathBuf;

use clap::Args as Group;
use unlade_registry::{Login, Options, credential::Stored};

#[derive(Debug, Group)]
#[command(next_help_heading = "Registry")]
pub(crate) struct Registry {
    /// File with logins for registries
    ///
    /// The default is `REGISTRY_AUTH_FILE`, else the files in which podman and docker store logins.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    authfile: Option<PathBuf>,

    /// Connect to the registry without TLS; a login is then sent unencrypted
    #[arg(long, hide_short_help = true)]
    plain_http: bool,
}

impl From<Registry> for Options {
    fn from(Registry { authfile, plain_http }: Registry) -> Self {
        let stored = authfile.map_or_else(Stored::from_env, Stored::file);
        Self { plain_http, login: Login::Stored(stored), ..Self::default() }
    }
}
