//! [`Plan`]: what remains of a catalog.

use std::collections::{BTreeMap, BTreeSet};

use unlade_text::excerpt::shorten;
use unlade_yaml::json::quote;

use super::{
    choice::Choice,
    need::{self, Key, Needs},
    planner::Planner,
};
use crate::{
    BUNDLE, CHANNEL, Catalog, DEPRECATIONS, Deprecation, Meta, PACKAGE, graph::MAX_WORK,
    meta::text, version::Versions,
};

/// The maximum length of a chain of dependencies.
const MAX_DEPTH: usize = 1_000;

/// The maximum cost of completing the graphs of channels, in visits of entries and edges. A visit
/// takes a few tenths of a microsecond. A long name costs as much as several visits.
pub(super) const MAX_VISITS: usize = 5_000_000;

/// What remains of a catalog.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The entries that remain, by package and channel.
    pub(super) channels: BTreeMap<Key, BTreeSet<String>>,
    pub(super) default_channels: BTreeMap<String, String>,
    pub(super) bundles: BTreeSet<Key>,
    /// The adjustments: what else remains and why, what is left out, and what is missing. If there
    /// are more than [`MAX_ADJUSTMENTS`](super::MAX_ADJUSTMENTS), the last item is the number of
    /// the others.
    pub adjustments: Vec<String>,
}

/// The reason why a catalog cannot be filtered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A chosen package does not exist.
    #[error("the package {} does not exist", shorten(.0))]
    Package(String),
    /// A chosen channel does not exist.
    #[error("the channel {} of the package {} does not exist", shorten(.channel), shorten(.package))]
    Channel {
        /// The package.
        package: String,
        /// The channel.
        channel: String,
    },
    /// No version of a package is in the chosen range.
    #[error("no version of the package {} is in the range", shorten(.0))]
    Versions(String),
    /// The dependencies form too long a chain.
    #[error("the dependencies are nested more than {MAX_DEPTH} levels deep")]
    Depth,
    /// The ranges of the choices or dependencies would have to be compared with too many versions,
    /// or the choices select from the same channels too often.
    #[error(
        "the choices or the version ranges are too many or too long: finding the versions needs \
         more than {MAX_WORK} units of work"
    )]
    Work,
    /// What the bundles provide and require needs too much memory.
    #[error(
        "what the bundles provide and require needs more than {} bytes of memory",
        need::MAX_MEMORY
    )]
    Memory,
}

impl Error {
    /// Checks whether a limit is exceeded.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Depth | Self::Work | Self::Memory)
    }
}

impl Plan {
    /// Decides what remains of a valid catalog. `needs` are the dependencies that are followed.
    ///
    /// A channel keeps the versions that were chosen, and the entries without which its graph would
    /// be invalid. If no remaining bundle meets a requirement of a bundle, the highest version that
    /// does remains too, in the default channel if possible.
    ///
    /// # Errors
    ///
    /// Returns an error if a choice does not exist or contains no version, or if the dependencies
    /// form too long a chain, need too many comparisons or need too much memory.
    pub fn new(catalog: &Catalog, needs: &Needs, choices: &[Choice]) -> Result<Self, Error> {
        if needs.is_too_large() {
            return Err(Error::Memory);
        }
        let versions = Versions::new(catalog.bundles.iter().map(|bundle| {
            ((bundle.package.as_str(), bundle.name.as_str()), bundle.version_and_release())
        }));
        let mut planner = Planner::new(catalog, &versions, needs);
        for choice in choices {
            planner.choose(choice)?;
        }
        for _ in 0..MAX_DEPTH {
            planner.complete_changed();
            if !planner.add_dependencies()? {
                return Ok(planner.finish());
            }
        }
        Err(Error::Depth)
    }

    /// Returns the compact JSON of a meta in the filtered catalog. Returns `None` if the meta is
    /// not in it. A meta without a package remains.
    pub fn apply(&self, meta: &Meta) -> Option<String> {
        let package = if meta.schema == PACKAGE { &meta.name } else { &meta.package };
        if !package.is_empty() && !self.default_channels.contains_key(package) {
            return None;
        }
        let key = (package.clone(), meta.name.clone());
        Some(match meta.schema.as_str() {
            PACKAGE => match self.default_channels.get(package) {
                Some(channel) => meta.to_json_with("defaultChannel", &quote(channel)),
                None => meta.to_json(),
            },
            CHANNEL => {
                let entries = self.channels.get(&key)?;
                meta.to_json_with_entries(|entry| entries.contains(&text(entry, "name")))
            }
            BUNDLE if !self.bundles.contains(&key) => return None,
            DEPRECATIONS => meta.to_json_with_entries(|entry| {
                let Deprecation { schema, name, .. } = Deprecation::new(entry);
                let key = (package.clone(), name);
                match schema.as_str() {
                    CHANNEL => self.channels.contains_key(&key),
                    BUNDLE => self.bundles.contains(&key),
                    _ => true,
                }
            }),
            _ => meta.to_json(),
        })
    }
}
