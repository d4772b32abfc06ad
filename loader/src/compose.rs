//! The steps from a content to a manifest, from top to bottom.

use std::{borrow::Cow, collections::BTreeSet, mem};

use unlade_bundle::{Content, Directory, Finding, Findings, Reason};
use unlade_text::excerpt;
use unlade_yaml as yaml;

use crate::{
    Bundle, Error, Manifest, PackageManifest,
    channel::{self, Channels},
    fill::fill,
    metadata::Metadata,
    object::{self, Object, Objects, Skipped},
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
///
/// # Errors
///
/// If the budget of `reader` is used up.
pub(crate) fn compose(source: Source<'_>, reader: &yaml::Reader) -> Result<Manifest, Error> {
    let mut findings = Findings::from(source.findings);
    let content = &*source.content;

    let has_annotations = channel::are_in(content.annotations());
    let mut metadata = Metadata::new(!has_annotations);
    let objects = object::read(content, source.is_placed, reader, &mut metadata, &mut findings)?;
    findings.append(mem::take(&mut metadata.findings));
    let annotations = if has_annotations { content.annotations() } else { &metadata.annotations };
    let channels = Channels::read(annotations, &mut findings);
    let mut bundle = fill(&objects, &mut metadata, &channels, &mut findings);
    let Objects { found, skipped, packages, .. } = objects;
    let mut used = metadata.used;
    let package_manifest = choose_package(packages, &bundle, &mut used, &mut findings)
        .unwrap_or_else(|| channels.package_manifest(&bundle.csv_name));
    report(&skipped, &used, &mut findings);

    source.image.unwrap_or_default().clone_into(&mut bundle.bundle_path);
    bundle.objects = found;
    give_bytes(&mut bundle.objects, source.content.into_owned());
    Ok(Manifest { bundle, package_manifest, report: findings.into_vec() })
}

/// The PackageManifest among the files: the first by key (004.18).
fn choose_package<'a>(
    packages: Vec<(&'a str, PackageManifest)>,
    bundle: &Bundle,
    used: &mut BTreeSet<&'a str>,
    findings: &mut Findings,
) -> Option<PackageManifest> {
    let mut found: Option<(&str, PackageManifest)> = None;
    for (key, manifest) in packages {
        used.insert(key);
        if let Some((first, _)) = &found {
            let message =
                format!("the package manifest is not used, because `{first}` is one already");
            findings.push(Finding::new(Reason::Shadowed, key, message));
            continue;
        }
        if manifest.package_name != bundle.package_name {
            let message = format!(
                "the package manifest is of `{}`, the annotations name `{}`",
                excerpt::cut(&manifest.package_name),
                excerpt::cut(&bundle.package_name)
            );
            findings.push(Finding::new(Reason::InvalidValue, key, message));
        }
        found = Some((key, manifest));
    }
    found.map(|(_, manifest)| manifest)
}

/// Reports the files that gave nothing to the bundle.
fn report(skipped: &[Skipped<'_>], used: &BTreeSet<&str>, findings: &mut Findings) {
    for file in skipped {
        if used.contains(file.key) {
            continue;
        }
        let is_unused = file.directory == Directory::Metadata && file.is_document;
        findings.push(if is_unused {
            Finding::new(Reason::UnusedFile, file.key, "OLM does not use the file")
        } else {
            Finding::new(Reason::Undecodable, file.key, undecodable(file))
        });
    }
}

/// Describes what is lost with a file that does not decode, why, and what to do.
fn undecodable(file: &Skipped<'_>) -> String {
    let Skipped { key, directory, error, .. } = file;
    let lost = match *key {
        "dependencies.yaml" if *directory == Directory::Metadata => "OLM sees no dependencies",
        "properties.yaml" if *directory == Directory::Metadata => {
            "OLM sees no properties of the file"
        }
        _ => "OLM skips the file",
    };
    let hint = if file.has_tab { ": YAML is indented with spaces, not with tabs" } else { "" };
    format!("{lost}: {error}{hint}")
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
