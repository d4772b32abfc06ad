//! The environment variables that name files and directories.

use std::env;
use std::path::PathBuf;

/// Returns the path in the environment variable `name`. An empty variable counts as unset, as it
/// does for podman and docker.
pub(crate) fn path(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
