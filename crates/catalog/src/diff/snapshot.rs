//! [`Snapshot`]: what is compared of a catalog.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    sync::{Arc, OnceLock},
};

use serde::Serialize;

use super::content::{BorrowedChannel, Bundle, Package, shorten};
use crate::{BUNDLE, CHANNEL, DEPRECATIONS, Meta, Names, PACKAGE, Place, record};

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
    /// Adds a meta. The order of the metas has no effect.
    pub fn add(&mut self, meta: &Meta, place: &Place) {
        let value = meta.value();
        let [package, name] = [&meta.package, &meta.name].map(|it| shorten(it.clone()));
        match meta.schema.as_str() {
            PACKAGE => {
                let content = to_json(&Package::new(value));
                self.push(Kind::Package, place, [&name, PACKAGE, &name, &content]);
            }
            CHANNEL => {
                let (channel, repeated) = BorrowedChannel::new(value);
                self.repeated_entries.extend(repeated.map(|entry| {
                    format!("entry {entry:?} of the channel {name} of the package {package}")
                }));
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
        self.sorted.take();
        self.positions.push(Position { kind, file: Arc::clone(&place.file), line: place.line });
        for text in texts {
            self.texts.push(text);
        }
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
