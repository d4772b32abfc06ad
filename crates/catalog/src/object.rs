//! The objects of a bundle, which are the properties of the type `olm.bundle.object`.

use unlade_bundle::{csv, typed};
use unlade_yaml::{self as yaml, Limits, json::Value};

use crate::shape;

/// Returns the data in the value of a property. Returns `None` if the property has no data:
/// upstream decodes all objects into one variable, so such an object repeats the one before it.
pub(crate) fn data(value: Value<'_>) -> Option<Vec<u8>> {
    typed::last_field(value, "data").map(shape::bytes)
}

/// Converts the data of an object into JSON. JSON is kept as it is, and not read (apimachinery
/// `yaml.ToJSON`).
pub(crate) fn to_json(data: &[u8], limits: &Limits) -> Result<String, yaml::Error> {
    let text = String::from_utf8_lossy(data);
    if text.trim_start().starts_with('{') {
        return Ok(text.into_owned());
    }
    yaml::to_json(data, limits)
}

/// Checks whether an object is a ClusterServiceVersion. The letter case of the key matters, as in
/// upstream, which reads objects without a type (apimachinery `Unstructured.GetKind`).
pub(crate) fn is_csv(object: Value<'_>) -> bool {
    object.get("kind").and_then(|kind| kind.as_str()) == Some(csv::KIND)
}
