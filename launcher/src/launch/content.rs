//! The content of a ConfigMap that the unpacker of a launch has filled.

use k8s_openapi::api::core::v1::ConfigMap;
use unlade_bundle::Limits;
use unlade_config_map::{Decoded, decode};

/// Decodes content that the unpacker of a launch wrote, and checks that OLM reads the same content.
///
/// # Errors
///
/// Returns how the ConfigMap differs from what the unpacker writes.
pub(super) fn decode_written(config_map: &ConfigMap) -> Result<Decoded, String> {
    let config_map = config_map.into();
    let decoded = decode(std::slice::from_ref(&config_map), &Limits::default());
    let decoded = decoded.map_err(|error| unlade_text::chain(&error))?;
    if decoded.exposes_metadata() {
        return Err("OLM reads a file of metadata/ in it as an object of the bundle".to_owned());
    }
    Ok(decoded)
}
