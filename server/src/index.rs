//! [`Index`]: the packages, channels and entries of a catalog, and where its texts are.

use std::collections::BTreeMap;
use std::sync::Arc;

use semver::{Prerelease, Version};
use serde::{Deserialize, Serialize};
use unlade_bundle::property::Gvk;
use unlade_catalog::Names;

use crate::content::{Content, Span};

/// A catalog that can be served. Its memory depends on the number of entries, and not on the size
/// of the bundles.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) records: Records,
    /// All entries in the order of `ListBundles`: by channel, then by package, then by name.
    pub(crate) listed: Arc<[Key]>,
    pub(crate) content: Content,
}

/// What a catalog contains, without its texts. The cache has it as JSON.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Records {
    /// The packages by name.
    pub(crate) packages: BTreeMap<String, Package>,
    /// All bundles.
    pub(crate) bundles: Vec<Bundle>,
    /// The JSON of the metas with other schemas, by schema and package.
    pub(crate) others: BTreeMap<String, BTreeMap<String, Vec<Span>>>,
}

/// The names that lead to an entry.
///
/// The entries of a channel share its name: its length has no limit, and a catalog can have one
/// long name and thousands of entries.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) channel: Arc<str>,
    pub(crate) package: Arc<str>,
    pub(crate) name: String,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Package {
    pub(crate) default_channel: String,
    /// The channels by name.
    pub(crate) channels: BTreeMap<String, Channel>,
    /// The description, as a field of a ClusterServiceVersion.
    pub(crate) description: Span,
    /// The icon, as a field of a ClusterServiceVersion.
    pub(crate) icon: Span,
    /// The message, if the package is deprecated.
    pub(crate) deprecation: Option<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Channel {
    /// The name of the entry that no other entry replaces or skips.
    pub(crate) head: String,
    /// The entries by name. They are in boxes, because a map has room for eleven values, and a
    /// catalog may have many channels with one entry.
    pub(crate) entries: BTreeMap<String, Box<Entry>>,
    /// The message, if the channel is deprecated.
    pub(crate) deprecation: Option<String>,
}

/// A bundle in a channel.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) replaces: String,
    pub(crate) skips: Names,
    pub(crate) skip_range: String,
    /// The index of the bundle in [`Records::bundles`].
    pub(crate) bundle: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bundle {
    /// The encoded message without the fields that depend on the channel, the objects and the
    /// ClusterServiceVersion.
    pub(crate) summary: Span,
    pub(crate) has_image: bool,
    pub(crate) objects: Vec<Span>,
    pub(crate) csv: Csv,
    pub(crate) version: Version,
    /// The release. Empty if it has none.
    pub(crate) release: String,
    /// The APIs that the bundle provides.
    pub(crate) provides: Vec<Gvk>,
    /// The message, if the bundle is deprecated.
    pub(crate) deprecation: Option<String>,
}

/// The ClusterServiceVersion of a bundle, as [`unlade_catalog::ServedCsv`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Csv {
    None,
    Object(usize),
    Synthesized { before: Span, has_package_description: bool, between: Span, after: Span },
}

/// An entry, and its package and channel.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Located<'i> {
    pub(crate) package_name: &'i str,
    pub(crate) package: &'i Package,
    pub(crate) channel_name: &'i str,
    pub(crate) channel: &'i Channel,
    pub(crate) name: &'i str,
    pub(crate) entry: &'i Entry,
}

/// The reason why something was not found, in the words of `opm`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Missing {
    #[error("package {0:?} not found")]
    Package(String),
    /// `GetBundleThatReplaces` has a text of its own.
    #[error("package {0} not found")]
    PackageToReplace(String),
    #[error("package {0:?}, channel {1:?} not found")]
    Channel(String, String),
    #[error("package {0:?}, channel {1:?}, bundle {2:?} not found")]
    Bundle(String, String, String),
    #[error("no entry found for package {0:?}, channel {1:?}")]
    Replacement(String, String),
    #[error("no channel entries found that replace {0}")]
    Replacements(String),
    #[error("no channel entries found that provide {}", describe(.0))]
    Providers(Gvk),
    #[error("no entry found that provides {}", describe(.0))]
    DefaultProvider(Gvk),
}

fn describe(api: &Gvk) -> String {
    format!("group:{:?} version:{:?} kind:{:?}", api.group, api.version, api.kind)
}

