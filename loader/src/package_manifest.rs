//! [`PackageManifest`]: a package and its channels.

use serde::Serialize;

mod read;

pub(crate) use read::{KIND, read};

/// A package and its channels: upstream's `registry.PackageManifest` (operator-registry
/// `pkg/registry/types.go`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageManifest {
    /// The name of the package.
    pub package_name: String,
    /// Its channels.
    pub channels: Vec<Channel>,
    /// The default channel as written; [`PackageManifest::default_channel`] knows the implied one.
    #[serde(rename = "defaultChannel")]
    pub default_channel_name: String,
    /// That the package is deprecated, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<Deprecation>,
}

/// A channel of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// The CSV that is its newest.
    #[serde(rename = "currentCSV")]
    pub current_csv: String,
    /// That the channel is deprecated, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<Deprecation>,
}

/// Why something is deprecated.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Deprecation {
    /// For people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl PackageManifest {
    /// The channel that a subscription takes if it names none: the one written, else the only one
    /// there is (upstream's `GetDefaultChannel`).
    pub fn default_channel(&self) -> Option<&str> {
        match self.channels.as_slice() {
            _ if !self.default_channel_name.is_empty() => Some(&self.default_channel_name),
            [only] => Some(&only.name),
            _ => None,
        }
    }
}
