//! The types of `golden/` and `golden-full/`: the recorded answers of upstream's Go code.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The answer of upstream for a bundle.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Golden {
    /// The path of the bundle.
    pub bundle: String,
    /// Set only if upstream refuses the bundle with and without compression.
    pub error: Option<String>,
    /// The ConfigMap without compression.
    pub plain: Option<Populated>,
    /// The ConfigMap with compression.
    pub gzip: Option<Populated>,
    /// The result of the loader for both.
    pub load: Option<Loaded>,
    /// The result of the directory reader.
    pub registry: Option<Registry>,
}

/// A ConfigMap as upstream fills it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Populated {
    /// The error, if it was not filled.
    pub error: Option<String>,
    /// Its annotations.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
    /// Its keys in byte order.
    #[serde(default)]
    pub keys: Vec<Key>,
    /// The size that upstream compares with its limit.
    #[serde(default)]
    pub total_size: u64,
}

/// One key of a ConfigMap.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Key {
    /// The key.
    pub key: String,
    /// `data` or `binaryData`.
    pub field: String,
    /// Size of the decoded bytes.
    pub size: u64,
    /// SHA-256 of the decoded bytes, in hex.
    pub sha256: String,
    /// Size of the value as stored.
    pub encoded_size: u64,
}

/// The result of upstream's loader for the ConfigMap; it leaves all other fields empty.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Loaded {
    /// `metadata.name` of the CSV.
    #[serde(default)]
    pub csv_name: String,
    /// The size of its JSON.
    #[serde(default)]
    pub csv_json_size: usize,
    /// SHA-256 of its JSON, in hex.
    pub csv_json_sha256: String,
    /// Its JSON (golden-full only).
    pub csv_json: Option<String>,
    /// The objects in order.
    #[serde(default)]
    pub objects: Vec<Object>,
    /// The keys that do not decode.
    #[serde(default)]
    pub skipped: Vec<Skipped>,
}

/// One object that upstream loaded.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Object {
    /// Its key.
    pub key: String,
    /// Its kind; empty for a nil object.
    #[serde(default)]
    pub kind: String,
    /// Its `apiVersion`.
    #[serde(default)]
    pub api_version: String,
    /// Its `metadata.name`.
    #[serde(default)]
    pub name: String,
    /// The size of its text.
    pub size: usize,
    /// SHA-256 of its text, in hex.
    pub sha256: String,
    /// Its text (golden-full only).
    pub object: Option<String>,
    /// Its text where it is not UTF-8 (golden-full only).
    #[serde(rename = "objectBase64")]
    pub object_base64: Option<String>,
}

/// A key that upstream skipped.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skipped {
    /// The key.
    pub key: String,
    /// Go's error, cut at 300 bytes.
    pub error: String,
}

/// The result of upstream's directory reader for the bundle; absent fields are empty.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Registry {
    /// The error, if it refuses the bundle.
    pub error: Option<String>,
    /// The name of the CSV.
    pub name: String,
    /// The package.
    pub package: String,
    /// The channels.
    pub channels: Vec<String>,
    /// The default channel.
    pub default_channel: String,
    /// `spec.version`.
    pub version: String,
    /// `spec.release`.
    pub release: String,
    /// `olm.skipRange`.
    pub skip_range: String,
    /// `spec.replaces`.
    pub replaces: String,
    /// `spec.skips`.
    pub skips: Vec<String>,
    /// `olm.substitutesFor`.
    pub substitutes_for: String,
    /// Provided APIs, sorted.
    pub provided_apis: Vec<Api>,
    /// Required APIs, sorted.
    pub required_apis: Vec<Api>,
    /// Properties, sorted.
    pub properties: Vec<Typed>,
    /// Dependencies in their order.
    pub dependencies: Vec<Typed>,
    /// Properties as a catalog shows them, without `olm.bundle.object`.
    pub catalog_properties: Vec<Typed>,
}

/// An API.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Api {
    /// The group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The kind.
    pub kind: String,
    /// The plural.
    pub plural: String,
}

/// A property or a dependency.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typed {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its value.
    pub value: serde_json::Value,
}
