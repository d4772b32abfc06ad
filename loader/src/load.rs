//! [`load`]: from a content to a [`Manifest`].

use serde::Serialize;
use unlade_format::{ConfigMap, Content, Finding, Limits, decode};

use crate::{Bundle, PackageManifest};

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
    /// Refuse it.
    Strict,
}

/// What [`load`] is told beside the content.
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
    /// The ConfigMaps hold no content.
    #[error("reading the ConfigMap")]
    Decode(#[from] decode::Error),
    /// Something would be lost, and [`Strictness::Strict`] was asked for.
    #[error("{} of the bundle would be lost", losses(.0.len()))]
    Lossy(Vec<Finding>),
}

/// The bundle of `content`, its package, and what was not taken as written.
///
/// # Errors
///
/// Only with [`Strictness::Strict`], if something of the bundle would be lost: upstream's loader
/// has no errors but those of decoding a ConfigMap.
pub fn load(_content: &Content, options: &Options) -> Result<Manifest, Error> {
    Ok(Manifest {
        bundle: Bundle {
            bundle_path: options.source_image.clone().unwrap_or_default(),
            ..Bundle::default()
        },
        package_manifest: PackageManifest::default(),
        report: Vec::new(),
    })
}

/// The same out of the ConfigMaps that hold one bundle, ours or upstream's.
///
/// # Errors
///
/// As [`load`], and if the ConfigMaps hold no content.
pub fn load_config_maps(config_maps: &[ConfigMap], options: &Options) -> Result<Manifest, Error> {
    let decoded = decode::decode(config_maps, &options.limits)?;
    load(&decoded.content, options)
}

fn losses(n_findings: usize) -> String {
    match n_findings {
        1 => "1 part".to_owned(),
        n => format!("{n} parts"),
    }
}
