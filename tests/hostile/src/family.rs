//! [`Family`]: inputs with the same structure, in any size.

mod annotation;
mod bundle;
mod catalog;
mod cluster;
mod config_map;
mod document;
mod ignore;
mod image;
mod name;
mod package;
mod registry;
mod tar;
mod template;
mod yaml;

use crate::Entry;

/// Inputs with the same structure.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// The entry that reads them.
    pub entry: Entry,
    /// The name of the structure, which is unique among the families of the entry.
    pub name: &'static str,
    /// The size from which the cost grows as it does for all larger inputs. Below this size, a
    /// constant limit that allows more than linear work, such as that of nesting, has not been
    /// reached.
    pub from: usize,
    generate: fn(usize) -> Vec<u8>,
}

/// The default size from which costs are compared. For smaller inputs, the constant cost of a run
/// is too large a part.
const FROM: usize = 8 << 10;

/// The size from which aliases of a long value exceed the limit of expansion, which is constant for
/// small inputs.
const FROM_BOUNDED: usize = 128 << 10;

/// The size from which texts are compared that take a hundred times as long as others, because all
/// of their open brackets count at each token.
const FROM_SLOW: usize = 1 << 10;

impl Family {
    const fn new(entry: Entry, name: &'static str, generate: fn(usize) -> Vec<u8>) -> Self {
        Self { entry, name, from: FROM, generate }
    }

    const fn from(self, from: usize) -> Self {
        Self { from, ..self }
    }

    /// Returns all families of all entries.
    pub fn all() -> impl Iterator<Item = Self> {
        [
            annotation::FAMILIES,
            bundle::FAMILIES,
            catalog::FAMILIES,
            cluster::FAMILIES,
            config_map::FAMILIES,
            document::FAMILIES,
            ignore::FAMILIES,
            image::FAMILIES,
            name::FAMILIES,
            package::FAMILIES,
            registry::FAMILIES,
            tar::FAMILIES,
            template::FAMILIES,
            yaml::FAMILIES,
        ]
        .into_iter()
        .flatten()
        .copied()
        .flat_map(|family| {
            let others = match family.entry {
                Entry::Render => &[Entry::Diff, Entry::Filter, Entry::Graph, Entry::Served][..],
                // Invalid catalogs are compared and drawn too.
                Entry::Catalog => &[Entry::Diff, Entry::Graph],
                Entry::Tar => &[Entry::Extract],
                _ => &[],
            };
            let others = others.iter().map(move |entry| Self { entry: *entry, ..family });
            std::iter::once(family).chain(others)
        })
        .map(|family| Self { from: family.compared_from(), ..family })
    }

    /// Returns the size from which the costs are compared. In smaller inputs of some families, the
    /// bundles make up most of the size, but something else most of the cost.
    fn compared_from(&self) -> usize {
        match (self.entry, self.name) {
            (Entry::Graph, "gaps-in-a-channel") => 16 << 10,
            (Entry::Render, "dependencies-of-all") => 32 << 10,
            (Entry::Graph, "skips-of-all-lower") => 64 << 10,
            (Entry::Render, "channels-of-all") => 128 << 10,
            _ => self.from,
        }
    }

    /// Returns the entry and the name, which identify the family.
    pub fn id(&self) -> String {
        format!("{}/{}", self.entry, self.name)
    }

    /// Returns whether the cost grows with the square of the size, up to a limit that is too large
    /// for a comparison of costs: the edges of ranges, lines with a long name, comparisons with
    /// ranges, steps that complete a channel, comparisons of patterns with names, and checks after
    /// each substitution. Tests of `unlade_catalog` and `unlade_catalog_directory` check these
    /// limits.
    pub fn is_bounded(&self) -> bool {
        match self.entry {
            Entry::Graph => ["ranges-of-all", "skip-ranges", "long-names-chosen-by-many-needs"]
                .contains(&self.name),
            Entry::Filter => ["long-required-range", "gaps-in-a-channel"].contains(&self.name),
            Entry::IndexIgnore => self.name == "patterns-and-names",
            Entry::Template => self.name.starts_with("substitutions"),
            _ => false,
        }
    }

    /// Creates an input of about `size` bytes: it is at most an eighth and 16 KiB larger, and much
    /// smaller if the structure has a limit, as names do.
    pub fn input(&self, size: usize) -> Vec<u8> {
        (self.generate)(size)
    }

    /// Creates an input of at most `limit` bytes, or the smallest one if all are larger.
    pub fn input_within(&self, limit: usize) -> Vec<u8> {
        let mut size = limit;
        loop {
            let input = self.input(size);
            if input.len() <= limit || size == 0 {
                return input;
            }
            size = size * limit / input.len();
        }
    }
}

/// Repeats `text` up to `size` bytes.
fn repeat(text: &str, size: usize) -> String {
    text.repeat(size / text.len().max(1))
}

/// Concatenates `item(0)`, `item(1)` and so on, up to `size` bytes.
fn count(size: usize, mut item: impl FnMut(usize) -> String) -> String {
    let mut text = String::with_capacity(size);
    let mut n = 0;
    while text.len() < size {
        text.push_str(&item(n));
        n += 1;
    }
    text
}

/// Creates bytes that cannot be compressed, and that are the same each time.
fn noise(size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(size + 8);
    while bytes.len() < size {
        // xorshift64 is random enough for this purpose.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(size);
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_family_has_an_id_of_its_own_and_every_entry_a_family() {
        let ids: BTreeSet<_> = Family::all().map(|family| family.id()).collect();
        assert_eq!(ids.len(), Family::all().count());
        let entries: BTreeSet<_> = Family::all().map(|family| family.entry).collect();
        assert_eq!(entries, Entry::ALL.into());
    }

    #[test]
    fn inputs_within_a_limit_are_not_larger() {
        for family in Family::all() {
            let length = family.input_within(200_000).len();
            assert!(length <= 200_000, "{}: {length}", family.id());
        }
    }

    #[test]
    fn inputs_have_about_the_size_that_was_asked_for() {
        for family in Family::all() {
            for size in [100, 5_000, 200_000] {
                let length = family.input(size).len();
                assert!(
                    length <= size + size / 8 + (16 << 10),
                    "{}: {size} gives {length}",
                    family.id()
                );
            }
        }
    }
}
