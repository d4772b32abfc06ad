//! [`Versions`]: the versions of bundles, and their order.

use std::{borrow::Borrow, cmp::Ordering, collections::HashMap, hash::Hash};

use unlade_bundle::version::{self, Version};

use crate::release;

/// The versions of bundles, by names of the bundles. As in upstream, a bundle that does not exist
/// has the version 0.0.0.
pub(crate) struct Versions<K> {
    by_name: HashMap<K, Ranked>,
    zero: Ranked,
}

/// A version and its ranks.
///
/// A version can be megabytes long, and each channel compares those of its entries again. So all
/// versions are compared once, and then only their ranks.
#[derive(Debug)]
pub(crate) struct Ranked {
    pub(crate) version: Version,
    /// Greater than every version without a release.
    release: Option<Version>,
    /// The rank for upstream's graphs: versions that differ only in their release or build metadata
    /// have the same one.
    pub(crate) rank: usize,
    /// The rank by the version, then the release, and then the build metadata. A package has each
    /// of these once, so of two of its bundles, one is always the newer one.
    pub(crate) exact_rank: usize,
}

impl<K: Eq + Hash> Versions<K> {
    /// Parses the versions and the releases of bundles. Of several bundles with the same name, the
    /// first one counts. A version that is invalid counts as 0.0.0.
    pub(crate) fn new<'v>(bundles: impl IntoIterator<Item = (K, (&'v str, &'v str))>) -> Self {
        let (mut by_name, mut zero) = (HashMap::new(), Ranked::new(ZERO, None));
        for (name, (version, release)) in bundles {
            let ranked = || {
                let version = version::parse(version).unwrap_or(ZERO);
                Ranked::new(version, release::parse(release))
            };
            by_name.entry(name).or_insert_with(ranked);
        }
        let mut sorted: Vec<_> = by_name.values_mut().chain([&mut zero]).collect();
        sorted.sort_by(|a, b| a.compare(b));
        let is_equal =
            |a: &&mut Ranked, b: &&mut Ranked| a.version.cmp_precedence(&b.version).is_eq();
        let mut n_exact = 0;
        for (rank, equal) in sorted.chunk_by_mut(is_equal).enumerate() {
            for same in equal.chunk_by_mut(|a, b| a.compare(b).is_eq()) {
                for it in same {
                    (it.rank, it.exact_rank) = (rank, n_exact);
                }
                n_exact += 1;
            }
        }
        Self { by_name, zero }
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, name: &Q) -> &Ranked
    where
        K: Borrow<Q>,
    {
        self.by_name.get(name).unwrap_or(&self.zero)
    }

    pub(crate) fn contains<Q: Eq + Hash + ?Sized>(&self, name: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.by_name.contains_key(name)
    }
}

impl Ranked {
    fn new(version: Version, release: Option<Version>) -> Self {
        Self { version, release, rank: 0, exact_rank: 0 }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_version = self.version.cmp_precedence(&other.version);
        let by_release = || self.release.cmp(&other.release);
        by_version.then_with(by_release).then_with(|| self.version.cmp(&other.version))
    }
}

const ZERO: Version = Version::new(0, 0, 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_the_order_of_the_versions() {
        let texts =
            ["1.0.0+b", "0.0.0-a", "1.0.0-a", "1.0.0+a", "0.0.0", "1.0.0-a.1", "x", "2.0.0"];
        let versions = Versions::new(texts.map(|text| (text, (text, ""))));
        let rank = |text| versions.get(text).rank;
        assert_eq!(texts.map(rank), [4, 0, 2, 4, 1, 3, 1, 5]);
        assert_eq!(rank("unknown"), rank("0.0.0"));
        let exact_rank = |text| versions.get(text).exact_rank;
        assert_eq!(texts.map(exact_rank), [5, 0, 2, 4, 1, 3, 1, 6]);
    }

    #[test]
    fn a_release_is_newer_than_none_and_releases_are_compared_as_prereleases() {
        let sorted =
            [("1.0.0", ""), ("1.0.0", "9"), ("1.0.0", "10"), ("1.0.0", "a"), ("1.0.1", "")];
        let versions = Versions::new(sorted.map(|it| (it, it)));
        assert_eq!(sorted.map(|it| versions.get(&it).exact_rank), [1, 2, 3, 4, 5]);
        assert_eq!(sorted.map(|it| versions.get(&it).rank), [1, 1, 1, 1, 2]);
    }
}
