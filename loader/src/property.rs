//! [`Property`] and [`Dependency`]: what a bundle says of itself, and what it asks of others.

use serde::Serialize;

use crate::constraint::{self, Constraint};

mod annotation;
mod derive;

pub(crate) use annotation::from_annotation;
pub(crate) use derive::{Basis, Origins, catalog, derive};

/// Type of a property and of a dependency: a package, with its version or a range.
pub const PACKAGE: &str = "olm.package";
/// Type of a property and of a dependency: an API.
pub const GVK: &str = "olm.gvk";
/// Type of a dependency: a property `olm.label`.
pub const LABEL: &str = "olm.label";
/// Type of a property in a catalog: a package that is required, with a range.
pub const PACKAGE_REQUIRED: &str = "olm.package.required";
/// Type of a property in a catalog: an API that is required.
pub const GVK_REQUIRED: &str = "olm.gvk.required";
/// Type of a property and of a dependency: a rule over the properties of other bundles.
pub const CONSTRAINT: &str = "olm.constraint";

/// Something that a bundle says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Property {
    /// What the value means, such as `olm.gvk`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value as JSON text; empty if there is none.
    pub value: String,
}

/// Something that a bundle asks of others.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Dependency {
    /// What the value means, such as `olm.package`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value as JSON text; empty if there is none.
    pub value: String,
}

impl Property {
    /// What the property asks of other bundles; none if its type asks nothing.
    ///
    /// # Errors
    ///
    /// If the value does not fit the type.
    pub fn constraint(&self) -> Result<Option<Constraint>, constraint::Error> {
        match self.kind.as_str() {
            PACKAGE_REQUIRED => constraint::package(&self.value, "versionRange").map(Some),
            GVK_REQUIRED => constraint::gvk(&self.value).map(Some),
            CONSTRAINT => constraint::parse(&self.value).map(Some),
            _ => Ok(None),
        }
    }
}

impl Dependency {
    /// What the dependency asks; none if its type is not known.
    ///
    /// # Errors
    ///
    /// If the value does not fit the type.
    pub fn constraint(&self) -> Result<Option<Constraint>, constraint::Error> {
        match self.kind.as_str() {
            PACKAGE => constraint::package(&self.value, "version").map(Some),
            GVK => constraint::gvk(&self.value).map(Some),
            LABEL => constraint::label(&self.value).map(Some),
            CONSTRAINT => constraint::parse(&self.value).map(Some),
            _ => Ok(None),
        }
    }
}
