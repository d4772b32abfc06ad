//! [`Candidate`]: a bundle that can be chosen to meet a need.

use std::collections::{BTreeMap, BTreeSet};

use unlade_bundle::version::Version;

use super::need::Need;
use crate::{
    record::{Channel, Package},
    version::{Ranked, Versions},
};

/// A package, and the name of a bundle or a channel in it.
pub(super) type Name<'c> = (&'c str, &'c str);

/// A bundle that is in a channel.
///
/// It has everything that is needed to choose among many bundles for many needs, because finding a
/// bundle by its name takes time that grows with the name.
pub(super) struct Candidate<'c> {
    pub(super) package: &'c str,
    /// The position of the package among all, because comparing long names takes long.
    package_index: usize,
    pub(super) name: &'c str,
    /// The index of the default channel of the package if the bundle is in it, and otherwise of its
    /// first channel.
    pub(super) channel: usize,
    pub(super) is_in_default: bool,
    pub(super) version: &'c Version,
    pub(super) rank: usize,
    pub(super) required: Option<&'c BTreeSet<Need>>,
    pub(super) is_kept: bool,
}

/// Returns the bundles that are in a channel, sorted by package and name.
pub(super) fn candidates<'c>(
    packages: &BTreeMap<&'c str, (&'c Package, Vec<usize>)>,
    channels: &'c [Channel],
    versions: &'c Versions<Name<'c>>,
) -> Vec<Candidate<'c>> {
    let mut candidates = Vec::new();
    for (package_index, (package, (meta, own))) in packages.iter().enumerate() {
        let mut by_name: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
        for (index, channel) in numbered(own, channels) {
            let place = (index, channel.name == meta.default_channel);
            for entry in &channel.entries {
                let best = by_name.entry(&entry.name).or_insert(place);
                if place.1 {
                    *best = place;
                }
            }
        }
        candidates.extend(by_name.into_iter().map(|(name, (channel, is_in_default))| {
            let Ranked { version, exact_rank, .. } = versions.get(&(*package, name));
            Candidate {
                package,
                package_index,
                name,
                channel,
                is_in_default,
                version,
                rank: *exact_rank,
                required: None,
                is_kept: false,
            }
        }));
    }
    candidates
}

/// Returns the channels with these indices, and the indices.
pub(super) fn numbered<'c>(
    indices: &[usize],
    channels: &'c [Channel],
) -> impl Iterator<Item = (usize, &'c Channel)> {
    indices.iter().filter_map(|&index| Some((index, channels.get(index)?)))
}

/// Returns the index of a bundle.
pub(super) fn find(candidates: &[Candidate<'_>], name: Name<'_>) -> Option<usize> {
    candidates.binary_search_by(|it| (it.package, it.name).cmp(&name)).ok()
}

/// Chooses among the bundles that meet a need, sorted: the first package that has one in its
/// default channel, or else the first package, and the highest version of these.
pub(super) fn choose_best<'a, 'c>(fitting: &[&'a Candidate<'c>]) -> Option<&'a Candidate<'c>> {
    let mut best: Option<&Candidate<'c>> = None;
    for &it in fitting {
        let is_better = best.is_none_or(|best| match (it.is_in_default, best.is_in_default) {
            (true, false) => true,
            (false, true) => false,
            _ => it.package_index == best.package_index && it.rank > best.rank,
        });
        if is_better {
            best = Some(it);
        }
    }
    best
}
