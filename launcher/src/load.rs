//! Loads bundles from the ConfigMaps of the API server.

use k8s_openapi::api::core::v1::ConfigMap;
use unlade_loader::{self as loader, Loaded};

/// Loads the bundle from a ConfigMap of the API server.
pub(crate) fn load_bundle(
    config_map: &ConfigMap,
    options: &loader::Options,
) -> Result<Loaded, loader::Error> {
    loader::load_config_maps(&[config_map.into()], options)
}
