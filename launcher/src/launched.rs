//! [`Launched`]: what a launch gives.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use serde::Serialize;
use unlade_loader::{self as loader, Manifest};

use crate::{ObservedImage, Strategy};

/// A bundle that was unpacked into its ConfigMap.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Launched {
    /// The filled ConfigMap.
    pub config_map: ConfigMap,
    /// The name of the Job; none if the content was there already.
    pub job: Option<String>,
    /// How the unpacker and the bundle came together, even in a Job that another launch created;
    /// `None` without a Job.
    pub strategy: Option<Strategy>,
    /// The image that the content came from. If it was asked for by its digest, that is the digest
    /// here, and verified.
    pub image: ObservedImage,
    /// The image of the unpacker; empty without a Job, and for a Job that another launch created
    /// with other options.
    pub tool_image: ObservedImage,
    /// How long it took.
    pub timings: Timings,
}

/// When each phase of a launch ended, counted from its beginning; in JSON as seconds. A phase that
/// wasn't seen, because another launcher made the Job or because it was too short, is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Timings {
    /// The Job was created or found.
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub created: Option<Duration>,
    /// The pod had a node.
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Duration>,
    /// The container that writes had started.
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub running: Option<Duration>,
    /// The ConfigMap was written.
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub written: Option<Duration>,
}

impl Launched {
    /// The bundle in the ConfigMap.
    ///
    /// # Errors
    ///
    /// Those of [`unlade_loader::load_config_maps`].
    pub fn load(&self, options: &loader::Options) -> Result<Manifest, loader::Error> {
        crate::config_map::load(&self.config_map, options)
    }
}

#[expect(clippy::ref_option, reason = "serde passes fields by reference")]
fn seconds<S: serde::Serializer>(
    time: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => crate::progress::seconds(time, serializer),
        None => serializer.serialize_none(),
    }
}
