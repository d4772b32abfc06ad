//! [`Bundle`]: one version of one operator.

use serde::{Serialize, Serializer};
use unlade_bundle::{Api, Definition, Dependency, Property};

use crate::Object;

/// One version of one operator. Its JSON has the fields of upstream's `api.Bundle`
/// (operator-registry `pkg/api/registry.proto`). The other fields are not serialized.
///
/// Fields that a bundle does not set are empty, never absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Bundle {
    /// `metadata.name` of the CSV. Empty without a CSV.
    pub csv_name: String,
    /// The name of the package, from the annotations.
    pub package_name: String,
    /// The default channel if it is one of the bundle's own channels, else the first of these.
    pub channel_name: String,
    /// The CSV as JSON, as Go writes it, with a final newline. Empty without a CSV.
    pub csv_json: String,
    /// The objects, including the CSV, in the bytewise order of their ConfigMap keys. In JSON, they
    /// are the texts of their files.
    #[serde(rename = "object", serialize_with = "serialize_texts")]
    pub objects: Vec<Object>,
    /// The image that the bundle was read from.
    pub bundle_path: String,
    /// The APIs of the CRDs in the bundle and of the APIServices that the CSV owns, sorted.
    pub provided_apis: Vec<Api>,
    /// The APIs that the CSV requires, sorted.
    pub required_apis: Vec<Api>,
    /// `spec.version` of the CSV.
    pub version: String,
    /// The annotation `olm.skipRange` of the CSV.
    pub skip_range: String,
    /// The dependencies in dependencies.yaml, in the same order.
    pub dependencies: Vec<Dependency>,
    /// The properties of properties.yaml, of the CSV, and those derived from the package and the
    /// provided APIs, without duplicates, sorted by type and value.
    pub properties: Vec<Property>,
    /// `spec.replaces` of the CSV.
    pub replaces: String,
    /// `spec.skips` of the CSV.
    pub skips: Vec<String>,

    /// The channels in the annotations, split at `,` and otherwise as written.
    #[serde(skip)]
    pub channels: Vec<String>,
    /// The default channel of the package, from the annotations. Empty if they do not name one.
    #[serde(skip)]
    pub default_channel: String,
    /// `spec.release` of the CSV.
    #[serde(skip)]
    pub release: String,
    /// The annotation `olm.substitutesFor` of the CSV.
    #[serde(skip)]
    pub substitutes_for: String,
    /// The CRDs that the CSV owns.
    #[serde(skip)]
    pub owned_crds: Vec<Definition>,
    /// The CRDs that the CSV requires.
    #[serde(skip)]
    pub required_crds: Vec<Definition>,
    /// The APIServices that the CSV owns.
    #[serde(skip)]
    pub owned_api_services: Vec<Definition>,
    /// The APIServices that the CSV requires.
    #[serde(skip)]
    pub required_api_services: Vec<Definition>,
    /// The properties of this bundle in a catalog: `properties`, and the dependencies and required
    /// APIs as `olm.package.required` and `olm.gvk.required` (upstream's
    /// `ObjectsAndPropertiesFromBundle`, without `olm.bundle.object`).
    #[serde(skip)]
    pub catalog_properties: Vec<Property>,
}

fn serialize_texts<S: Serializer>(objects: &[Object], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(objects.iter().map(Object::text))
}
