//! [`load()`]: from a content to a [`Manifest`].

use std::borrow::Cow;

use serde::Serialize;
use unlade_bundle::{
    Content, Finding, Limits, Reason,
    annotation::{self, CONTENT_ENCODING, SOURCE_IMAGE, SOURCE_IMAGE_OF_DESIGN},
};
use unlade_config_map::{ConfigMap, decode, mark};
use unlade_text::excerpt;
use unlade_yaml as yaml;

use crate::{Bundle, PackageManifest, compose};

/// What is loaded out of one bundle (004.20).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Manifest {
    /// The bundle.
    pub bundle: Bundle,
    /// The package that it belongs to: the PackageManifest resource among the files (004.18), else
    /// one derived from annotations and CSV.
    pub package_manifest: PackageManifest,
    /// Everything that was not taken as written.
    pub report: Vec<Finding>,
}

/// What to do with a bundle of which something would be lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strictness {
    /// Load what upstream loads, and report the rest.
    #[default]
    Upstream,
    /// Refuse it. Every finding counts but those that lose nothing of the bundle: see [`is_loss`].
    Strict,
}

/// What [`load()`] is told beside the content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// What to do with a bundle of which something would be lost.
    pub strictness: Strictness,
    /// Limits of everything that is read.
    pub limits: Limits,
    /// The image that the bundle came from: `bundlePath`. A ConfigMap that names one wins.
    pub source_image: Option<String>,
}

/// Why a bundle is not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The ConfigMaps do not decode.
    #[error(transparent)]
    Decode(#[from] decode::Error),
    /// Nothing in the ConfigMap is part of a bundle: neither a value nor an annotation.
    #[error(
        "the ConfigMap holds no bundle: no key has an object, and no annotation names a package"
    )]
    NoBundle,
    /// Something would be lost, and [`Strictness::Strict`] was asked for: all that would be.
    #[error("not all of the bundle can be loaded: {}", excerpt::list(.0, "; "))]
    Lossy(Vec<Finding>),
    /// Reading all files takes more than [`Options::limits`] allow for a bundle.
    #[error("read {}", if .key.is_empty() { "the bundle" } else { .key })]
    Exhausted {
        /// The ConfigMap key of the file at which the budget was used up; empty if it was so
        /// before.
        key: String,
        /// Which budget.
        #[source]
        source: yaml::Error,
    },
}

impl Error {
    /// What may help.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Decode(error) => error.hint(),
            Self::Lossy(_) => Some("without strictness the rest is loaded, as upstream does"),
            Self::NoBundle | Self::Exhausted { .. } => None,
        }
    }
}

/// The bundle of `content`, its package, and what was not taken as written.
///
/// # Errors
///
/// If reading all files takes more than the limits allow, and with [`Strictness::Strict`] if
/// something of the bundle would be lost. Upstream's loader has no errors but those of decoding a
/// ConfigMap.
pub fn load(content: &Content, options: &Options) -> Result<Manifest, Error> {
    let source = compose::Source {
        content: Cow::Borrowed(content),
        image: options.source_image.as_deref(),
        is_placed: true,
        findings: Vec::new(),
    };
    let reader = yaml::Reader::new(&options.limits.yaml);
    strictly(compose::compose(source, &reader)?, options)
}

/// The same out of the ConfigMaps that hold one bundle, ours or upstream's.
///
/// Upstream does not write down which files came from metadata/. Out of its ConfigMaps every file
/// that is no object may hold dependencies, properties or annotations.
///
/// # Errors
///
/// As [`load()`], and if the ConfigMaps do not decode, or contain no part of a bundle.
pub fn load_config_maps(config_maps: &[ConfigMap], options: &Options) -> Result<Manifest, Error> {
    load_config_maps_within(config_maps, options, &yaml::Reader::new(&options.limits.yaml))
}

/// The same within the budget of `reader`, by whose limits the files are read: one reader for
/// several bundles bounds what they take together.
///
/// # Errors
///
/// As [`load_config_maps`].
pub fn load_config_maps_within(
    config_maps: &[ConfigMap],
    options: &Options,
    reader: &yaml::Reader,
) -> Result<Manifest, Error> {
    // Before anything is decompressed.
    reader.check().map_err(|source| Error::Exhausted { key: String::new(), source })?;
    let decoded = decode::decode(config_maps, &options.limits)?;
    let is_annotated = config_maps.iter().any(is_annotated);
    let source = compose::Source {
        image: decoded.source_image.as_deref().or(options.source_image.as_deref()),
        is_placed: decoded.digest.is_some(),
        findings: decoded.findings,
        content: Cow::Owned(decoded.content),
    };
    let manifest = compose::compose(source, reader)?;
    if !is_annotated && !holds_bundle(&manifest) {
        return Err(Error::NoBundle);
    }
    strictly(manifest, options)
}

/// Whether an annotation shows that the ConfigMap was filled with a bundle: by unlade, whose marks
/// were verified, or by upstream, which writes its six annotations even if they are empty.
fn is_annotated(config_map: &ConfigMap) -> bool {
    let mut keys = config_map.metadata.annotations.keys();
    keys.any(|key| {
        let key = key.as_str();
        mark::ALL.contains(&key)
            || annotation::UPSTREAM.contains(&key)
            || [CONTENT_ENCODING, SOURCE_IMAGE, SOURCE_IMAGE_OF_DESIGN].contains(&key)
    })
}

/// Whether any value is part of a bundle: an object, or a file of metadata/.
fn holds_bundle(manifest: &Manifest) -> bool {
    let Manifest { bundle, package_manifest, .. } = manifest;
    bundle.objects.iter().any(|object| !object.kind.is_empty())
        || !bundle.dependencies.is_empty()
        || !bundle.properties.is_empty()
        || !package_manifest.package_name.is_empty()
}

/// Whether [`Strictness::Strict`] refuses a bundle with such a finding: not for annotations that
/// no bundle may set, for annotations found in another file than annotations.yaml, for paths that
/// are fixed anyway, and for files beside the bundle.
pub fn is_loss(reason: Reason) -> bool {
    !matches!(
        reason,
        Reason::ReservedAnnotation
            | Reason::AnnotationsFile
            | Reason::PathIgnored
            | Reason::UnusedFile
    )
}

fn strictly(manifest: Manifest, options: &Options) -> Result<Manifest, Error> {
    let losses = || manifest.report.iter().filter(|finding| is_loss(finding.reason));
    match options.strictness {
        Strictness::Strict if losses().next().is_some() => {
            Err(Error::Lossy(losses().cloned().collect()))
        }
        _ => Ok(manifest),
    }
}

#[cfg(test)]
mod tests;
