//! [`Property`] and [`Dependency`]: statements of a bundle about itself, and its requirements.
//!
//! Both are a type and a value, in a bundle as in a catalog (operator-registry `alpha/property`).
//! The values of the types that OLM knows are [`Package`], [`PackageRequired`], [`Gvk`] and
//! [`Constraint`].

use serde::Serialize;

use crate::constraint::{self, Constraint, Rule};

mod value;

pub use crate::json::Malformed;
pub use value::{Gvk, Package, PackageRequired};

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
    /// ```
    /// use unlade_bundle::{Property, constraint::Rule};
    ///
    /// let property = Property {
    ///     kind: "olm.package.required".to_owned(),
    ///     value: r#"{"packageName":"tea","versionRange":">=1.0.0"}"#.to_owned(),
    /// };
    /// let Some(Rule::Package(required)) = property.constraint()?.map(|found| found.rule) else {
    ///     panic!("{property:?} is not about a package");
    /// };
    /// assert_eq!(required.range, ">=1.0.0");
    /// # Ok::<(), unlade_bundle::constraint::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the value does not fit the type.
    pub fn constraint(&self) -> Result<Option<Constraint>, constraint::Error> {
        let rule = match self.kind.as_str() {
            PACKAGE_REQUIRED => Rule::Package(PackageRequired::parse(&self.value)?),
            GVK_REQUIRED => Rule::Gvk(Gvk::parse(&self.value)?),
            CONSTRAINT => return constraint::parse(&self.value).map(Some),
            _ => return Ok(None),
        };
        Ok(Some(rule.into()))
    }

    /// Escapes `&`, `<` and `>` in the value, as Go's `json.Marshal` does.
    #[must_use]
    pub fn escape_html(mut self) -> Self {
        for (letter, escape) in [('&', "\\u0026"), ('<', "\\u003c"), ('>', "\\u003e")] {
            self.value = self.value.replace(letter, escape);
        }
        self
    }
}

impl Dependency {
    /// Parses the constraint of the dependency. Returns `None` if its type is unknown.
    ///
    /// # Errors
    ///
    /// Returns an error if the value does not fit the type.
    pub fn constraint(&self) -> Result<Option<Constraint>, constraint::Error> {
        let rule = match self.kind.as_str() {
            PACKAGE => Rule::Package(PackageRequired::parse_dependency(&self.value)?),
            GVK => Rule::Gvk(Gvk::parse(&self.value)?),
            LABEL => Rule::Label(value::parse_label(&self.value)?),
            CONSTRAINT => return constraint::parse(&self.value).map(Some),
            _ => return Ok(None),
        };
        Ok(Some(rule.into()))
    }
}
