//! [`Snapshot`]: what is compared of a catalog.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    sync::{Arc, OnceLock},
};

use serde::Serialize;

use super::content::{BorrowedChannel, Bundle, Package, shorten};
use crate::{BUNDLE, CHANNEL, DEPRECATIONS, Meta, Names, PACKAGE, Place, record};

/// The maximum memory of the parts of a snapshot, in bytes. A published bundle needs about 2 KiB,
/// and the largest published catalogs have a few thousand bundles.
const MAX_MEMORY: usize = 64 << 20;

/// The memory of an item of a tree without its text, in bytes.
const TREE_ITEM: usize = 64;

/// The error for a catalog that is too large to be compared.
#[derive(Debug, thiserror::Error)]
#[error("the catalog needs more than {MAX_MEMORY} bytes of memory to be compared")]
#[non_exhaustive]
pub struct SnapshotTooLarge;

/// The parts of a catalog that are compared. Of each long value or name, it keeps only a digest:
/// each of many changes repeats the names of its package and channel.
///
/// All texts are in one string: a catalog of 10 MiB can have hundreds of thousands of metas, and a
/// map would need several hundred bytes for each of them.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    positions: Vec<Position>,
    /// The package, the schema, the name, and the content of each part.
    texts: Names,
    /// Descriptions of the first repeated entry of each channel, for
    /// [`duplicates`](Self::duplicates).
    repeated_entries: BTreeSet<String>,
    /// The memory of these descriptions, in bytes.
    repeated_memory: usize,
    /// Whether parts were dropped because the snapshot would need more than [`MAX_MEMORY`].
    is_too_large: bool,
    /// The indices of the parts, sorted by key. Computed on first use.
    sorted: OnceLock<Vec<usize>>,
}

/// What a part is, and where it is in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    kind: Kind,
    file: Arc<str>,
    line: u64,
}

/// The kind of a part. The changes of a package are listed in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Package,
    Channel,
    Bundle,
    Deprecation,
    /// A meta with a schema that OLM does not know. Several can have the same name.
    Other,
}

/// What identifies a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key<'s> {
    pub(super) package: &'s str,
    pub(super) kind: Kind,
    /// The schema of the meta, or of what is deprecated.
    schema: &'s str,
    pub(super) name: &'s str,
}

impl Snapshot {
    /// Adds a meta. The order of the metas has no effect. If the snapshot would become too large,
    /// it drops parts of the meta, and [`check_complete`](Self::check_complete) returns an error.
    pub fn add(&mut self, meta: &Meta, place: &Place) {
        if self.is_too_large {
            return;
        }
        let value = meta.value();
        let [package, name] = [&meta.package, &meta.name].map(|it| shorten(it.clone()));
        match meta.schema.as_str() {
            PACKAGE => {
                let content = to_json(&Package::new(value));
                self.push(Kind::Package, place, [&name, PACKAGE, &name, &content]);
            }
            CHANNEL => {
                let (channel, repeated) = BorrowedChannel::new(value);
                if let Some(entry) = repeated {
                    let text =
                        format!("entry {entry:?} of the channel {name} of the package {package}");
                    let memory = text.len() + TREE_ITEM;
                    if self.has_room(memory) && self.repeated_entries.insert(text) {
                        self.repeated_memory += memory;
                    }
                }
                let content = to_json(&channel);
                self.push(Kind::Channel, place, [&package, CHANNEL, &name, &content]);
            }
            BUNDLE => {
                let content = to_json(&Bundle::new(value));
                self.push(Kind::Bundle, place, [&package, BUNDLE, &name, &content]);
            }
            DEPRECATIONS => {
                let entries = record::Deprecations::new(value, place.clone(), usize::MAX).entries;
                let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
                for it in &entries {
                    let subject = (&it.schema, &it.name);
                    // Two of each show that it is repeated. All of them could need much memory,
                    // because an empty entry has only two bytes in the file.
                    if seen.insert(subject) || repeated.insert(subject) {
                        let texts = [&it.schema, &it.name, &it.message];
                        let [schema, name, message] = texts.map(|text| shorten(text.clone()));
                        self.push(Kind::Deprecation, place, [&package, &schema, &name, &message]);
                    }
                }
            }
            schema => {
                let [schema, content] = [schema.to_owned(), meta.blob()].map(shorten);
                self.push(Kind::Other, place, [&package, &schema, &name, &content]);
            }
        }
    }

    fn push(&mut self, kind: Kind, place: &Place, texts: [&str; 4]) {
        if !self.has_room(texts.iter().map(|text| text.len()).sum()) {
            return;
        }
        self.sorted.take();
        self.positions.push(Position { kind, file: Arc::clone(&place.file), line: place.line });
        for text in texts {
            self.texts.push(text);
        }
    }

