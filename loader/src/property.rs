//! [`Property`] and [`Dependency`]: statements of a bundle about itself, and its requirements.

use serde::Serialize;

use crate::constraint::{self, Constraint};

mod annotation;
mod derive;

pub(crate) use annotation::from_annotation;
pub(crate) use derive::{Basis, Origins, catalog, derive};

/// The type of a property or dependency: a package, with its version or a range.
pub const PACKAGE: &str = "olm.package";
/// The type of a property or dependency: an API.
pub const GVK: &str = "olm.gvk";
/// The type of a dependency: a bundle with this label.
pub const LABEL: &str = "olm.label";
/// The type of a property in a catalog: a required package, with a range.
pub const PACKAGE_REQUIRED: &str = "olm.package.required";
/// The type of a property in a catalog: a required API.
pub const GVK_REQUIRED: &str = "olm.gvk.required";
/// The type of a property or dependency: a rule about the properties of other bundles.
pub const CONSTRAINT: &str = "olm.constraint";

/// A statement of a bundle about itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Property {
    /// The type of the value, such as `olm.gvk`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value as JSON text. Empty if it is missing.
    pub value: String,
}

/// A requirement of a bundle on other bundles.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Dependency {
    /// The type of the value, such as `olm.package`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value as JSON text. Empty if it is missing.
    pub value: String,
}

impl Property {
    /// Parses the constraint of the property. Returns `None` if its type is not a constraint.
    ///
    /// # Errors
    ///
    /// Returns an error if the value does not fit the type.
    pub fn constraint(&self) -> Result<Option<Constraint>, constraint::Error> {
        match self.kind.as_str() {
            PACKAGE_REQUIRED => constraint::parse_package(&self.value, "versionRange").map(Some),
            GVK_REQUIRED => constraint::parse_gvk(&self.value).map(Some),
            CONSTRAINT => constraint::parse(&self.value).map(Some),
            _ => Ok(None),
        }
    }
}

impl Dependency {
    /// Parses the constraint of the dependency. Returns `None` if its type is unknown.
    ///
    /// # Errors
    ///
    /// Returns an error if the value does not fit the type.
    pub fn constraint(&self) -> Result<Option<Constraint>, constraint::Error> {
        match self.kind.as_str() {
            PACKAGE => constraint::parse_package(&self.value, "version").map(Some),
            GVK => constraint::parse_gvk(&self.value).map(Some),
            LABEL => constraint::parse_label(&self.value).map(Some),
            CONSTRAINT => constraint::parse(&self.value).map(Some),
            _ => Ok(None),
        }
    }
}
