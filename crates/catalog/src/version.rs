//! [`Versions`]: the versions of bundles, and their order.

use std::{borrow::Borrow, collections::HashMap, hash::Hash};

use unlade_bundle::version::{self, Version};

/// The versions of bundles, by names of the bundles. As in upstream, a bundle that does not exist
/// has the version 0.0.0.
pub(crate) struct Versions<K> {
    by_name: HashMap<K, Ranked>,
    zero: Ranked,
}

/// A version and its rank. Versions that differ only in their build metadata have the same rank.
///
/// A version can be megabytes long, and each channel compares those of its entries again. So all
/// versions are compared once, and then only their ranks.
#[derive(Debug)]
pub(crate) struct Ranked {
    pub(crate) version: Version,
    pub(crate) rank: usize,
}

impl<K: Eq + Hash> Versions<K> {
    /// Parses the versions of bundles. Of several bundles with the same name, the first one counts.
    /// A version that is invalid counts as 0.0.0.
    pub(crate) fn new<'v>(bundles: impl IntoIterator<Item = (K, &'v str)>) -> Self {
        let ranked = |version| Ranked { version, rank: 0 };
        let (mut by_name, mut zero) = (HashMap::new(), ranked(ZERO));
        for (name, text) in bundles {
            let version = || ranked(version::parse(text).unwrap_or(ZERO));
            by_name.entry(name).or_insert_with(version);
        }
        let mut sorted: Vec<_> = by_name.values_mut().chain([&mut zero]).collect();
        sorted.sort_by(|a, b| a.version.cmp_precedence(&b.version));
        let is_equal =
            |a: &&mut Ranked, b: &&mut Ranked| a.version.cmp_precedence(&b.version).is_eq();
        for (rank, equal) in sorted.chunk_by_mut(is_equal).enumerate() {
            for it in equal {
                it.rank = rank;
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

const ZERO: Version = Version::new(0, 0, 0);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_have_the_order_of_the_versions() {
        let texts =
            ["1.0.0+b", "0.0.0-a", "1.0.0-a", "1.0.0+a", "0.0.0", "1.0.0-a.1", "x", "2.0.0"];
        let versions = Versions::new(texts.map(|text| (text, text)));
        let rank = |text| versions.get(text).rank;
        assert_eq!(texts.map(rank), [4, 0, 2, 4, 1, 3, 1, 5]);
        assert_eq!(rank("unknown"), rank("0.0.0"));
    }
}
