//! [`Launched`]: the result of a successful launch.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use serde::Serialize;
use unlade_loader::{self as loader, Loaded};

use crate::{ObservedImage, Strategy};

/// A bundle that was unpacked into its ConfigMap.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Launched {
    /// The filled ConfigMap.
    pub config_map: ConfigMap,
    /// The name of the Job, or `None` if existing content was reused.
    pub job: Option<String>,
    /// The strategy of the Job, even if another launch created it. `None` without a Job.
    pub strategy: Option<Strategy>,
    /// The image that the content came from. If it was requested by digest, this is the same
    /// digest, and it was verified.
    pub image: ObservedImage,
    /// The tool image. It is empty without a Job, and for a Job that another launch
    /// created with other options.
    pub tool_image: ObservedImage,
    /// When each phase ended.
    pub timings: Timings,
}

/// When each phase of the last attempt ended, relative to the beginning of the launch and in JSON
/// as seconds. A phase is absent if the launcher did not observe it, because another launcher
/// created the Job or because the phase was too short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Timings {
    /// The Job was created or found.
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub created: Option<Duration>,
    /// The pod was assigned to a node.
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub scheduled: Option<Duration>,
    /// The container that writes the ConfigMap started.
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub running: Option<Duration>,
    /// The ConfigMap was written.
    #[serde(serialize_with = "seconds", skip_serializing_if = "Option::is_none")]
    pub written: Option<Duration>,
}

impl Launched {
    /// Loads the bundle from the ConfigMap.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`unlade_loader::load_config_maps`].
    pub fn load(&self, options: &loader::Options) -> Result<Loaded, loader::Error> {
        crate::load::load_bundle(&self.config_map, options)
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
