//! [`Snapshot`]: what is compared of a catalog.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use sha2::{Digest as _, Sha256};
use unlade_bundle::{property::PACKAGE as PACKAGE_PROPERTY, typed::field};
use unlade_text::excerpt;
use unlade_yaml::json::{Value, is_folded};

use super::package::describe_key;
use crate::{
    BUNDLE, CHANNEL, DEPRECATIONS, Meta, PACKAGE, Place,
    meta::{items, properties, text},
    record::{self, Entry},
};

/// The parts of a catalog that are compared. Of each long value or name, it keeps only a digest:
/// each of many changes repeats the names of its package and channel.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub(super) packages: BTreeMap<String, Package>,
    duplicates: BTreeSet<String>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Package {
    pub(super) meta: Option<Placed<PackageMeta>>,
    // Boxes, because a map has room for some values more than it contains, and a catalog may have
    // many packages with one bundle.
    pub(super) channels: BTreeMap<String, Box<Placed<Channel>>>,
    pub(super) bundles: BTreeMap<String, Box<Placed<Bundle>>>,
    /// The messages by schema and name.
    pub(super) deprecations: BTreeMap<(String, String), Box<Placed<String>>>,
    /// The metas with other schemas, by schema and name.
    pub(super) others: Values<(String, String)>,
}

/// A value with its place. Of several with the same name, the first one is compared.
#[derive(Debug, Clone)]
pub(super) struct Placed<T> {
    place: Place,
    pub(super) value: T,
}

#[derive(Debug, Clone)]
pub(super) struct PackageMeta {
    pub(super) default_channel: String,
    pub(super) fields: Fields,
}

#[derive(Debug, Clone)]
pub(super) struct Channel {
    pub(super) entries: Vec<Entry>,
    pub(super) fields: Fields,
}

#[derive(Debug, Clone)]
pub(super) struct Bundle {
    pub(super) image: String,
    pub(super) version: String,
    /// The properties by type.
    pub(super) properties: Values<String>,
    pub(super) related_images: BTreeSet<String>,
}

/// Values with their keys. A key can have several values. A set for each key would need ten times
/// the memory if most keys have one value.
pub(super) type Values<K> = BTreeSet<(K, String)>;

/// The other fields of a meta.
pub(super) type Fields = BTreeMap<String, String>;

impl Snapshot {
    /// Adds a meta. The order of the metas has no effect.
    pub fn add(&mut self, meta: &Meta, place: &Place) {
        let value = meta.value();
        let [schema, name] = [&meta.schema, &meta.name].map(|it| shorten(it.clone()));
        let package_name =
            if meta.schema == PACKAGE { name.clone() } else { shorten(meta.package.clone()) };
        let package = self.packages.entry(package_name.clone()).or_default();
        let is_first = match meta.schema.as_str() {
            PACKAGE => {
                let default_channel = shorten(text(value, "defaultChannel"));
                let fields = fields(value, &["schema", "name", "defaultChannel"]);
                let new = PackageMeta { default_channel, fields };
                put_first(&mut package.meta, place, new)
            }
            CHANNEL => {
                let (entries, repeated) = read_entries(value);
                self.duplicates.extend(repeated.map(|entry| {
                    format!("entry {entry:?} of the channel {name} of the package {package_name}")
                }));
                let fields = fields(value, &["schema", "name", "package", "entries"]);
                let new = Channel { entries, fields };
                insert_first(&mut package.channels, name.clone(), place, new)
            }
            BUNDLE => {
                let new = Bundle::new(value);
                insert_first(&mut package.bundles, name.clone(), place, new)
            }
            DEPRECATIONS => {
                let entries = record::Deprecations::new(value, place.clone(), usize::MAX).entries;
                let of_package = &mut package.deprecations;
                let results = entries.into_iter().map(|it| {
                    let [schema, name, message] = [it.schema, it.name, it.message].map(shorten);
                    insert_first(of_package, (schema, name), place, message)
                });
                results.fold(true, |all, is_first| all & is_first)
            }
            _ => {
                let key = (schema.clone(), name.clone());
                package.others.insert((key, shorten(meta.blob())));
                true
            }
        };
        if !is_first {
            let key = (schema, name);
            let name = describe_key(&key);
            self.duplicates.insert(format!("{name} of the package {package_name}"));
        }
    }

