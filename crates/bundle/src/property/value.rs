//! The values of the properties and dependencies that OLM knows (operator-registry
//! `alpha/property/property.go`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{GVK, GVK_REQUIRED, PACKAGE, PACKAGE_REQUIRED, Property};
use crate::{
    Api,
    json::{Malformed, encode, parse_fields, text_field},
};

/// The value of [`olm.package`](PACKAGE): the package of a bundle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Package {
    /// The name of the package.
    #[serde(rename = "packageName")]
    pub name: String,
    /// The version of the bundle, as written. [`version::parse`](crate::version::parse) parses it.
    pub version: String,
    /// The release of the bundle. Empty if it has none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub release: String,
}

/// The value of [`olm.package.required`](PACKAGE_REQUIRED): a package in a range of versions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PackageRequired {
    /// The name of the package.
    #[serde(rename = "packageName")]
    pub name: String,
    /// The range as written. [`Range`](crate::version::Range) parses it.
    #[serde(rename = "versionRange")]
    pub range: String,
}

/// The value of [`olm.gvk`](GVK) and [`olm.gvk.required`](GVK_REQUIRED): an API.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gvk {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The API version.
    pub version: String,
}

impl Package {
    /// Parses the value of an `olm.package`.
    ///
    /// # Errors
    ///
    /// Returns an error if `value` is not a JSON object, or if a field is not text.
    pub fn parse(value: &str) -> Result<Self, Malformed> {
        let fields = parse_fields(value)?;
        let text = |name| text_field(&fields, name);
        Ok(Self {
            name: text("packageName")?,
            version: text("version")?,
            release: text("release")?,
        })
    }

    /// Returns the property with this value, as upstream writes it in a catalog.
    pub fn to_property(&self) -> Property {
        property(PACKAGE, self)
    }
}

impl PackageRequired {
    /// Parses the value of an `olm.package.required`.
    ///
    /// # Errors
    ///
    /// Returns an error if `value` is not a JSON object, or if a field is not text.
    pub fn parse(value: &str) -> Result<Self, Malformed> {
        Self::from_fields(&parse_fields(value)?, "versionRange")
    }

    /// Parses the value of an `olm.package` dependency, which has the range as its version.
    pub(super) fn parse_dependency(value: &str) -> Result<Self, Malformed> {
        Self::from_fields(&parse_fields(value)?, "version")
    }

    pub(crate) fn from_fields(fields: &Map<String, Value>, range: &str) -> Result<Self, Malformed> {
        Ok(Self { name: text_field(fields, "packageName")?, range: text_field(fields, range)? })
    }

    /// Returns the property with this value, as upstream writes it in a catalog.
    pub fn to_property(&self) -> Property {
        property(PACKAGE_REQUIRED, self)
    }
}

impl Gvk {
    /// Parses the value of an `olm.gvk` or an `olm.gvk.required`.
    ///
    /// # Errors
    ///
    /// Returns an error if `value` is not a JSON object, or if a field is not text.
    pub fn parse(value: &str) -> Result<Self, Malformed> {
        Self::from_fields(&parse_fields(value)?)
    }

    pub(crate) fn from_fields(fields: &Map<String, Value>) -> Result<Self, Malformed> {
        let text = |name| text_field(fields, name);
        Ok(Self { group: text("group")?, kind: text("kind")?, version: text("version")? })
    }

    /// Returns the `olm.gvk` of a provided API, as upstream writes it in a catalog.
    pub fn to_property(&self) -> Property {
        property(GVK, self)
    }

    /// Returns the `olm.gvk.required` of a required API, as upstream writes it in a catalog.
    pub fn to_required_property(&self) -> Property {
        property(GVK_REQUIRED, self)
    }
}

impl From<&Api> for Gvk {
    fn from(api: &Api) -> Self {
        let Api { group, version, kind, .. } = api.clone();
        Self { group, kind, version }
    }
}

/// Parses the value of an `olm.label`.
pub(super) fn parse_label(value: &str) -> Result<String, Malformed> {
    text_field(&parse_fields(value)?, "label")
}

fn property(kind: &str, value: &impl Serialize) -> Property {
    Property { kind: kind.to_owned(), value: encode(value) }
}
