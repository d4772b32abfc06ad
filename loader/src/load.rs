//! [`load()`]: loads a [`Loaded`] bundle from what a reader has read.

use std::borrow::Cow;
use std::collections::BTreeSet;

use derive_setters::Setters;
use serde::Serialize;
use unlade_bundle::{
    Content, Directory, Finding, Limits, Reading,
    annotation::{OLM, UPSTREAM},
};
use unlade_config_map::{ConfigMap, decode, mark};
use unlade_text::excerpt;
use unlade_yaml as yaml;

use crate::{Bundle, PackageManifest, compose};

/// The result of loading one bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Loaded {
    /// The bundle.
    pub bundle: Bundle,
    /// The package of the bundle: the PackageManifest resource among the files, else one that is
    /// derived from the annotations and the CSV.
    pub package_manifest: PackageManifest,
    /// Findings about everything that was dropped, or read differently from how it is written.
    pub report: Vec<Finding>,
}

/// What to do with a bundle if something in it would be lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Load what upstream loads, and report what is lost.
    #[default]
    Upstream,
    /// Return an error. Findings that lose nothing of the bundle do not count: see
    /// [`Reason::is_loss`](unlade_bundle::Reason::is_loss).
    Strict,
}

/// Options of [`load()`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct Options {
    /// What to do with a bundle if something in it would be lost.
    pub strictness: Strictness,
    /// The limits for everything that is read.
    pub limits: Limits,
    /// The image that the bundle was read from, for `bundlePath`. If the ConfigMap names an image,
    /// that image takes precedence.
    pub source_image: Option<String>,
}

/// An error that prevents a bundle from being loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ConfigMaps cannot be decoded.
    #[error(transparent)]
    Decode(#[from] decode::Error),
    /// The ConfigMap contains no part of a bundle: neither a value nor an annotation.
    #[error(
        "the ConfigMap does not contain a bundle: no value is an object, and no annotation names a \
         package"
    )]
    NoBundle,
    /// Something would be lost, and [`Strictness::Strict`] was requested. Contains all such
    /// findings.
    #[error("failed to load some parts of the bundle: {}", excerpt::list(.0, "; "))]
    Lossy(Vec<Finding>),
    /// Reading all files exceeds the budget of [`Options::limits`].
    #[error("failed to read {}", if .key.is_empty() { "the bundle" } else { .key })]
    Exhausted {
        /// The ConfigMap key of the file at which the budget was exhausted. Empty if it was already
        /// exhausted before the first file.
        key: String,
        /// The budget that was exhausted.
        #[source]
        source: yaml::Error,
    },
}

impl Error {
    /// Returns a suggestion for how to fix the error, if one is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Decode(error) => error.hint(),
            Self::Lossy(_) => Some("load the bundle without strictness, as OLM does"),
            Self::NoBundle | Self::Exhausted { .. } => None,
        }
    }
}

/// Loads the bundle that a reader has read, its package, and a report about everything that was
/// dropped, which begins with the findings of the reader.
///
/// # Errors
///
/// Returns an error if reading all files exceeds the limits. With [`Strictness::Strict`], also
/// returns an error if something of the bundle would be lost. Upstream's loader fails only if a
/// ConfigMap cannot be decoded.
pub fn load(reading: &Reading, options: &Options) -> Result<Loaded, Error> {
    let source = compose::Source {
        content: Cow::Borrowed(&reading.content),
        image: options.source_image.as_deref(),
        has_directories: true,
        // A ConfigMap has them where OLM does not read them.
        unread: keys_of_metadata(&reading.content),
        findings: reading.findings.clone(),
    };
    let reader = yaml::Reader::new(&options.limits.yaml);
    check_strictness(compose::compose(source, &reader)?, options)
}

/// Loads a bundle from ConfigMaps of unlade or of upstream.
///
/// Upstream does not record which files are in metadata/. So in its ConfigMaps, every file that is
/// not an object may contain dependencies, properties or annotations.
///
/// # Errors
///
/// Returns the errors of [`load()`]. Also returns an error if the ConfigMaps cannot be decoded, or
/// contain no part of a bundle.
pub fn load_config_maps(config_maps: &[ConfigMap], options: &Options) -> Result<Loaded, Error> {
    load_config_maps_within(config_maps, options, &yaml::Reader::new(&options.limits.yaml))
}

/// Loads a bundle as [`load_config_maps`] does, but with the limits and the budget of `reader`. One
/// reader for several bundles bounds the work for all of them together.
///
/// # Errors
///
/// Returns the errors of [`load_config_maps`].
pub fn load_config_maps_within(
    config_maps: &[ConfigMap],
    options: &Options,
    reader: &yaml::Reader,
) -> Result<Loaded, Error> {
    // Check the budget before decompressing anything.
    reader.check().map_err(|source| Error::Exhausted { key: String::new(), source })?;
    let decoded = decode::decode(config_maps, &options.limits)?;
    let is_annotated = config_maps.iter().any(is_annotated);
    let source = compose::Source {
        image: decoded.source_image.as_deref().or(options.source_image.as_deref()),
        has_directories: decoded.digest.is_some(),
        unread: decoded.unread,
        findings: decoded.findings,
        content: Cow::Owned(decoded.content),
    };
    let loaded = compose::compose(source, reader)?;
    if !is_annotated && !holds_bundle(&loaded) {
        return Err(Error::NoBundle);
    }
    check_strictness(loaded, options)
}

fn keys_of_metadata(content: &Content) -> BTreeSet<String> {
    let files = content.entries().filter(|(_, file)| file.directory == Directory::Metadata);
    files.map(|(key, _)| key.to_string()).collect()
}

/// Checks whether an annotation shows that the ConfigMap was filled with a bundle: by unlade, whose
/// marks were verified, or by upstream, which writes its six annotations even if they are empty.
fn is_annotated(config_map: &ConfigMap) -> bool {
    let mut keys = config_map.metadata.annotations.keys();
    keys.any(|key| {
        let key = key.as_str();
        mark::ALL.contains(&key) || UPSTREAM.contains(&key) || OLM.contains(&key)
    })
}

/// Checks whether any value is part of a bundle: an object, or a file of metadata/.
fn holds_bundle(loaded: &Loaded) -> bool {
    let Loaded { bundle, package_manifest, .. } = loaded;
    bundle.objects.iter().any(|object| !object.kind.is_empty())
        || !bundle.dependencies.is_empty()
        || !bundle.properties.is_empty()
        || !package_manifest.package_name.is_empty()
}

fn check_strictness(loaded: Loaded, options: &Options) -> Result<Loaded, Error> {
    let losses = || loaded.report.iter().filter(|finding| finding.reason.is_loss());
    match options.strictness {
        Strictness::Strict if losses().next().is_some() => {
            Err(Error::Lossy(losses().cloned().collect()))
        }
        _ => Ok(loaded),
    }
}

#[cfg(test)]
mod tests;
