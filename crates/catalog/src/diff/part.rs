//! Compares the parts of catalogs.

use std::{collections::BTreeSet, iter};

use serde::de::DeserializeOwned;

use super::{
    change::{Change, Changes, Subject},
    content::{Bundle, Channel, Fields, Package},
    snapshot::{Key, Kind},
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

/// Compares the parts that have this key in the old and the new catalog.
pub(super) fn compare(key: Key<'_>, old: &[&str], new: &[&str], changes: &mut Changes) {
    let path = Path { package: key.package, ..Path::default() };
    let [old_content, new_content] = [old, new].map(|contents| contents.first().copied());
    match key.kind {
        Kind::Package => {
            compare_packages(path, old_content.map(read), new_content.map(read), changes);
        }
        Kind::Channel => {
            let path = Path { channel: key.name, ..path };
            compare_channels(path, old_content.map(read), new_content.map(read), changes);
        }
        Kind::Bundle => {
            let path = Path { bundle: key.name, ..path };
            compare_bundles(path, old_content.map(read), new_content.map(read), changes);
        }
        Kind::Deprecation => {
            let [old, new] = [old_content, new_content].map(|it| it.map(str::to_owned));
            changes.extend(path.change(Subject::Deprecation, &key.describe(), old, new));
        }
        Kind::Other => compare_values(path, Subject::Meta, &key.describe(), old, new, changes),
    }
}

/// Merges two lists. Returns each key with its values in `old` and in `new`. Both lists must be
/// sorted by key.
pub(super) fn pairs<K: Ord + Copy, V>(
    old: impl Iterator<Item = (K, V)>,
    new: impl Iterator<Item = (K, V)>,
) -> impl Iterator<Item = (K, Vec<V>, Vec<V>)> {
    let (mut old, mut new) = (old.peekable(), new.peekable());
    iter::from_fn(move || {
        let keys = [old.peek(), new.peek()].map(|it| it.map(|(key, _)| *key));
        let key = keys.into_iter().flatten().min()?;
        let old = iter::from_fn(|| old.next_if(|it| it.0 == key)).map(|it| it.1).collect();
        let new = iter::from_fn(|| new.next_if(|it| it.0 == key)).map(|it| it.1).collect();
        Some((key, old, new))
    })
}

/// Deserializes the content of a part. This cannot fail, because the snapshot has serialized it.
fn read<T: DeserializeOwned + Default>(content: &str) -> T {
    serde_json::from_str(content).unwrap_or_default()
}

fn compare_packages(
    path: Path<'_>,
    old: Option<Package>,
    new: Option<Package>,
    changes: &mut Changes,
) {
    let subject =
        if old.is_some() && new.is_some() { Subject::DefaultChannel } else { Subject::Package };
    let [old_default, new_default] =
        [&old, &new].map(|it| it.as_ref().map(|it| it.default_channel.clone()));
    changes.extend(path.change(subject, "", old_default, new_default));
    if let (Some(old), Some(new)) = (old, new) {
        compare_fields(path, &old.fields, &new.fields, changes);
    }
}

fn compare_channels(
    path: Path<'_>,
    old: Option<Channel>,
    new: Option<Channel>,
    changes: &mut Changes,
) {
    let head = |channel: &Channel| graph::heads(&channel.entries).join(", ");
    let subject = if old.is_some() && new.is_some() { Subject::Head } else { Subject::Channel };
    let [old_head, new_head] = [&old, &new].map(|it| it.as_ref().map(head));
    changes.extend(path.change(subject, "", old_head, new_head));
    let (Some(old), Some(new)) = (old, new) else { return };
    compare_fields(path, &old.fields, &new.fields, changes);
    let [old, new] = [&old, &new].map(|channel| {
        let mut entries: Vec<_> = channel.entries.iter().collect();
        entries.sort_unstable_by_key(|entry| &entry.name);
        entries.into_iter().map(|entry| (entry.name.as_str(), entry))
    });
    for (bundle, old, new) in pairs(old, new) {
        let [old, new] = [old, new].map(|entries| entries.first().copied());
        compare_entries(Path { bundle, ..path }, old, new, changes);
    }
}

fn compare_entries(
    path: Path<'_>,
    old: Option<&Entry>,
    new: Option<&Entry>,
    changes: &mut Changes,
) {
    let (Some(old), Some(new)) = (old, new) else {
        let [old, new] = [old, new].map(|it| it.map(describe_edges));
        changes.extend(path.change(Subject::Entry, "", old, new));
        return;
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
        compare_sets(path, Subject::Skips, "", &old, &new, changes);
    }
}

fn compare_bundles(
    path: Path<'_>,
    old: Option<Bundle>,
    new: Option<Bundle>,
    changes: &mut Changes,
) {
    let (Some(old), Some(new)) = (&old, &new) else {
        let describe =
            |Bundle { version, image, .. }: Bundle| format!("{version} {image}").trim().to_owned();
        let [old, new] = [old, new].map(|it| it.map(describe));
        changes.extend(path.change(Subject::Bundle, "", old, new));
        return;
    };
    for (subject, old, new) in
        [(Subject::Version, &old.version, &new.version), (Subject::Image, &old.image, &new.image)]
    {
        changes.extend(path.change(subject, "", Some(old.clone()), Some(new.clone())));
    }
    let [old_properties, new_properties] = [old, new]
        .map(|bundle| bundle.properties.iter().map(|(kind, value)| (kind.as_str(), &**value)));
    for (kind, old, new) in pairs(old_properties, new_properties) {
        compare_values(path, Subject::Property, kind, &old, &new, changes);
    }
    let [old, new] = [old, new].map(|it| it.related_images.iter().map(String::as_str).collect());
    compare_sets(path, Subject::RelatedImage, "", &old, &new, changes);
}

fn compare_fields(path: Path<'_>, old: &Fields, new: &Fields, changes: &mut Changes) {
    for (field, old, new) in pairs(old.iter(), new.iter()) {
        let [old, new] = [old, new].map(|values| values.first().map(|it| (*it).to_owned()));
        changes.extend(path.change(Subject::Field, field, old, new));
    }
}

/// Compares the values of one key. A value that was replaced by another one is one change, not two.
fn compare_values(
    path: Path<'_>,
    subject: Subject,
    name: &str,
    old: &[&str],
    new: &[&str],
    changes: &mut Changes,
) {
    let [old, new] = [old, new].map(|values| values.iter().copied().collect::<BTreeSet<_>>());
    let [mut removed, mut added] = [old.difference(&new), new.difference(&old)];
    if let (Some(old), None, Some(new), None) =
        (removed.next(), removed.next(), added.next(), added.next())
    {
        let [old, new] = [old, new].map(|value| Some((*value).to_owned()));
        changes.extend(path.change(subject, name, old, new));
    } else {
        compare_sets(path, subject, name, &old, &new, changes);
    }
}

/// Adds a change for each value that was removed, and then for each one that was added.
fn compare_sets(
    path: Path<'_>,
    subject: Subject,
    name: &str,
    old: &BTreeSet<&str>,
    new: &BTreeSet<&str>,
    changes: &mut Changes,
) {
    let some = |value: &&str| Some((*value).to_owned());
    let removed = old.difference(new);
    changes.extend(removed.filter_map(|value| path.change(subject, name, some(value), None)));
    let added = new.difference(old);
    changes.extend(added.filter_map(|value| path.change(subject, name, None, some(value))));
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
