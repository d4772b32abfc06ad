//! Renders `olm.template.substitutes`.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use semver::{BuildMetadata, Prerelease, Version};
use unlade_bundle::typed::field;
use unlade_text::excerpt::shorten;
use unlade_yaml::json::Value;

use super::{Error, RenderBundle, catalog, check, entries, package, parse, validate};
use crate::{
    BUNDLE, CHANNEL, FileReader, Limits, Meta,
    meta::{items, properties, text},
    record::{CSV_METADATA, Entry},
    render::find_csv,
    shape,
};

/// The maximum number of substitutions.
const MAX_SUBSTITUTIONS: usize = 1_000;
/// The maximum number of bundles, entries and skips that are checked. The whole catalog is checked
/// after each substitution, which takes some microseconds for each of them.
const MAX_CHECKED: usize = 1_000_000;

/// The annotation of a bundle whose build metadata is its release.
const SUBSTITUTES_FOR: &str = "olm.substitutesFor";

pub(super) fn render(
    root: Value<'_>,
    limits: &Limits,
    render: RenderBundle<'_>,
) -> Result<Vec<String>, Error> {
    check(root, &shape::SUBSTITUTES, false)?;
    let metas = entries(root, limits)?;
    let mut rendered_metas: Vec<_> = metas.iter().map(Meta::to_json).collect();
    let mut catalog = catalog(&rendered_metas, "catalog", limits)?;
    let file_reader = FileReader::new(limits);
    validate(&catalog)?;
    let mut bundles = BTreeMap::new();
    let mut channels = Vec::new();
    for (index, meta) in metas.into_iter().enumerate() {
        match meta.schema.as_str() {
            CHANNEL => channels.push((index, meta)),
            BUNDLE => drop(bundles.entry(meta.name.clone()).or_insert(meta)),
            _ => {}
        }
    }
    let mut n_checked = 0_usize;
    let (mut bases, mut images) = (BTreeSet::new(), BTreeSet::new());
    if items(root, "substitutions").count() > MAX_SUBSTITUTIONS {
        return Err(Error::TooMany { what: "substitutions", limit: MAX_SUBSTITUTIONS });
    }
    for substitution in items(root, "substitutions") {
        let (image, base) = (text(substitution, "name"), text(substitution, "base"));
        let failed = |problem: &str| Error::Substitution {
            substitute: image.clone(),
            base: base.clone(),
            problem: problem.to_owned(),
        };
        if !bases.insert(base.clone()) {
            return Err(failed("another substitution has the same base"));
        }
        if !images.insert(image.clone()) {
            return Err(failed("another substitution has the same name"));
        }
        if image.is_empty() || base.is_empty() || image == base {
            return Err(failed("both must be set, and must differ"));
        }
        let rendered = render(&image)?;
        let bundle = parse(&image, &rendered.json, limits)?;
        let version = version_of(&bundle, limits)?;
        let Some(base_bundle) = bundles.get(&base) else {
            return Err(failed("the bundle is not in the catalog"));
        };
        if compare(&version_of(base_bundle, limits)?, &version) != Ordering::Less {
            return Err(failed("its version is not higher"));
        }
        for channel in &mut catalog.channels {
            substitute(&mut channel.entries, &base, &bundle.name);
        }
        // The name of the file is a part of each message.
        catalog.add(file_reader.read(&*shorten(&image), rendered.json.as_bytes()));
        rendered_metas.push(rendered.json);
        bundles.entry(bundle.name.clone()).or_insert(bundle);
        let entries = catalog.channels.iter().flat_map(|channel| &channel.entries);
        n_checked += catalog.bundles.len() + entries.map(|it| 1 + it.skips.len()).sum::<usize>();
        if n_checked > MAX_CHECKED {
            let what = "bundles, entries and skips to check after substitutions";
            return Err(Error::TooMany { what, limit: MAX_CHECKED });
        }
        validate(&catalog)?;
    }
    if !bases.is_empty() {
        // The catalog is valid, so it has a record of each channel, in the order of the metas.
        for ((index, meta), channel) in channels.iter().zip(&catalog.channels) {
            if let Some(place) = rendered_metas.get_mut(*index) {
                *place = meta.to_json_with("entries", &Entry::list_to_json(&channel.entries));
            }
        }
    }
    Ok(rendered_metas)
}

/// Puts `name` in the place of `base` (`processSubstitution`).
fn substitute(entries: &mut Vec<Entry>, base: &str, name: &str) {
    let mut new = Vec::new();
    for entry in entries.iter_mut().filter(|entry| entry.name == base) {
        let mut substitute = Entry { name: base.to_owned(), ..Entry::default() };
        std::mem::swap(&mut substitute, entry);
        name.clone_into(&mut substitute.name);
        substitute.skips.push(base);
        new.push(substitute);
    }
    for entry in entries.iter_mut() {
        if entry.replaces == base {
            name.clone_into(&mut entry.replaces);
            entry.skips.push(base);
        } else if entry.skips.iter().any(|skip| skip == base) {
            entry.skips = entry.skips.iter().filter(|skip| *skip != base).collect();
            entry.skips.push(name);
        }
    }
    // A catalog in which a channel has an entry twice is not valid, so `new` has at most one entry.
    entries.append(&mut new);
}

/// Returns the version and the release of a bundle (`VersionRelease`). Each is a version, because a
/// release has the form of a prerelease.
fn version_of(bundle: &Meta, limits: &Limits) -> Result<(Version, Option<Prerelease>), Error> {
    let (_, mut version, release) = package(bundle)?;
    let release = if release.is_empty() && !version.build.is_empty() && is_legacy(bundle, limits) {
        std::mem::take(&mut version.build).to_string()
    } else {
        release
    };
    version.build = BuildMetadata::EMPTY;
    if release.is_empty() {
        return Ok((version, None));
    }
    match (crate::release::check(&release), Prerelease::new(&release)) {
        (None, Ok(release)) => Ok((version, Some(release))),
        _ => Err(Error::Package {
            name: bundle.name.clone(),
            problem: format!("{:?} is not a release", shorten(&release)),
        }),
    }
}

/// Compares versions, and then releases. A version without a release is lower than one with a
/// release.
fn compare(
    (a, a_release): &(Version, Option<Prerelease>),
    (b, b_release): &(Version, Option<Prerelease>),
) -> Ordering {
    a.cmp_precedence(b).then_with(|| a_release.cmp(b_release))
}

/// Checks whether the bundle has the annotation `olm.substitutesFor`.
fn is_legacy(bundle: &Meta, limits: &Limits) -> bool {
    let has = |annotations: Option<Value<'_>>| {
        annotations
            .and_then(|annotations| annotations.get(SUBSTITUTES_FOR)?.as_str())
            .is_some_and(|text| !text.is_empty())
    };
    if let Some(csv) = find_csv(bundle.value(), &limits.document) {
        return has(field(csv.root(), "metadata").and_then(|it| field(it, "annotations")));
    }
    let metadata = properties(bundle.value()).filter(|(kind, _)| kind == CSV_METADATA);
    metadata.filter_map(|(_, value)| value).any(|value| has(field(value, "annotations")))
}
