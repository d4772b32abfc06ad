//! The parts of the four schemas that the rules of a catalog need.
//!
//! They are small, so that the memory for a catalog does not depend on the size of its bundles.

use serde::{Deserialize, Serialize};
use unlade_yaml::json::{Value, quote};

use crate::{
    Names,
    meta::{items, text},
    problem::Place,
};

/// The type of a property: an object of the bundle.
pub(crate) const BUNDLE_OBJECT: &str = "olm.bundle.object";
/// The type of a property: what a catalog shows of the ClusterServiceVersion.
pub(crate) const CSV_METADATA: &str = "olm.csv.metadata";
/// The type of a property that upstream uses internally.
pub(crate) const CHANNEL_PROPERTY: &str = "olm.channel";

/// The memory of an item of a list, divided by its size: a list doubles its capacity when it grows.
const LIST: usize = 2;

/// A package (`olm.package`).
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Package {
    /// The name.
    pub name: String,
    /// The name of the default channel.
    pub default_channel: String,
    /// Where it is.
    #[serde(skip)]
    pub place: Place,
}

/// A channel (`olm.channel`).
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Channel {
    /// The name of the package.
    pub package: String,
    /// The name.
    pub name: String,
    /// The entries in their order.
    pub entries: Vec<Entry>,
    /// Where it is.
    #[serde(skip)]
    pub place: Place,
}

/// An entry of a channel: a bundle, and the bundles that it can be installed over.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// The name of the bundle.
    pub name: String,
    /// The name of the bundle that it replaces. Empty if it replaces none.
    pub replaces: String,
    /// The names of the bundles that it skips.
    pub skips: Names,
    /// The range of versions that it skips. Empty if it has none.
    pub skip_range: String,
}

/// A bundle (`olm.bundle`).
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Bundle {
    /// The name of the package.
    pub package: String,
    /// The name.
    pub name: String,
    /// The image. Empty if the catalog contains the objects of the bundle.
    pub image: String,
    /// The version with the release, such as `1.2.3` or `1.2.3-1`. Empty if the bundle has no valid
    /// version.
    pub version: String,
    /// The version without the release. Empty if the bundle has no valid version.
    #[serde(skip)]
    pub plain_version: String,
    /// The images that the bundle uses.
    pub related_images: Vec<String>,
    /// Where it is.
    #[serde(skip)]
    pub place: Place,
}

impl Bundle {
    /// Returns the memory of the bundle, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let Self { package, name, image, version, plain_version, related_images, .. } = self;
        LIST * size_of::<Self>()
            + text_memory([package, name, image, version, plain_version])
            + LIST * size_of_val(related_images.as_slice())
            + text_memory(related_images)
    }

    /// Returns the version without the release, and the release. Each is empty if the bundle has
    /// none.
    pub(crate) fn version_and_release(&self) -> (&str, &str) {
        let release = self.version.strip_prefix(&self.plain_version);
        let release = release.and_then(|release| release.strip_prefix('-'));
        (&self.plain_version, release.unwrap_or_default())
    }
}

/// The deprecations of a package (`olm.deprecations`).
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Deprecations {
    /// The name of the package.
    pub package: String,
    /// The deprecations in their order.
    pub entries: Vec<Deprecation>,
    /// Where they are.
    #[serde(skip)]
    pub place: Place,
}

/// A deprecated package, channel or bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Deprecation {
    /// The schema of what is deprecated.
    pub schema: String,
    /// Its name. Empty for the package.
    pub name: String,
    /// The message for users.
    pub message: String,
}

impl Entry {
    /// Returns the names of the bundles that the entry replaces or skips.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let names = std::iter::once(self.replaces.as_str()).chain(self.skips.iter());
        names.filter(|name| !name.is_empty())
    }
}

impl Package {
    /// Returns the memory of the package, in bytes.
    pub(crate) fn memory(&self) -> usize {
        LIST * size_of::<Self>() + text_memory([&self.name, &self.default_channel])
    }

    pub(crate) fn new(value: Value<'_>, place: Place) -> Self {
        Self { name: text(value, "name"), default_channel: text(value, "defaultChannel"), place }
    }
}

impl Channel {
    /// Returns the memory of the channel, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let entries = self.entries.iter().map(|it| {
            LIST * size_of::<Entry>()
                + text_memory([&it.name, &it.replaces, &it.skip_range])
                + it.skips.memory()
        });
        LIST * size_of::<Self>() + text_memory([&self.package, &self.name]) + entries.sum::<usize>()
    }

    /// Reads a channel with at most its first `n_entries` entries.
    pub(crate) fn new(value: Value<'_>, place: Place, n_entries: usize) -> Self {
        Self {
            package: text(value, "package"),
            name: text(value, "name"),
            entries: items(value, "entries").take(n_entries).map(Entry::new).collect(),
            place,
        }
    }
}

impl Entry {
    pub(crate) fn new(value: Value<'_>) -> Self {
        Self {
            name: text(value, "name"),
            replaces: text(value, "replaces"),
            skips: items(value, "skips").map(|skip| skip.as_str().unwrap_or_default()).collect(),
            skip_range: text(value, "skipRange"),
        }
    }

    /// Returns the compact JSON of the entry, as upstream writes it.
    pub fn to_json(&self) -> String {
        let text = |name, text: &str| match text {
            "" => String::new(),
            text => format!(r#","{name}":{}"#, quote(text)),
        };
        let skips: Vec<_> = self.skips.iter().map(quote).collect();
        let skips = match skips.as_slice() {
            [] => String::new(),
            skips => format!(r#","skips":[{}]"#, skips.join(",")),
        };
        format!(
            r#"{{"name":{}{}{skips}{}}}"#,
            quote(&self.name),
            text("replaces", &self.replaces),
            text("skipRange", &self.skip_range)
        )
    }

    /// Returns the compact JSON of a list of entries, as upstream writes it.
    pub(crate) fn list_to_json(entries: &[Self]) -> String {
        let entries: Vec<_> = entries.iter().map(Self::to_json).collect();
        format!("[{}]", entries.join(","))
    }
}

impl Deprecations {
    /// Returns the memory of the deprecations, in bytes.
    pub(crate) fn memory(&self) -> usize {
        let entries = self.entries.iter();
        let entries = entries
            .map(|it| LIST * size_of_val(it) + text_memory([&it.schema, &it.name, &it.message]));
        LIST * size_of::<Self>() + text_memory([&self.package]) + entries.sum::<usize>()
    }

    /// Reads deprecations, at most the first `n_entries`.
    pub(crate) fn new(value: Value<'_>, place: Place, n_entries: usize) -> Self {
        Self {
            package: text(value, "package"),
            entries: items(value, "entries").take(n_entries).map(Deprecation::new).collect(),
            place,
        }
    }
}

impl Deprecation {
    pub(crate) fn new(value: Value<'_>) -> Self {
        let reference = unlade_bundle::typed::field(value, "reference");
        let part = |name| reference.map(|value| text(value, name)).unwrap_or_default();
        Self { schema: part("schema"), name: part("name"), message: text(value, "message") }
    }
}

/// Returns the memory of texts, in bytes. An allocator needs at least 32 bytes for each that is not
/// empty.
fn text_memory<'t>(texts: impl IntoIterator<Item = &'t String>) -> usize {
    let memory = |text: &String| if text.is_empty() { 0 } else { text.len().max(24) + 8 };
    texts.into_iter().map(memory).sum()
}
