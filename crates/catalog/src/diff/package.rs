//! Compares packages.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    iter,
};

use super::{
    change::{Change, Changes, Subject},
    snapshot::{Bundle, Channel, Fields, Package, PackageMeta, Placed, Values},
};
use crate::{graph, record::Entry};

/// Where a change is.
#[derive(Clone, Copy, Default)]
struct Path<'n> {
    package: &'n str,
    channel: &'n str,
    bundle: &'n str,
}

impl Path<'_> {
    fn change(
        self,
        subject: Subject,
        name: &str,
        old: Option<String>,
        new: Option<String>,
    ) -> Option<Change> {
        (old != new).then(|| Change {
            package: self.package.to_owned(),
            channel: self.channel.to_owned(),
            bundle: self.bundle.to_owned(),
            subject,
            name: name.to_owned(),
            old,
            new,
        })
    }
}

pub(super) fn compare(
    name: &str,
    old: Option<&Package>,
    new: Option<&Package>,
    changes: &mut Changes,
) {
    let path = Path { package: name, ..Path::default() };
    let nothing = Package::default();
    let (old, new) = (old.unwrap_or(&nothing), new.unwrap_or(&nothing));
    compare_metas(path, old.meta.as_ref(), new.meta.as_ref(), changes);
    for (channel, old, new) in pairs(&old.channels, &new.channels) {
        let [old, new] = [old, new].map(|it| it.map(AsRef::as_ref));
        compare_channels(Path { channel, ..path }, old, new, changes);
    }
    for (bundle, old, new) in pairs(&old.bundles, &new.bundles) {
        let [old, new] = [old, new].map(|it| it.map(AsRef::as_ref));
        compare_bundles(Path { bundle, ..path }, old, new, changes);
    }
    for (key, old, new) in pairs(&old.deprecations, &new.deprecations) {
        let name = describe_key(key);
        let [old, new] = [old, new].map(|it| it.map(|it| it.value.clone()));
        changes.extend(path.change(Subject::Deprecation, &name, old, new));
    }
    compare_values(path, Subject::Meta, describe_key, (&old.others, &new.others), changes);
}

/// Describes a meta by its schema and its name, if it has one.
pub(super) fn describe_key((schema, name): &(String, String)) -> Cow<'_, str> {
    match name.as_str() {
        "" => Cow::Borrowed(schema),
        name => Cow::Owned(format!("{schema} {name}")),
    }
}

fn compare_metas(
    path: Path<'_>,
    old: Option<&Placed<PackageMeta>>,
    new: Option<&Placed<PackageMeta>>,
    changes: &mut Changes,
) {
    let [old_default, new_default] =
        [old, new].map(|it| it.map(|it| it.value.default_channel.clone()));
    let subject =
        if old.is_some() && new.is_some() { Subject::DefaultChannel } else { Subject::Package };
    changes.extend(path.change(subject, "", old_default, new_default));
    if let (Some(old), Some(new)) = (old, new) {
        compare_fields(path, &old.value.fields, &new.value.fields, changes);
    }
}

fn compare_channels(
    path: Path<'_>,
    old: Option<&Placed<Channel>>,
    new: Option<&Placed<Channel>>,
    changes: &mut Changes,
) {
    let head = |channel: &Channel| graph::heads(&channel.entries).join(", ");
    let [old_head, new_head] = [old, new].map(|it| it.map(|it| head(&it.value)));
    let (Some(old), Some(new)) = (old, new) else {
        changes.extend(path.change(Subject::Channel, "", old_head, new_head));
        return;
    };
    changes.extend(path.change(Subject::Head, "", old_head, new_head));
    compare_fields(path, &old.value.fields, &new.value.fields, changes);
    let [old, new] = [old, new].map(|channel| -> BTreeMap<&str, &Entry> {
        channel.value.entries.iter().map(|entry| (entry.name.as_str(), entry)).collect()
    });
    for (bundle, old, new) in pairs(&old, &new) {
        let path = Path { bundle, ..path };
        let (Some(old), Some(new)) = (old, new) else {
            let [old, new] = [old, new].map(|it| it.map(|it| describe_edges(it)));
            changes.extend(path.change(Subject::Entry, "", old, new));
            continue;
        };
        for (subject, old, new) in [
            (Subject::Replaces, &old.replaces, &new.replaces),
            (Subject::SkipRange, &old.skip_range, &new.skip_range),
        ] {
            let [old, new] = [old, new].map(|text| Some(text.clone()).filter(|it| !it.is_empty()));
            changes.extend(path.change(subject, "", old, new));
        }
        if old.skips != new.skips {
            let [old, new] = [old, new].map(|it| it.skips.iter().collect());
            compare_sets(path, Subject::Skips, &old, &new, changes);
        }
    }
}

