//! Conversions from and to the type of the crate `k8s-openapi`. They keep every field.

use k8s_openapi::api::core::v1::ConfigMap as ApiConfigMap;
use serde_json::{Map, Value};

use crate::object::{Bytes, ConfigMap, Error, Metadata};

impl From<&ApiConfigMap> for ConfigMap {
    fn from(from: &ApiConfigMap) -> Self {
        let ApiConfigMap { metadata, data, binary_data, immutable } = from;
        let bytes = binary_data.iter().flatten();
        let mut others = metadata.clone();
        let metadata = Metadata {
            name: others.name.take().unwrap_or_default(),
            namespace: others.namespace.take().unwrap_or_default(),
            labels: others.labels.take().unwrap_or_default(),
            annotations: others.annotations.take().unwrap_or_default(),
            // Every field has a JSON form, so this does not fail.
            rest: match serde_json::to_value(others) {
                Ok(Value::Object(fields)) => fields,
                _ => Map::new(),
            },
        };
        let immutable = immutable.map(|it| ("immutable".to_owned(), it.into()));
        Self {
            metadata,
            data: data.clone().unwrap_or_default(),
            binary_data: bytes.map(|(key, it)| (key.clone(), Bytes(it.0.clone()))).collect(),
            rest: immutable.into_iter().collect(),
            ..Self::new("", "")
        }
    }
}

/// Fails if an unknown field that was kept is a field of a ConfigMap with another type.
///
/// ```
/// use k8s_openapi::api::core::v1;
/// use unlade_config_map::ConfigMap;
///
/// let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","uid":"u"}}"#;
/// let config_map = v1::ConfigMap::try_from(ConfigMap::parse_json(json)?)?;
/// assert_eq!(config_map.metadata.uid.as_deref(), Some("u"));
/// # Ok::<(), unlade_config_map::object::Error>(())
/// ```
impl TryFrom<ConfigMap> for ApiConfigMap {
    type Error = Error;

    fn try_from(from: ConfigMap) -> Result<Self, Error> {
        serde_json::to_value(from).and_then(serde_json::from_value).map_err(Error::Json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","labels":{"olm.managed":"true"},"annotations":{"c":"d"},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u"}],"uid":"v"},"data":{"e":"f"},"binaryData":{"g":"AP8="},"immutable":true}"#;

    #[test]
    fn every_field_survives_both_conversions() {
        let ours = ConfigMap::parse_json(JSON.as_bytes()).unwrap();
        let theirs = ApiConfigMap::try_from(ours.clone()).unwrap();
        assert_eq!(theirs.binary_data.as_ref().unwrap()["g"].0, [0, 255]);
        assert_eq!(ConfigMap::from(&theirs), ours);
    }

    #[test]
    fn a_field_of_another_type_is_an_error() {
        let json = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"uid":1}}"#;
        let ours = ConfigMap::parse_json(json.as_bytes()).unwrap();
        assert!(ApiConfigMap::try_from(ours).is_err());
    }
}
