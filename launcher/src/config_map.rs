//! The ConfigMap as the client knows it, and as the format does.

use k8s_openapi::api::core::v1::ConfigMap;
use unlade_config_map as encoded;
use unlade_loader::{self as loader, Manifest};

/// The bundle in a ConfigMap of the API server's.
pub(crate) fn load(
    config_map: &ConfigMap,
    options: &loader::Options,
) -> Result<Manifest, loader::Error> {
    loader::load_config_maps(&[of_format(config_map)], options)
}

/// The same object in the types of the format.
pub(crate) fn of_format(config_map: &ConfigMap) -> encoded::ConfigMap {
    let metadata = &config_map.metadata;
    let mut same = encoded::ConfigMap::new(
        metadata.name.clone().unwrap_or_default(),
        metadata.namespace.clone().unwrap_or_default(),
    );
    same.metadata.labels = metadata.labels.clone().unwrap_or_default();
    same.metadata.annotations = metadata.annotations.clone().unwrap_or_default();
    same.data = config_map.data.clone().unwrap_or_default();
    let bytes = config_map.binary_data.iter().flatten();
    same.binary_data =
        bytes.map(|(key, bytes)| (key.clone(), encoded::object::Bytes(bytes.0.clone()))).collect();
    same
}
