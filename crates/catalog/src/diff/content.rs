//! The compared parts of packages, channels and bundles. A [`Snapshot`](super::Snapshot) keeps them
//! as JSON.

use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use unlade_bundle::{property::PACKAGE as PACKAGE_PROPERTY, typed::field};
use unlade_text::excerpt;
use unlade_yaml::json::{Value, is_folded};

use crate::{
    Names,
    meta::{items, properties, text},
    record::Entry,
};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Package {
    pub(super) default_channel: String,
    pub(super) fields: Fields,
}

/// A channel that borrows its entries from the catalog, so that it does not need an [`Entry`] for
/// each of up to 100,000.
#[derive(Debug, Serialize)]
pub(super) struct BorrowedChannel<'v> {
    #[serde(serialize_with = "write_entries")]
    entries: Vec<Value<'v>>,
    fields: Fields,
}

/// The deserialized form of a [`BorrowedChannel`].
#[derive(Debug, Default, Deserialize)]
pub(super) struct Channel {
    pub(super) entries: Vec<Entry>,
    pub(super) fields: Fields,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Bundle {
    pub(super) image: String,
    pub(super) version: String,
    /// The type and the value of each property. A set for each type would need ten times the
    /// memory if most types have one value.
    pub(super) properties: BTreeSet<(String, String)>,
    pub(super) related_images: BTreeSet<String>,
}

/// The other fields of a meta, sorted by key. Each key is followed by its value.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Fields(Names);

impl Package {
    pub(super) fn new(value: Value<'_>) -> Self {
        Self {
            default_channel: shorten(text(value, "defaultChannel")),
            fields: Fields::new(value, &["schema", "name", "defaultChannel"]),
        }
    }
}

impl<'v> BorrowedChannel<'v> {
    /// Reads a channel. Keeps only the first of several entries with the same name or without a
    /// name. Also returns the first repeated name.
    pub(super) fn new(value: Value<'v>) -> (Self, Option<String>) {
        let (mut entries, mut repeated, mut seen) = (Vec::new(), None, HashSet::new());
        for entry in items(value, "entries") {
            let name = field(entry, "name").and_then(|name| name.as_str()).unwrap_or_default();
            if seen.insert(name) {
                entries.push(entry);
            } else if repeated.is_none() {
                repeated = Some(shorten(name.to_owned()));
            }
        }
        let fields = Fields::new(value, &["schema", "name", "package", "entries"]);
        (Self { entries, fields }, repeated)
    }
}

impl Bundle {
    pub(super) fn new(value: Value<'_>) -> Self {
        let mut version = String::new();
        let mut all = BTreeSet::new();
        for (kind, value) in properties(value) {
            let Some(value) = value else { continue };
            if kind == PACKAGE_PROPERTY && version.is_empty() {
                let [plain, release] = ["version", "release"].map(|name| text(value, name));
                let separator = if release.is_empty() { "" } else { "-" };
                version = shorten(format!("{plain}{separator}{release}"));
            }
            all.insert((shorten(kind), shorten(value.to_float_json())));
        }
        let related_images = items(value, "relatedImages")
            .map(|image| match (text(image, "name"), text(image, "image")) {
                (name, image) if name.is_empty() => image,
                (name, image) => format!("{name} {image}"),
            })
            .map(shorten)
            .collect();
        let image = shorten(text(value, "image"));
        Self { image, version, properties: all, related_images }
    }
}

impl Fields {
    /// Reads the fields of a meta, except those with these names.
    fn new(value: Value<'_>, without: &[&str]) -> Self {
        let is_other = |key: &str| !without.iter().any(|name| is_folded(key, name));
        let fields = value.entries().filter(|(key, _)| is_other(key));
        let mut fields: Vec<_> =
            fields.map(|(key, value)| (shorten(key.to_owned()), value)).collect();
        fields.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        let mut texts = Names::default();
        for (key, value) in fields {
            let value = value.as_str().map_or_else(|| value.to_float_json(), str::to_owned);
            texts.push(&key);
            texts.push(&shorten(value));
        }
        Self(texts)
    }

    /// Returns each key with its value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut texts = self.0.iter();
        std::iter::from_fn(move || Some((texts.next()?, texts.next()?)))
    }
}

/// Returns a text that is longer than an excerpt as its digest.
pub(super) fn shorten(text: String) -> String {
    if text.len() <= excerpt::SIZE {
        return text;
    }
    let digest = unlade_text::hex(&Sha256::digest(text.as_bytes()));
    format!("sha256:{digest} ({} bytes)", text.len())
}

/// Writes the fields of each entry as a list, which needs less memory than a map.
fn write_entries<S: Serializer>(entries: &[Value<'_>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(entries.iter().map(|entry| {
        let Entry { name, replaces, skips, skip_range } = Entry::new(*entry);
        let [name, replaces, skip_range] = [name, replaces, skip_range].map(shorten);
        let skips: Names = skips.iter().map(|name| shorten(name.to_owned())).collect();
        (name, replaces, skips, skip_range)
    }))
}
