//! [`Property`] and [`Dependency`]: what a bundle says of itself, and what it asks of others.

use serde::Serialize;

/// Something that a bundle says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Property {
    /// What the value means, such as `olm.gvk`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value as JSON text.
    pub value: String,
}

/// Something that a bundle asks of others.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Dependency {
    /// What the value means, such as `olm.package`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The value as JSON text.
    pub value: String,
}
