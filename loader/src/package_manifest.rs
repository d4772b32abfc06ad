//! [`PackageManifest`]: a package and its channels.

use serde::Serialize;
use unlade_bundle::Channels;
use unlade_name::MAX_SUBDOMAIN;

mod read;

pub(crate) use read::{KIND, read};

/// A package and its channels: upstream's `registry.PackageManifest` (operator-registry
/// `pkg/registry/types.go`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PackageManifest {
    /// The name of the package.
    pub package_name: String,
    /// The channels of the package.
    pub channels: Vec<Channel>,
    /// The default channel as written. See [`PackageManifest::default_channel`] for the implied
    /// one.
    #[serde(rename = "defaultChannel")]
    pub default_channel_name: String,
    /// The deprecation of the package, if it is deprecated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<Deprecation>,
}

/// A channel of a package.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Channel {
    /// The name of the channel.
    pub name: String,
    /// The name of the newest CSV in the channel.
    #[serde(rename = "currentCSV")]
    pub current_csv: String,
    /// The deprecation of the channel, if it is deprecated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deprecation: Option<Deprecation>,
}

/// The deprecation of a package or channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Deprecation {
    /// The message for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

impl PackageManifest {
    /// Creates the package manifest from the annotations and the name of the CSV. Names that are
    /// too long for Kubernetes are dropped, because each channel has a copy of the name.
    pub(crate) fn new(channels: &Channels, csv_name: &str) -> Self {
        let csv_name = if csv_name.len() > MAX_SUBDOMAIN { "" } else { csv_name };
        let channel = |name: &str| Channel {
            name: name.to_owned(),
            current_csv: csv_name.to_owned(),
            deprecation: None,
        };
        Self {
            package_name: channels.package.clone(),
            channels: channels.names().map(channel).collect(),
            default_channel_name: channels.default.trim().to_owned(),
            deprecation: None,
        }
    }

    /// Returns the channel for a subscription that does not name one: the default channel as
    /// written, else the only channel (upstream's `GetDefaultChannel`).
    pub fn default_channel(&self) -> Option<&str> {
        match self.channels.as_slice() {
            _ if !self.default_channel_name.is_empty() => Some(&self.default_channel_name),
            [only] => Some(&only.name),
            _ => None,
        }
    }
}