    /// Returns what occurs several times in the catalog. Only the first one of each is compared.
    pub fn duplicates(&self) -> impl Iterator<Item = &str> {
        self.duplicates.iter().map(String::as_str)
    }
}

impl Bundle {
    fn new(value: Value<'_>) -> Self {
        let mut values = Values::default();
        let mut version = String::new();
        for (kind, value) in properties(value) {
            let Some(value) = value else { continue };
            if kind == PACKAGE_PROPERTY && version.is_empty() {
                let [plain, release] = ["version", "release"].map(|name| text(value, name));
                let separator = if release.is_empty() { "" } else { "-" };
                version = shorten(format!("{plain}{separator}{release}"));
            }
            values.insert((shorten(kind), shorten(value.to_float_json())));
        }
        let related_images = items(value, "relatedImages")
            .map(|image| match (text(image, "name"), text(image, "image")) {
                (name, image) if name.is_empty() => image,
                (name, image) => format!("{name} {image}"),
            })
            .map(shorten)
            .collect();
        let image = shorten(text(value, "image"));
        Self { image, version, properties: values, related_images }
    }
}

/// Sets the value unless one from an earlier place is set. Returns whether none was set.
fn put_first<T>(slot: &mut Option<Placed<T>>, place: &Place, value: T) -> bool {
    let is_first = slot.is_none();
    if slot.as_ref().is_none_or(|other| *place < other.place) {
        *slot = Some(Placed { place: place.clone(), value });
    }
    is_first
}

fn insert_first<K: Ord, T>(
    map: &mut BTreeMap<K, Box<Placed<T>>>,
    key: K,
    place: &Place,
    value: T,
) -> bool {
    match map.get_mut(&key) {
        None => {
            map.insert(key, Box::new(Placed { place: place.clone(), value }));
            true
        }
        Some(other) => {
            if *place < other.place {
                **other = Placed { place: place.clone(), value };
            }
            false
        }
    }
}

/// Returns the fields of a meta, except those with these names.
fn fields(value: Value<'_>, without: &[&str]) -> Fields {
    let is_other = |key: &str| !without.iter().any(|name| is_folded(key, name));
    value
        .entries()
        .filter(|(key, _)| is_other(key))
        .map(|(key, value)| {
            let text = value.as_str().map_or_else(|| value.to_float_json(), str::to_owned);
            (shorten(key.to_owned()), shorten(text))
        })
        .collect()
}

/// Reads the entries of a channel. Of several with the same name, or with none, it keeps only the
/// first one. It also returns the first name that is repeated.
fn read_entries(channel: Value<'_>) -> (Vec<Entry>, Option<String>) {
    let (mut entries, mut repeated, mut seen) = (Vec::new(), None, HashSet::new());
    for entry in items(channel, "entries") {
        let name = field(entry, "name").and_then(|name| name.as_str()).unwrap_or_default();
        if seen.insert(name) {
            entries.push(shorten_entry(Entry::new(entry)));
        } else if repeated.is_none() {
            repeated = Some(shorten(name.to_owned()));
        }
    }
    (entries, repeated)
}

fn shorten_entry(entry: Entry) -> Entry {
    let Entry { name, replaces, skips, skip_range } = entry;
    let [name, replaces, skip_range] = [name, replaces, skip_range].map(shorten);
    let skips = skips.iter().map(|name| shorten(name.to_owned())).collect();
    Entry { name, replaces, skips, skip_range }
}

/// Returns a text that is longer than an excerpt as its digest.
fn shorten(text: String) -> String {
    if text.len() <= excerpt::SIZE {
        return text;
    }
    let digest = unlade_text::hex(&Sha256::digest(text.as_bytes()));
    format!("sha256:{digest} ({} bytes)", text.len())
}