fn compare_bundles(
    path: Path<'_>,
    old: Option<&Placed<Bundle>>,
    new: Option<&Placed<Bundle>>,
    changes: &mut Changes,
) {
    let (Some(old), Some(new)) = (old, new) else {
        let describe = |it: &Placed<Bundle>| {
            let Bundle { version, image, .. } = &it.value;
            format!("{version} {image}").trim().to_owned()
        };
        let [old, new] = [old, new].map(|it| it.map(describe));
        changes.extend(path.change(Subject::Bundle, "", old, new));
        return;
    };
    let (old, new) = (&old.value, &new.value);
    for (subject, old, new) in
        [(Subject::Version, &old.version, &new.version), (Subject::Image, &old.image, &new.image)]
    {
        changes.extend(path.change(subject, "", Some(old.clone()), Some(new.clone())));
    }
    let properties = (&old.properties, &new.properties);
    compare_values(path, Subject::Property, |kind| Cow::Borrowed(kind), properties, changes);
    let subject = Subject::RelatedImage;
    compare_sets(path, subject, &old.related_images, &new.related_images, changes);
}

fn compare_fields(path: Path<'_>, old: &Fields, new: &Fields, changes: &mut Changes) {
    for (field, old, new) in pairs(old, new) {
        changes.extend(path.change(Subject::Field, field, old.cloned(), new.cloned()));
    }
}

/// Compares values that have no key.
fn compare_sets<V: AsRef<str> + Ord>(
    path: Path<'_>,
    subject: Subject,
    old: &BTreeSet<V>,
    new: &BTreeSet<V>,
    changes: &mut Changes,
) {
    let removed = old.difference(new).map(AsRef::as_ref);
    add_values(path, subject, "", removed, new.difference(old).map(AsRef::as_ref), changes);
}

/// Adds a change for each value that was removed, and then for each one that was added.
fn add_values<'v>(
    path: Path<'_>,
    subject: Subject,
    name: &str,
    removed: impl Iterator<Item = &'v str>,
    added: impl Iterator<Item = &'v str>,
    changes: &mut Changes,
) {
    let some = |value: &str| Some(value.to_owned());
    changes.extend(removed.filter_map(|value| path.change(subject, name, some(value), None)));
    changes.extend(added.filter_map(|value| path.change(subject, name, None, some(value))));
}

/// Compares values with a key, whose text `name` returns. If one value of a key became another, it
/// is one change.
fn compare_values<K: Ord>(
    path: Path<'_>,
    subject: Subject,
    name: impl Fn(&K) -> Cow<'_, str>,
    (old, new): (&Values<K>, &Values<K>),
    changes: &mut Changes,
) {
    let mut removed = old.difference(new).peekable();
    let mut added = new.difference(old).peekable();
    while let Some((key, _)) = removed.peek().into_iter().chain(added.peek()).copied().min() {
        let name = name(key);
        let has_key = |it: &&(K, String)| it.0 == *key;
        let (old, new) = (removed.next_if(has_key), added.next_if(has_key));
        let has_more = removed.peek().is_some_and(has_key) || added.peek().is_some_and(has_key);
        if let (Some((_, old)), Some((_, new)), false) = (old, new, has_more) {
            changes.extend(path.change(subject, &name, Some(old.clone()), Some(new.clone())));
            continue;
        }
        let old = old.into_iter().chain(iter::from_fn(|| removed.next_if(has_key)));
        let new = new.into_iter().chain(iter::from_fn(|| added.next_if(has_key)));
        let (old, new) = (old.map(|(_, value)| &**value), new.map(|(_, value)| &**value));
        add_values(path, subject, &name, old, new, changes);
    }
}

/// Returns the keys of both maps with their values.
fn pairs<'m, K: Ord, T>(
    old: &'m BTreeMap<K, T>,
    new: &'m BTreeMap<K, T>,
) -> impl Iterator<Item = (&'m K, Option<&'m T>, Option<&'m T>)> {
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    keys.into_iter().map(|key| (key, old.get(key), new.get(key)))
}

fn describe_edges(entry: &Entry) -> String {
    let Entry { replaces, skips, skip_range, .. } = entry;
    let mut parts = Vec::new();
    if !replaces.is_empty() {
        parts.push(format!("replaces {replaces}"));
    }
    if !skips.is_empty() {
        parts.push(format!("skips {}", skips.join(" ")));
    }
    if !skip_range.is_empty() {
        parts.push(format!("skipRange {skip_range}"));
    }
    parts.join(", ")
}
