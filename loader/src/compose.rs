//! The steps from a content to a manifest, from top to bottom.

use std::{borrow::Cow, collections::BTreeSet};

use unlade_format::{
    Content, Directory, Finding, Limits, Reason,
    yaml::{self, Scalars},
};

use crate::{
    Bundle, Manifest, PackageManifest,
    channel::{self, Channels},
    fill::fill,
    metadata::{self, Candidate},
    object::{self, Object, Objects, Skipped},
    package_manifest,
};

/// A content, and where it came from.
#[derive(Debug)]
pub(crate) struct Source<'a> {
    pub(crate) content: Cow<'a, Content>,
    /// The image that it came from.
    pub(crate) image: Option<&'a str>,
    /// Whether it is known which files lie in metadata/.
    pub(crate) is_placed: bool,
    /// What its reader noticed.
    pub(crate) findings: Vec<Finding>,
}

/// The manifest of a content.
pub(crate) fn compose(source: Source<'_>, limits: &Limits) -> Manifest {
    let mut findings = source.findings;
    let content = &*source.content;

    let objects = object::read(content, source.is_placed, limits, &mut findings);
    let has_annotations = channel::are_in(content.annotations());
    let mut metadata =
        metadata::read(&objects.metadata, !has_annotations, &limits.yaml, &mut findings);
    let annotations = if has_annotations { content.annotations() } else { &metadata.annotations };
    let channels = Channels::read(annotations, &mut findings);
    let mut bundle = fill(&objects, &mut metadata, &channels, &mut findings);
    let mut used = metadata.used;
    let package_manifest = find_package(&objects, &bundle, &mut used, limits, &mut findings)
        .unwrap_or_else(|| channels.package_manifest(&bundle.csv_name));
    report(&objects.skipped, &used, limits, &mut findings);

    source.image.unwrap_or_default().clone_into(&mut bundle.bundle_path);
    bundle.objects = objects.found;
    give_bytes(&mut bundle.objects, source.content.into_owned());
    Manifest { bundle, package_manifest, report: findings }
}

/// The PackageManifest among the files: the first by key (004.18).
fn find_package<'a>(
    objects: &Objects<'a>,
    bundle: &Bundle,
    used: &mut BTreeSet<&'a str>,
    limits: &Limits,
    findings: &mut Vec<Finding>,
) -> Option<PackageManifest> {
    let mut found: Option<(&str, PackageManifest)> = None;
    for &Candidate { key, bytes } in &objects.packages {
        let Some(manifest) = package_manifest::read(bytes, &limits.yaml) else { continue };
        used.insert(key);
        if let Some((first, _)) = &found {
            let message = format!("this package manifest is not taken: `{first}` is one already");
            findings.push(Finding::new(Reason::Shadowed, key, message));
            continue;
        }
        if manifest.package_name != bundle.package_name {
            let message = format!(
                "the package manifest is of `{}`, the annotations name `{}`",
                manifest.package_name, bundle.package_name
            );
            findings.push(Finding::new(Reason::InvalidValue, key, message));
        }
        found = Some((key, manifest));
    }
    found.map(|(_, manifest)| manifest)
}

/// Reports the files that gave nothing to the bundle.
fn report(
    skipped: &[Skipped<'_>],
    used: &BTreeSet<&str>,
    limits: &Limits,
    findings: &mut Vec<Finding>,
) {
    for Skipped { candidate: Candidate { key, bytes }, directory, error } in skipped {
        if used.contains(key) {
            continue;
        }
        let is_text = || yaml::decode_document(bytes, Scalars::Resolved, &limits.yaml).is_ok();
        findings.push(if *directory == Directory::Metadata && is_text() {
            Finding::new(Reason::UnusedFile, *key, "the file says nothing of the bundle")
        } else {
            Finding::new(Reason::Undecodable, *key, error.to_string())
        });
    }
}

/// Moves the bytes of the files into the objects, both in the order of their keys.
fn give_bytes(objects: &mut [Object], content: Content) {
    let mut entries = content.into_entries();
    for object in objects {
        if let Some((_, file)) = entries.find(|(key, _)| key.as_str() == object.key) {
            object.bytes = file.bytes;
        }
    }
}
