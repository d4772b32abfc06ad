//! [`Bundle`]: one version of one operator.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{Dependency, Object, Property};

/// One version of one operator, with the fields of upstream's `api.Bundle` (operator-registry
/// `pkg/api/registry.proto`) in its JSON, and more beside them.
///
/// Fields that a bundle does not set are empty, never absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Bundle {
    /// `metadata.name` of the CSV; empty without one.
    pub csv_name: String,
    /// The package, from the annotations.
    pub package_name: String,
    /// The default channel if it is one of the bundle's own channels, else its first.
    pub channel_name: String,
    /// The CSV as Go's JSON with a final newline; empty without one.
    pub csv_json: String,
    /// The objects by ConfigMap key in byte order, the CSV among them; their raw texts in JSON.
    #[serde(rename = "object", serialize_with = "texts")]
    pub objects: Vec<Object>,
    /// The image that the bundle came from.
    pub bundle_path: String,
    /// The APIs of the CRDs that are present and of the APIServices that the CSV owns, sorted.
    pub provided_apis: Vec<Api>,
    /// The APIs that the CSV requires, sorted.
    pub required_apis: Vec<Api>,
    /// `spec.version` of the CSV.
    pub version: String,
    /// The annotation `olm.skipRange` of the CSV.
    pub skip_range: String,
    /// What dependencies.yaml lists, in its order.
    pub dependencies: Vec<Dependency>,
    /// The properties of properties.yaml, of the CSV, and those derived from package and provided
    /// APIs; without duplicates, sorted by type and value.
    pub properties: Vec<Property>,
    /// `spec.replaces` of the CSV.
    pub replaces: String,
    /// `spec.skips` of the CSV.
    pub skips: Vec<String>,

    /// The channels of the annotations, split at `,` and otherwise as written.
    #[serde(skip)]
    pub channels: Vec<String>,
    /// The default channel of the package, from the annotations; empty if they name none.
    #[serde(skip)]
    pub default_channel: String,
    /// `spec.release` of the CSV.
    #[serde(skip)]
    pub release: String,
    /// The annotation `olm.substitutesFor` of the CSV.
    #[serde(skip)]
    pub substitutes_for: String,
    /// CRDs that the CSV lists as its own.
    #[serde(skip)]
    pub owned_crds: Vec<Definition>,
    /// CRDs that the CSV requires.
    #[serde(skip)]
    pub required_crds: Vec<Definition>,
    /// APIServices that the CSV lists as its own.
    #[serde(skip)]
    pub owned_api_services: Vec<Definition>,
    /// APIServices that the CSV requires.
    #[serde(skip)]
    pub required_api_services: Vec<Definition>,
    /// What a catalog says of this bundle: `properties`, and the dependencies and required APIs as
    /// `olm.package.required` and `olm.gvk.required` (upstream's
    /// `ObjectsAndPropertiesFromBundle`, without `olm.bundle.object`).
    #[serde(skip)]
    pub catalog_properties: Vec<Property>,
}

/// An API: what upstream calls `GroupVersionKind` or `APIKey`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Api {
    /// Its group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its kind.
    pub kind: String,
    /// Its name in URLs.
    pub plural: String,
}

/// A CRD or an APIService that a CSV lists.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Definition {
    /// The group; CSVs leave it out for CRDs, whose name has it.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// For a CRD `<plural>.<group>`, for an APIService the plural.
    pub name: String,
    /// The version.
    pub version: String,
}

impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, version, kind, plural } = self;
        write!(f, "{group}/{version}/{kind} ({plural})")
    }
}

fn texts<S: Serializer>(objects: &[Object], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(objects.iter().map(Object::text))
}
