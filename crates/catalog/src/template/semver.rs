//! Renders `olm.semver`.

use std::collections::{BTreeMap, BTreeSet};

use semver::{BuildMetadata, Version};
use unlade_bundle::typed::field;
use unlade_yaml::json::{Kind, Value, quote};

use super::{Error, RenderBundle, check, package, parse};
use crate::{
    Limits,
    meta::{items, text},
    record::Entry,
    render::Summary,
    shape,
};

/// The kinds of channels, from the least to the most stable.
const ARCHETYPES: [&str; 3] = ["candidate", "fast", "stable"];

/// The maximum number of images. Each bundle takes about a kilobyte of memory in addition to its
/// JSON.
const MAX_IMAGES: usize = 100_000;
/// The maximum memory for all names that the entries skip, in bytes. The highest version of each
/// minor version skips all versions before it, so their number grows with the square of that of
/// the bundles.
const MAX_SKIPS: usize = 8 << 20;

/// The part of a version that the name of a channel contains. Upstream prefers minor channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stream {
    Major,
    Minor,
}

/// A bundle of the template.
struct Bundle {
    name: String,
    version: Version,
    json: String,
    summary: Summary,
}

/// An entry of a channel that is being linked.
struct Edge<'b> {
    archetype: usize,
    stream: Stream,
    channel: String,
    bundle: &'b Bundle,
    /// Its index in the channel.
    index: usize,
}

pub(super) fn render(
    root: Value<'_>,
    limits: &Limits,
    render: RenderBundle<'_>,
) -> Result<Vec<String>, Error> {
    check(root, &shape::SEMVER, true)?;
    let (streams, preferred) = streams(root)?;
    let mut images: [Vec<String>; 3] = Default::default();
    for (archetype, images) in ARCHETYPES.iter().zip(&mut images) {
        let list = field(root, archetype);
        images.extend(
            list.into_iter().flat_map(|it| items(it, "bundles")).map(|it| text(it, "image")),
        );
    }
    if images.iter().map(Vec::len).sum::<usize>() > MAX_IMAGES {
        return Err(Error::TooMany { what: "images", limit: MAX_IMAGES });
    }
    let (package, bundles) = read_bundles(images.iter().flatten(), limits, render)?;
    let mut edges = Vec::new();
    let mut channels: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    let mut default =
        Best { archetype: 0, stream: None, version: Version::new(0, 0, 0), name: String::new() };
    for (archetype, images) in images.iter().enumerate() {
        for bundle in sort(images.iter().filter_map(|image| bundles.get(image)).collect())? {
            for &stream in &streams {
                let channel = channel_name(archetype, stream, &bundle.version);
                let is_new = !channels.contains_key(&channel);
                let entries = channels.entry(channel.clone()).or_default();
                if is_new {
                    default.raise(archetype, stream, &bundle.version, &channel, preferred);
                }
                entries.push(Entry { name: bundle.name.clone(), ..Entry::default() });
                edges.push(Edge { archetype, stream, channel, bundle, index: entries.len() - 1 });
            }
        }
    }
    link(edges, &mut channels)?;
    let head = channels.get(&default.name).and_then(|entries| entries.last());
    let head = head.and_then(|entry| bundles.values().find(|bundle| bundle.name == entry.name));
    let mut metas = vec![package_json(&package, &default.name, head.map(|head| &head.summary))];
    metas.extend(channels.iter().map(|(name, entries)| {
        format!(
            r#"{{"schema":"olm.channel","name":{},"package":{},"entries":{}}}"#,
            quote(name),
            quote(&package),
            Entry::list_to_json(entries)
        )
    }));
    metas.extend(bundles.into_values().map(|bundle| bundle.json));
    Ok(metas)
}

/// Renders each image once. Returns the package of all bundles, and the bundles by their images.
fn read_bundles<'i>(
    images: impl Iterator<Item = &'i String>,
    limits: &Limits,
    render: RenderBundle<'_>,
) -> Result<(String, BTreeMap<String, Bundle>), Error> {
    let mut bundles = BTreeMap::new();
    let mut package_name = None;
    for image in images {
        if bundles.contains_key(image) {
            continue;
        }
        let rendered = render(image)?;
        let meta = parse(image, &rendered.json, limits)?;
        let (package, version, _) = package(&meta)?;
        let other = package_name.get_or_insert_with(|| package.clone());
        if *other != package {
            return Err(Error::Packages { name: meta.name, package, other: other.clone() });
        }
        let bundle =
            Bundle { name: meta.name, version, json: rendered.json, summary: rendered.summary };
        bundles.insert(image.clone(), bundle);
    }
    Ok((package_name.ok_or(Error::NoBundles)?, bundles))
}

/// Returns which channels are generated, and which of them is preferred as the default.
fn streams(root: Value<'_>) -> Result<(Vec<Stream>, Stream), Error> {
    let is_set = |name| field(root, name).is_some_and(|value| value.kind() == Kind::Bool(true));
    let major = is_set("generateMajorChannels");
    let minor = is_set("generateMinorChannels") || !major;
    let streams: Vec<_> = [(major, Stream::Major), (minor, Stream::Minor)]
        .into_iter()
        .filter_map(|(it, stream)| it.then_some(stream))
        .collect();
    let preference = text(root, "defaultChannelTypePreference");
    let preferred = match preference.as_str() {
        "" if minor => Stream::Minor,
        "" | "major" => Stream::Major,
        "minor" => Stream::Minor,
        _ => return Err(Error::Preference(preference)),
    };
    if streams.contains(&preferred) {
        Ok((streams, preferred))
    } else {
        Err(Error::Preference(preference))
    }
}

