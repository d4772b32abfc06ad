//! The JSON documents of `--output json`.

use std::time::Duration;

use serde::Serialize;
use unlade_bundle::Finding;
use unlade_launcher::{
    DigestSource, Event, Failure, Launched, ObservedImage, Strategy, Timings, progress,
};
use unlade_loader::Loaded;

use super::one::name;
use crate::error::Error;

/// A line of the output. `image` distinguishes the launches of several images.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a, T> {
    pub(super) image: &'a str,
    pub(super) namespace: &'a str,
    #[serde(flatten)]
    pub(super) payload: T,
}

/// The line that reports that the bundle was loaded from the ConfigMap.
#[derive(Debug, Serialize)]
pub(super) struct LoadedEvent {
    event: &'static str,
    #[serde(serialize_with = "progress::seconds")]
    seconds: Duration,
}

impl LoadedEvent {
    pub(super) fn new(seconds: Duration) -> Self {
        Self { event: "loaded", seconds }
    }
}

/// The last line of a launch. Fields are added but never removed.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(super) enum Result<'a> {
    /// The launch succeeded.
    Launched {
        #[serde(serialize_with = "progress::seconds")]
        seconds: Duration,
        config_map: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        job: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        strategy: Option<Strategy>,
        #[serde(skip_serializing_if = "Option::is_none")]
        image_digest: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        image_digest_source: Option<DigestSource>,
        /// The reference in the pod, which admission may have changed.
        #[serde(skip_serializing_if = "Option::is_none")]
        admitted_image: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_image: Option<&'a ObservedImage>,
        timings: Timings,
        bundle: Bundle<'a>,
        report: &'a [Finding],
    },
    /// The ConfigMap was written, but no bundle could be loaded from it.
    NotLoaded {
        #[serde(serialize_with = "progress::seconds")]
        seconds: Duration,
        config_map: &'a str,
        exit_code: u8,
        message: String,
    },
    /// The launch failed.
    Failed {
        #[serde(serialize_with = "progress::seconds")]
        seconds: Duration,
        #[serde(skip_serializing_if = "Option::is_none")]
        config_map: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        job: Option<&'a str>,
        exit_code: u8,
        failure: &'a Failure,
    },
}

/// A short description of a bundle. `unlade load` returns the whole bundle.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bundle<'a> {
    package_name: &'a str,
    csv_name: &'a str,
    version: &'a str,
    channels: &'a [String],
    default_channel: &'a str,
}

impl<'a> Result<'a> {
    pub(super) fn launched(launched: &'a Launched, loaded: &'a Loaded, took: Duration) -> Self {
        let bundle = &loaded.bundle;
        Self::Launched {
            seconds: took,
            config_map: name(launched),
            job: launched.job.as_deref(),
            strategy: launched.strategy,
            image_digest: launched.image.digest.as_deref(),
            image_digest_source: launched.image.digest_source,
            admitted_image: launched.image.reference.as_deref(),
            tool_image: Some(&launched.tool_image).filter(|it| it.reference.is_some()),
            timings: launched.timings,
            bundle: Bundle {
                package_name: &bundle.package_name,
                csv_name: &bundle.csv_name,
                version: &bundle.version,
                channels: &bundle.channels,
                default_channel: &bundle.default_channel,
            },
            report: &loaded.report,
        }
    }

    pub(super) fn not_loaded(launched: &'a Launched, error: &Error, took: Duration) -> Self {
        Self::NotLoaded {
            seconds: took,
            config_map: name(launched),
            exit_code: error.exit().code(),
            message: unlade_text::chain(error),
        }
    }

    pub(super) fn failed(
        failure: &'a Failure,
        config_map: Option<&'a str>,
        job: Option<&'a str>,
        took: Duration,
    ) -> Self {
        Self::Failed {
            seconds: took,
            config_map,
            job,
            exit_code: failure.reason.exit_code(),
            failure,
        }
    }
}

impl<'a> Line<'a, &'a Event> {
    pub(super) fn event(image: &'a str, namespace: &'a str, event: &'a Event) -> Self {
        Self { image, namespace, payload: event }
    }
}
