//! Conversion of ConfigMaps from the types of the client to those of the format.

use k8s_openapi::api::core::v1::ConfigMap;
use unlade_config_map as encoded;
use unlade_loader::{self as loader, Manifest};

/// Loads the bundle from a ConfigMap of the API server.
pub(crate) fn load(
    config_map: &ConfigMap,
    options: &loader::Options,
) -> Result<Manifest, loader::Error> {
    loader::load_config_maps(&[of_format(config_map)], options)
}

/// Converts a ConfigMap to the types of the format.
pub(crate) fn of_format(config_map: &ConfigMap) -> encoded::ConfigMap {
    let metadata = &config_map.metadata;
    let mut converted = encoded::ConfigMap::new(
        metadata.name.clone().unwrap_or_default(),
        metadata.namespace.clone().unwrap_or_default(),
    );
    converted.metadata.labels = metadata.labels.clone().unwrap_or_default();
    converted.metadata.annotations = metadata.annotations.clone().unwrap_or_default();
    converted.data = config_map.data.clone().unwrap_or_default();
    let bytes = config_map.binary_data.iter().flatten();
    converted.binary_data =
        bytes.map(|(key, bytes)| (key.clone(), encoded::object::Bytes(bytes.0.clone()))).collect();
    converted
}
