//! ConfigMaps as upstream writes them: no marks, six annotations, and every file under its key.

use std::{collections::BTreeMap, io::Write};

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::{Compression, write::GzEncoder};
use serde_json::json;
use unlade_bundle::key::ConfigMapKey;
use unlade_config_map::ConfigMap;
use unlade_tests::corpus::{Sample, golden::Populated};

/// Returns the ConfigMaps that upstream fills with a bundle, plain and compressed, according to its
/// recorded answer.
///
/// A plain value that is not UTF-8 cannot be sent to an API server, so such ConfigMaps are left
/// out.
pub(crate) fn config_maps(sample: &Sample) -> Vec<ConfigMap> {
    let files: BTreeMap<String, Vec<u8>> = sample
        .files()
        .into_iter()
        .filter_map(|file| {
            Some((ConfigMapKey::from_file_name(&file.name).ok()?.to_string(), file.bytes))
        })
        .collect();
    let plain = sample.golden.plain.as_ref().and_then(|golden| config_map(golden, &files));
    let gzip = sample.golden.gzip.as_ref().and_then(|golden| config_map(golden, &files));
    plain.into_iter().chain(gzip).collect()
}

fn config_map(golden: &Populated, files: &BTreeMap<String, Vec<u8>>) -> Option<ConfigMap> {
    if golden.error.is_some() {
        return None;
    }
    let mut data = BTreeMap::new();
    let mut binary_data = BTreeMap::new();
    for key in &golden.keys {
        // Upstream also writes keys that no API server accepts.
        let bytes = files.get(&key.key)?;
        assert_eq!(bytes.len() as u64, key.size, "{}", key.key);
        if key.field == "data" {
            data.insert(&key.key, String::from_utf8(bytes.clone()).ok()?);
        } else {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
            gzip.write_all(bytes).unwrap();
            let value = STANDARD.encode(gzip.finish().unwrap());
            binary_data.insert(&key.key, STANDARD.encode(value));
        }
    }
    let config_map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "upstream", "annotations": golden.annotations },
        "data": data,
        "binaryData": binary_data,
    });
    Some(serde_json::from_value(config_map).unwrap())
}