impl Index {
    pub(crate) fn new(records: Records, content: Content) -> Self {
        let mut listed = Vec::new();
        for (package_name, package) in &records.packages {
            let package_name: Arc<str> = package_name.as_str().into();
            for (channel_name, channel) in &package.channels {
                let channel_name: Arc<str> = channel_name.as_str().into();
                listed.extend(channel.entries.keys().map(|name| Key {
                    channel: Arc::clone(&channel_name),
                    package: Arc::clone(&package_name),
                    name: name.clone(),
                }));
            }
        }
        listed.sort_unstable();
        Self { records, listed: listed.into(), content }
    }

    pub(crate) fn package(&self, name: &str) -> Result<&Package, Missing> {
        self.records.packages.get(name).ok_or_else(|| Missing::Package(name.to_owned()))
    }

    pub(crate) fn bundle(&self, entry: &Entry) -> Option<&Bundle> {
        self.records.bundles.get(entry.bundle)
    }

    /// Returns the metas of another schema in a package.
    pub(crate) fn others(&self, schema: &str, package: &str) -> &[Span] {
        let packages = self.records.others.get(schema);
        packages.and_then(|it| it.get(package)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Finds an entry. Without a name, it is the head of the channel.
    pub(crate) fn entry(
        &self,
        package: &str,
        channel: &str,
        name: Option<&str>,
    ) -> Result<Located<'_>, Missing> {
        let Some((package_name, package)) = self.records.packages.get_key_value(package) else {
            return Err(Missing::Package(package.to_owned()));
        };
        let Some((channel_name, channel)) = package.channels.get_key_value(channel) else {
            return Err(Missing::Channel(package_name.clone(), channel.to_owned()));
        };
        let wanted = name.unwrap_or(&channel.head);
        let Some((name, entry)) = channel.entries.get_key_value(wanted) else {
            let (package, channel) = (package_name.clone(), channel_name.clone());
            return Err(Missing::Bundle(package, channel, wanted.to_owned()));
        };
        Ok(Located { package_name, package, channel_name, channel, name, entry })
    }

    /// Returns all entries by package, channel and name.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Located<'_>> {
        self.records.packages.iter().flat_map(|(package_name, package)| {
            package.channels.iter().flat_map(move |(channel_name, channel)| {
                channel.entries.iter().map(move |(name, entry)| Located {
                    package_name,
                    package,
                    channel_name,
                    channel,
                    name,
                    entry,
                })
            })
        })
    }

    /// Returns the bundle that replaces or skips `name`. If there are several, it is the one with
    /// the highest version; upstream returns any of them.
    pub(crate) fn replacement(
        &self,
        package: &str,
        channel: &str,
        name: &str,
    ) -> Result<Located<'_>, Missing> {
        let package_name = package;
        let Some((package_name, package)) = self.records.packages.get_key_value(package_name)
        else {
            return Err(Missing::PackageToReplace(package_name.to_owned()));
        };
        let Some((channel_name, channel)) = package.channels.get_key_value(channel) else {
            return Err(Missing::Channel(package_name.clone(), channel.to_owned()));
        };
        let matching = channel.entries.iter().filter(|(_, entry)| {
            entry.replaces == name || entry.skips.iter().any(|skip| skip == name)
        });
        let version = |entry: &Entry| {
            let bundle = self.bundle(entry)?;
            // A bundle without a release is lower than one with a release.
            let release = Some(&bundle.release).filter(|release| !release.is_empty());
            Some((&bundle.version, release.and_then(|release| Prerelease::new(release).ok())))
        };
        let found = matching.max_by(|(_, left), (_, right)| version(left).cmp(&version(right)));
        let (name, entry) = found
            .ok_or_else(|| Missing::Replacement(package_name.clone(), channel_name.clone()))?;
        Ok(Located { package_name, package, channel_name, channel, name, entry })
    }

    /// Checks whether the bundle of an entry provides an API.
    pub(crate) fn provides(&self, entry: &Entry, api: &Gvk) -> bool {
        self.bundle(entry).is_some_and(|bundle| bundle.provides.contains(api))
    }

    /// Returns the head of the default channel of the first package that provides an API there.
    pub(crate) fn default_provider(&self, api: &Gvk) -> Result<Located<'_>, Missing> {
        let mut heads = self.entries().filter(|it| it.is_head() && self.provides(it.entry, api));
        let Some(first) = heads.next() else { return Err(Missing::Providers(api.clone())) };
        std::iter::once(first)
            .chain(heads)
            .find(|it| it.channel_name == it.package.default_channel)
            .ok_or_else(|| Missing::DefaultProvider(api.clone()))
    }
}

impl Located<'_> {
    /// Checks whether the entry is the head of its channel.
    pub(crate) fn is_head(&self) -> bool {
        self.name == self.channel.head
    }
}
