//! [`ConfigMap`]: the Kubernetes object, as far as a bundle needs it.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use unlade_text::excerpt;

use crate::base64::STANDARD;

/// Most bytes in the values of `data` and `binaryData` together; longer ones are refused by the
/// API server (`ValidateConfigMap`: `MaxSecretSize`). Keys and metadata do not count.
pub const VALUES_SIZE: usize = 1 << 20;

/// A `v1` ConfigMap. Fields that are not named here are kept as they came.
///
/// Go writes absent maps as `null`; these are read as empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMap {
    /// `v1`.
    pub api_version: String,
    /// `ConfigMap`.
    pub kind: String,
    /// Name, labels, annotations.
    #[serde(default, deserialize_with = "or_default")]
    pub metadata: Metadata,
    /// UTF-8 values.
    #[serde(default, deserialize_with = "map", skip_serializing_if = "BTreeMap::is_empty")]
    pub data: BTreeMap<String, String>,
    /// Values of any bytes; base64 in JSON.
    #[serde(default, deserialize_with = "map", skip_serializing_if = "BTreeMap::is_empty")]
    pub binary_data: BTreeMap<String, Bytes>,
    /// Further fields, such as `immutable`.
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
    /// Labels.
    #[serde(default, deserialize_with = "map", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default, deserialize_with = "map", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
    /// Further fields, such as `resourceVersion` and `ownerReferences`.
    #[serde(flatten)]
    pub rest: serde_json::Map<String, serde_json::Value>,
}

/// Bytes that JSON carries as base64.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

/// Why a text is no ConfigMap.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no JSON, or a field has the wrong type.
    #[error("read the ConfigMap")]
    Json(#[source] serde_json::Error),
    /// An object of another kind or version.
    #[error(
        "the object is {:?} of apiVersion {:?}, not \"ConfigMap\" of \"v1\"",
        excerpt::cut(.kind),
        excerpt::cut(.api_version)
    )]
    Kind {
        /// Its `kind`; empty if it has none.
        kind: String,
        /// Its `apiVersion`; empty if it has none.
        api_version: String,
    },
}

impl ConfigMap {
    /// An empty ConfigMap of this name; an empty `namespace` is none.
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

    /// Reads one ConfigMap out of JSON. The caller bounds the input.
    ///
    /// # Errors
    ///
    /// If it is no JSON, or no `v1` ConfigMap.
    pub fn parse_json(json: &[u8]) -> Result<Self, Error> {
        Self::from_json(serde_json::from_slice(json).map_err(Error::Json)?)
    }

    /// Reads one ConfigMap out of a JSON value.
    ///
    /// # Errors
    ///
    /// If it is no `v1` ConfigMap.
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

    /// Bytes in all values, as the API server counts them against [`VALUES_SIZE`].
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
        serializer.serialize_str(&STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        crate::base64::decode(text.as_bytes()).map(Self).map_err(de::Error::custom)
    }
}

/// A field where Go's decoder takes `null` for the empty value.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A map, any of whose values may be `null` as well.
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
    fn other_objects_are_refused_by_name() {
        let message = |json: &str| ConfigMap::parse_json(json.as_bytes()).unwrap_err().to_string();
        assert!(message(r#"{"apiVersion":"v1","kind":"Secret"}"#).contains("Secret"));
        assert!(message(r#"{"apiVersion":"v2","kind":"ConfigMap"}"#).contains("v2"));
        assert!(message("[]").contains("not \"ConfigMap\""));
    }
}
