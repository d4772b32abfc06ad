//! [`Event`]: what happens while a bundle is launched.

use std::time::Duration;

use serde::Serialize;

use crate::{Failure, Strategy};

/// Something happened.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Event {
    /// The time since the launch began, in JSON as seconds.
    #[serde(rename = "seconds", serialize_with = "seconds")]
    pub at: Duration,
    /// What happened.
    #[serde(flatten)]
    pub step: Step,
}

impl Event {
    /// `step` happened `at` this time since the launch began.
    pub fn new(at: Duration, step: Step) -> Self {
        Self { at, step }
    }
}

/// What happened. Variants and fields are only ever added.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Step {
    /// The ConfigMap is there, new or from before.
    Prepared {
        /// Its name.
        config_map: String,
    },
    /// It holds the content already: there is no Job.
    Reused,
    /// How the unpacker and the bundle will come together.
    Chosen {
        /// Never [`Strategy::Auto`].
        strategy: Strategy,
        /// Why, where it wasn't asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
    /// A Job was created.
    Created {
        /// Its name.
        job: String,
    },
    /// A Job that someone else created for the same content is waited for.
    Adopted {
        /// Its name.
        job: String,
        /// Whether it was asked for with other options than ours.
        differs: bool,
    },
    /// The pod has a node.
    Scheduled {
        /// The node's name.
        node: String,
    },
    /// Admission changed the reference of an image in the pod. A mirror with the same digest is
    /// fine; another digest than the one that was asked for ends the launch.
    ImageChanged {
        /// The reference that was asked for.
        requested: String,
        /// The reference in the pod.
        admitted: String,
    },
    /// The tool image is on the node.
    ToolPulled,
    /// The bundle image is on the node.
    BundlePulled {
        /// Its digest, where it is known by now.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// The container that writes has started.
    Running,
    /// The launch is waiting for something that may pass. It waits until [`Step::Resumed`] or until
    /// any other step except [`Step::ImageChanged`]. The cause can change meanwhile; each cause is
    /// reported once until then.
    Waiting {
        /// What it waits for.
        failure: Box<Failure>,
    },
    /// What the launch was waiting for has passed.
    Resumed,
    /// An attempt has ended without content, and another will follow: the reason may pass, or the
    /// next attempt avoids it, as injection does if image volumes do not work. All phases start
    /// over.
    Retrying {
        /// Why the attempt failed.
        failure: Box<Failure>,
        /// The time until the next attempt, in JSON as seconds.
        #[serde(rename = "afterSeconds", serialize_with = "seconds")]
        after: Duration,
    },
    /// It failed for good. Told where many are launched; a single launch returns it.
    Failed {
        /// Why.
        failure: Box<Failure>,
    },
    /// The ConfigMap bears the mark of this attempt.
    Written,
    /// The bundle was loaded from it.
    Loaded,
}

/// A time as JSON has it here, in seconds, for `#[serde(serialize_with = ..)]`.
///
/// # Errors
///
/// Those of the serializer.
pub fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // Milliseconds are enough, and read better than 0.30000000000000004.
    let seconds = (time.as_secs_f64() * 1000.0).round() / 1000.0;
    serializer.serialize_f64(seconds)
}
