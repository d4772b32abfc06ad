//! [`ConfigMap`]: the fields of the Kubernetes object that unlade uses.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use unlade_text::excerpt;
use unlade_yaml::{base64, json::value_memory};

/// The maximum size of all values of `data` and `binaryData` together, in bytes. The API server
/// rejects larger ones (`ValidateConfigMap`: `MaxSecretSize`). Keys and metadata do not count.
pub const VALUES_SIZE: usize = 1 << 20;

/// The maximum memory for the values of a JSON text, in bytes, as [`value_memory`] estimates it. An
/// object with 1 MiB of values and 1,000 keys needs a few MiB.
const MAX_MEMORY: usize = 32 << 20;

/// A `v1` ConfigMap. Unknown fields are kept unchanged.
///
/// Go writes absent maps as `null`. They are read as empty maps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMap {
    /// The API version, which is always `v1`.
    pub api_version: String,
    /// The kind, which is always `ConfigMap`.
    pub kind: String,
    /// The metadata of the object.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// The values that are UTF-8 text.
    #[serde(default, deserialize_with = "map", skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
    /// The values that are arbitrary bytes. They are base64 in JSON.
    #[serde(default, deserialize_with = "map", skip_serializing_if = "BTreeMap::is_empty")]
    pub binary_data: BTreeMap<String, Bytes>,
    /// The other fields, such as `immutable`.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

/// The metadata of a ConfigMap.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// The name of the object.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace of the object.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The labels of the object.
    #[serde(default, deserialize_with = "map", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The annotations of the object.
    #[serde(default, deserialize_with = "map", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// The other fields, such as `resourceVersion` and `ownerReferences`.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

/// Bytes that are base64 in JSON.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

/// An error that prevents a JSON text from being read as a ConfigMap.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not JSON, or a field has the wrong type.
    #[error("failed to read the ConfigMap")]
    Json(#[source] serde_json::Error),
    /// The text has so many values that they would need too much memory. A ConfigMap needs about as
    /// much as its text, because its values are strings.
    #[error("the values of the ConfigMap need more than {} MiB of memory", MAX_MEMORY >> 20)]
    Memory,
    /// The object has another kind or API version.
    #[error(
        "the object has kind {:?} and apiVersion {:?}, not kind \"ConfigMap\" and apiVersion \
         \"v1\"",
        excerpt::shorten(.kind),
        excerpt::shorten(.api_version)
    )]
    Kind {
        /// The kind of the object. Empty if it has none.
        kind: String,
        /// The API version of the object. Empty if it has none.
        api_version: String,
    },
}

impl ConfigMap {
    /// Creates an empty ConfigMap. An empty `namespace` is left out.
    pub fn new(name: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            metadata: Metadata {
                name: name.into(),
                namespace: namespace.into(),
                ..Metadata::default()
            },
            data: BTreeMap::new(),
            binary_data: BTreeMap::new(),
            rest: serde_json::Map::new(),
        }
    }

    /// Parses one ConfigMap from JSON. The caller must limit the size of the input.
    ///
    /// # Errors
    ///
    /// Returns an error if `json` is not JSON, is not a `v1` ConfigMap, or would need more than 32
    /// MiB of memory.
    pub fn parse_json(json: &[u8]) -> Result<Self, Error> {
        if value_memory(json) > MAX_MEMORY {
            return Err(Error::Memory);
        }
        Self::from_json(serde_json::from_slice(json).map_err(Error::Json)?)
    }

    /// Converts a JSON value into a ConfigMap.
    ///
    /// # Errors
    ///
    /// Returns an error if `value` is not a `v1` ConfigMap.
    pub fn from_json(value: serde_json::Value) -> Result<Self, Error> {
        let field = |name| {
            value.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
        };
        let (kind, api_version) = (field("kind"), field("apiVersion"));
        if kind != "ConfigMap" || api_version != "v1" {
            return Err(Error::Kind { kind, api_version });
        }
        serde_json::from_value(value).map_err(Error::Json)
    }

    /// Returns the size of all values in bytes, as the API server compares it with [`VALUES_SIZE`].
    pub fn values_size(&self) -> usize {
        self.data.values().map(String::len).sum::<usize>()
            + self.binary_data.values().map(|bytes| bytes.0.len()).sum::<usize>()
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({} bytes)", self.0.len())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&base64::encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        base64::decode(text.as_bytes()).map(Self).map_err(de::Error::custom)
    }
}

/// Deserializes a field that may be `null`, which Go's decoder reads as the empty value.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Deserializes a map that may be `null`, and whose values may be `null`.
fn map<'de, D, T>(deserializer: D) -> Result<BTreeMap<String, T>, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    let values: Option<BTreeMap<String, Option<T>>> = Option::deserialize(deserializer)?;
    Ok(values
        .unwrap_or_default()
        .into_iter()
        .map(|(key, value)| (key, value.unwrap_or_default()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_an_unknown_field_survives() {
        let number = format!("194{}", "2".repeat(90));
        let json = format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"x\":{number}}}");
        let read = ConfigMap::parse_json(json.as_bytes()).unwrap();
        let written = serde_json::to_vec(&read).unwrap();
        assert_eq!(ConfigMap::parse_json(&written).unwrap(), read);
    }

    #[test]
    fn unknown_fields_that_need_much_memory_are_refused() {
        let with = |x: String| {
            let json = format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"x\":{x}}}");
            ConfigMap::parse_json(json.as_bytes())
        };
        let maps = |n| format!("[{}]", vec!["{\"a\":0}"; n].join(","));
        let fields = |n| {
            let fields: Vec<_> = (0..n).map(|n| format!("\"{n:05}\":0")).collect();
            format!("{{{}}}", fields.join(","))
        };
        assert!(with(maps(10_000)).is_ok() && with(fields(10_000)).is_ok());
        for error in [with(maps(50_000)), with(fields(200_000))] {
            assert!(matches!(error, Err(Error::Memory)), "{error:?}");
        }
    }

    #[test]
    fn unknown_fields_survive() {
        let json = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","ownerReferences":[{"kind":"Job"}],"uid":"u"},"binaryData":{"b":"AP8="},"immutable":true}"#;
        let config_map = ConfigMap::parse_json(json.as_bytes()).unwrap();
        assert_eq!(config_map.binary_data["b"].0, [0, 255]);
        assert_eq!(serde_json::to_string(&config_map).unwrap(), json);
    }

    #[test]
    fn nulls_of_go_are_empty() {
        let json = br#"{"apiVersion":"v1","kind":"ConfigMap","data":null,"binaryData":{"a":null},
            "metadata":{"name":null,"labels":null,"annotations":{"a":null},"creationTimestamp":null}}"#;
        let config_map = ConfigMap::parse_json(json).unwrap();
        assert!(config_map.data.is_empty());
        assert_eq!(config_map.binary_data["a"].0, b"");
        assert_eq!(config_map.metadata.annotations["a"], "");
        assert_eq!(config_map.metadata.rest["creationTimestamp"], serde_json::Value::Null);
    }

    #[test]
    fn an_error_names_the_kind_and_the_version_of_another_object() {
        let message = |json: &str| ConfigMap::parse_json(json.as_bytes()).unwrap_err().to_string();
        assert!(message(r#"{"apiVersion":"v1","kind":"Secret"}"#).contains("Secret"));
        assert!(message(r#"{"apiVersion":"v2","kind":"ConfigMap"}"#).contains("v2"));
        assert!(message("[]").contains("not kind \"ConfigMap\""));
    }
}
