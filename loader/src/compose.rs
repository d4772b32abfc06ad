//! Composes the [`Loaded`] bundle from its content.

use std::{borrow::Cow, collections::BTreeSet, mem};

use unlade_bundle::{Channels, Content, Directory, Finding, Findings, Reason, channel};
use unlade_text::excerpt;
use unlade_yaml as yaml;

use crate::{
    Bundle, Error, Loaded, PackageManifest,
    fill::fill,
    metadata::Metadata,
    object::{self, Object, Objects, Skipped},
};

/// The content of a bundle, and its origin.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) content: Cow<'a, Content>,
    /// The image that the content was read from.
    pub(crate) image: Option<&'a str>,
    /// Whether it is known which files are in metadata/.
    pub(crate) has_directories: bool,
    /// The keys of the files that upstream's loader does not read as objects, whatever they
    /// contain.
    pub(crate) unread: BTreeSet<String>,
    /// The findings of the reader of the content.
    pub(crate) findings: Vec<Finding>,
}

/// Composes the bundle of `source`, its package and the report.
///
/// # Errors
///
/// Returns an error if the budget of `reader` is exhausted.
pub(crate) fn compose(mut source: Source<'_>, reader: &yaml::Reader) -> Result<Loaded, Error> {
    let mut findings = Findings::from(mem::take(&mut source.findings));
    let content = &*source.content;

    let mut named = content.annotations().iter().filter(|(_, value)| !value.is_empty());
    let has_annotations = named.any(|(key, _)| channel::ANNOTATIONS.contains(&key.as_str()));
    let mut metadata = Metadata::new(!has_annotations);
    let objects = object::read(&source, reader, &mut metadata, &mut findings)?;
    findings.append(mem::take(&mut metadata.findings));
    let annotations = if has_annotations { content.annotations() } else { &metadata.annotations };
    let channels = Channels::read(annotations, &mut findings);
    let mut bundle = fill(&objects, &mut metadata, &channels, &mut findings);
    let Objects { found, skipped, in_metadata, package, other_packages, .. } = objects;
    let mut used = metadata.used;
    let package_manifest = match package {
        Some((key, manifest)) => {
            used.extend(other_packages.iter().chain([&key]));
            check_packages(key, &manifest, &other_packages, &bundle, &mut findings);
            manifest
        }
        None => PackageManifest::new(&channels, &bundle.csv_name),
    };
    report_skipped(&skipped, &used, &mut findings);
    report_in_metadata(&in_metadata, &used, &mut findings);

    source.image.unwrap_or_default().clone_into(&mut bundle.bundle_path);
    bundle.objects = found;
    move_bytes(&mut bundle.objects, source.content.into_owned());
    Ok(Loaded { bundle, package_manifest, report: findings.into_vec() })
}

/// Reports the PackageManifests that are dropped: all but the first one by key (design 004.18).
/// Also reports one that names another package than the annotations.
fn check_packages(
    first: &str,
    manifest: &PackageManifest,
    others: &[&str],
    bundle: &Bundle,
    findings: &mut Findings,
) {
    if manifest.package_name != bundle.package_name {
        let message = format!(
            "the package manifest names the package {:?}, but the annotations name {:?}",
            excerpt::shorten(&manifest.package_name),
            excerpt::shorten(&bundle.package_name)
        );
        findings.push(Finding::new(Reason::InvalidValue, first, message));
    }
    for &key in others {
        let message =
            format!("the package manifest is dropped: {first} is one too, so remove one of them");
        findings.push(Finding::new(Reason::Shadowed, key, message));
    }
}

/// Reports the files that contributed nothing to the bundle.
fn report_skipped(skipped: &[Skipped<'_>], used: &BTreeSet<&str>, findings: &mut Findings) {
    for file in skipped {
        if used.contains(file.key) {
            continue;
        }
        let is_unused = file.directory == Directory::Metadata && file.is_document;
        findings.push(if is_unused {
            unused(file.key)
        } else {
            Finding::new(Reason::Undecodable, file.key, describe_undecodable(file))
        });
    }
}

fn unused(key: &str) -> Finding {
    Finding::new(Reason::UnusedFile, key, "OLM does not use the file")
}

/// Reports the objects that OLM does not find, because they are in metadata/.
fn report_in_metadata(objects: &[Object], used: &BTreeSet<&str>, findings: &mut Findings) {
    for Object { key, kind, .. } in objects.iter().filter(|it| !used.contains(it.key.as_str())) {
        findings.push(if kind.is_empty() {
            unused(key)
        } else {
            let kind = excerpt::shorten(kind);
            let message = format!(
                "the object of kind {kind} is dropped, because OLM reads no objects from \
                 metadata/: move the file to manifests/"
            );
            Finding::new(Reason::UnreadKey, key, message)
        });
    }
}

/// Describes what is lost with a file that does not decode, why, and what to do.
fn describe_undecodable(file: &Skipped<'_>) -> String {
    let Skipped { key, directory, error, .. } = file;
    let lost = match *key {
        "dependencies.yaml" if *directory == Directory::Metadata => "the dependencies",
        "properties.yaml" if *directory == Directory::Metadata => "the properties of the file",
        _ => "the file",
    };
    // OLM has no limits, or higher ones.
    let dropper = if error.is_limit() { "unlade" } else { "OLM" };
    let hint = if file.has_tab { ": YAML is indented with spaces, not with tabs" } else { "" };
    format!("{dropper} drops {lost}: {error}{hint}")
}

/// Moves the bytes of the files into the objects. Both are sorted by key.
fn move_bytes(objects: &mut [Object], content: Content) {
    let mut entries = content.into_entries();
    for object in objects {
        if let Some((_, file)) = entries.find(|(key, _)| key.as_str() == object.key) {
            object.bytes = file.bytes;
        }
    }
}
