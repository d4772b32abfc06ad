//! Conversion of ConfigMaps from the types of the client to those of `unlade-config-map`.

use k8s_openapi::api::core::v1::ConfigMap;
use unlade_loader::{self as loader, Loaded};

/// Loads the bundle from a ConfigMap of the API server.
pub(crate) fn load(
    config_map: &ConfigMap,
    options: &loader::Options,
) -> Result<Loaded, loader::Error> {
    loader::load_config_maps(&[to_config_map(config_map)], options)
}

/// Converts a ConfigMap of the API server.
pub(crate) fn to_config_map(config_map: &ConfigMap) -> unlade_config_map::ConfigMap {
    let metadata = &config_map.metadata;
    let mut converted = unlade_config_map::ConfigMap::new(
        metadata.name.clone().unwrap_or_default(),
        metadata.namespace.clone().unwrap_or_default(),
    );
    converted.metadata.labels = metadata.labels.clone().unwrap_or_default();
    converted.metadata.annotations = metadata.annotations.clone().unwrap_or_default();
    converted.data = config_map.data.clone().unwrap_or_default();
    let bytes = config_map.binary_data.iter().flatten();
    converted.binary_data = bytes
        .map(|(key, bytes)| (key.clone(), unlade_config_map::object::Bytes(bytes.0.clone())))
        .collect();
    converted
}