    /// Checks whether `more` bytes fit. If they do not, the snapshot is too large from now on.
    fn has_room(&mut self, more: usize) -> bool {
        let memory = size_of_val(self.positions.as_slice()) + self.texts.memory();
        self.is_too_large |= memory + self.repeated_memory + more > MAX_MEMORY;
        !self.is_too_large
    }

    /// Returns what occurs several times in the catalog. Only the first one of each is compared.
    pub fn duplicates(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let entries = self.repeated_entries.iter().map(|text| Cow::Borrowed(text.as_str()));
        let key = |index: &usize| self.part(*index).map(|(key, _)| key);
        let runs = self.sorted().chunk_by(move |one, next| key(one) == key(next));
        let repeated = runs.filter(|run| run.len() > 1).filter_map(move |run| key(run.first()?));
        let repeated = repeated.filter(|key| key.kind != Kind::Other);
        entries.chain(repeated.map(|key| {
            let what = if key.kind == Kind::Deprecation { "deprecation of " } else { "" };
            Cow::Owned(format!("{what}{} of the package {}", key.describe(), key.package))
        }))
    }

    /// Checks that no part was dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if a part was dropped because the snapshot would be too large.
    pub fn check_complete(&self) -> Result<(), SnapshotTooLarge> {
        if self.is_too_large { Err(SnapshotTooLarge) } else { Ok(()) }
    }

    /// Returns the keys and the contents of the parts, sorted by key. If several parts have the
    /// same key, returns only the first one in the catalog. Parts of [`Kind::Other`] are all
    /// returned, except those with equal content.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Key<'_>, &str)> {
        let parts = self.sorted().iter().filter_map(|&index| self.part(index));
        let mut last = None;
        parts.filter(move |&(key, content)| {
            let compared = (key, if key.kind == Kind::Other { content } else { "" });
            last.replace(compared) != Some(compared)
        })
    }

    fn sorted(&self) -> &[usize] {
        self.sorted.get_or_init(|| {
            let mut indices: Vec<_> = (0..self.positions.len()).collect();
            indices.sort_unstable_by_key(|&index| {
                let (key, content) = self.part(index)?;
                let content = if key.kind == Kind::Other { content } else { "" };
                // The index decides the order of metas on the same line.
                Some((key, content, self.positions.get(index)?, index))
            });
            indices
        })
    }

    fn part(&self, index: usize) -> Option<(Key<'_>, &str)> {
        let kind = self.positions.get(index)?.kind;
        let text = |offset| self.texts.get(4 * index + offset);
        let [package, schema, name] = [text(0)?, text(1)?, text(2)?];
        Some((Key { package, kind, schema, name }, text(3)?))
    }
}

impl Key<'_> {
    /// Returns the schema and the name, if it has one.
    pub(super) fn describe(&self) -> Cow<'_, str> {
        match self.name {
            "" => Cow::Borrowed(self.schema),
            name => Cow::Owned(format!("{} {name}", self.schema)),
        }
    }
}

/// Serializes the content of a part. This cannot fail, because it has only strings, lists and
/// structs.
fn to_json(content: &impl Serialize) -> String {
    serde_json::to_string(content).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::compare;

    #[test]
    fn a_snapshot_that_would_be_too_large_is_not_compared() {
        let (mut snapshot, nothing) = (Snapshot::default(), Snapshot::default());
        let place = Place::file("c.yaml");
        let text = "a".repeat(MAX_MEMORY / 4);
        for n in 1..=3 {
            snapshot.push(Kind::Other, &place, ["tea", "a", "", &text]);
            assert_eq!(compare(&nothing, &snapshot).unwrap().len(), 1, "{n}");
        }
        snapshot.push(Kind::Other, &place, ["tea", "a", "", &text]);
        compare(&nothing, &snapshot).unwrap_err();
        compare(&snapshot, &nothing).unwrap_err();
    }

    #[test]
    fn descriptions_of_repeated_entries_count_too() {
        // Each is about 2 kB long, because the names are escaped.
        let name = "\u{7f}".repeat(300);
        let mut snapshot = Snapshot::default();
        for n in 0..MAX_MEMORY / 1_800 {
            let json = format!(
                r#"{{"schema":"olm.channel","package":"tea","name":"c{n}","entries":[{{"name":"{name}"}},{{"name":"{name}"}}]}}"#
            );
            let meta = Meta::from_json(&json, &unlade_yaml::Limits::default()).unwrap();
            snapshot.add(&meta, &Place::file("c.yaml"));
        }
        snapshot.check_complete().unwrap_err();
        assert!(snapshot.repeated_memory <= MAX_MEMORY);
    }
}