/// Sorts the bundles of an archetype by their versions.
fn sort(mut bundles: Vec<&Bundle>) -> Result<Vec<&Bundle>, Error> {
    let mut names = BTreeSet::new();
    if let Some(bundle) = bundles.iter().find(|bundle| !names.insert(&bundle.name)) {
        return Err(Error::Duplicate(bundle.name.clone()));
    }
    bundles.sort_by(|a, b| a.version.cmp_precedence(&b.version));
    for pair in bundles.windows(2) {
        if let [a, b] = pair
            && a.version.cmp_precedence(&b.version).is_eq()
        {
            return Err(Error::Build(a.version.to_string(), b.version.to_string()));
        }
    }
    Ok(bundles)
}

fn channel_name(archetype: usize, stream: Stream, version: &Version) -> String {
    let archetype = ARCHETYPES.get(archetype).copied().unwrap_or_default();
    match stream {
        Stream::Major => format!("{archetype}-v{}", version.major),
        Stream::Minor => format!("{archetype}-v{}.{}", version.major, version.minor),
    }
}

/// The best channel so far (`highwaterChannel`).
struct Best {
    archetype: usize,
    stream: Option<Stream>,
    /// The version of the first bundle of the channel.
    version: Version,
    name: String,
}

impl Best {
    /// Replaces the best channel if the new one is better.
    fn raise(
        &mut self,
        archetype: usize,
        stream: Stream,
        version: &Version,
        name: &str,
        preferred: Stream,
    ) {
        let rank = |stream: Option<Stream>| (stream == Some(preferred), stream);
        let by_archetype = archetype.cmp(&self.archetype);
        let order = by_archetype
            .then_with(|| version.cmp_precedence(&self.version))
            .then_with(|| rank(Some(stream)).cmp(&rank(self.stream)));
        if order.is_gt() {
            let version = Version { build: BuildMetadata::EMPTY, ..version.clone() };
            *self = Self { archetype, stream: Some(stream), version, name: name.to_owned() };
        }
    }
}

/// Sets what the entries replace and skip (`linkChannels`): the highest version of each minor
/// version replaces that of the minor version before, and skips all others before it, within a
/// major version.
fn link(
    mut edges: Vec<Edge<'_>>,
    channels: &mut BTreeMap<String, Vec<Entry>>,
) -> Result<(), Error> {
    let mut n_bytes = 0_usize;
    edges.sort_by(|a, b| {
        (a.archetype, a.stream)
            .cmp(&(b.archetype, b.stream))
            .then_with(|| a.bundle.version.cmp_precedence(&b.bundle.version))
    });
    let group = |edge: &Edge<'_>| (edge.archetype, edge.stream, edge.bundle.version.major);
    for edges in edges.chunk_by(|a, b| group(a) == group(b)) {
        let (mut replaces, mut before) = ("", Before::default());
        for minor in edges.chunk_by(|a, b| a.bundle.version.minor == b.bundle.version.minor) {
            let Some((head, lower)) = minor.split_last() else { continue };
            for edge in lower {
                before.insert(&edge.bundle.name);
            }
            n_bytes = n_bytes.saturating_add(before.n_bytes);
            if n_bytes > MAX_SKIPS {
                return Err(Error::TooMany {
                    what: "bytes of memory for skipped names",
                    limit: MAX_SKIPS,
                });
            }
            let entries = channels.get_mut(&head.channel);
            if let Some(entry) = entries.and_then(|entries| entries.get_mut(head.index)) {
                replaces.clone_into(&mut entry.replaces);
                let skips = before.names.iter().filter(|name| **name != replaces);
                entry.skips = skips.collect();
            }
            replaces = &head.bundle.name;
            before.insert(replaces);
        }
    }
    Ok(())
}

/// The names that an entry skips.
#[derive(Default)]
struct Before<'b> {
    names: BTreeSet<&'b str>,
    /// The memory for the names in [`Names`](crate::Names), in bytes.
    n_bytes: usize,
}

impl<'b> Before<'b> {
    fn insert(&mut self, name: &'b str) {
        if self.names.insert(name) {
            self.n_bytes += name.len() + size_of::<usize>();
        }
    }
}

fn package_json(name: &str, default: &str, summary: Option<&Summary>) -> String {
    let icon = summary.and_then(|summary| summary.icon.as_ref()).map(|(data, media_type)| {
        let (data, media_type) = (quote(data), quote(media_type));
        format!(r#","icon":{{"base64data":{data},"mediatype":{media_type}}}"#)
    });
    let description = summary.map(|it| &it.description).filter(|it| !it.is_empty());
    let description = description.map(|text| format!(r#","description":{}"#, quote(text)));
    format!(
        r#"{{"schema":"olm.package","name":{},"defaultChannel":{}{}{}}}"#,
        quote(name),
        quote(default),
        icon.unwrap_or_default(),
        description.unwrap_or_default()
    )
}
