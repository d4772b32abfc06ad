//! [`LaunchUpdate`] and [`Event`]: the progress of a launch.

pub(crate) mod report;

use std::time::Duration;

use futures::channel::mpsc::{UnboundedSender, unbounded};
use futures::{FutureExt, Stream, StreamExt, stream};
use serde::Serialize;

use crate::{Failure, Launched, Strategy};

/// An update of a launch.
#[derive(Debug, Clone)]
pub enum LaunchUpdate {
    /// An event in the progress of the launch.
    Event(Event),
    /// The launch has ended. This is the last update.
    Ended(Result<Box<Launched>, Failure>),
}

/// An event in the progress of a launch.
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
    /// Returns the event that `step` happened `at` this time after the beginning of the launch.
    pub fn new(at: Duration, step: Step) -> Self {
        Self { at, step }
    }
}

/// Runs `work` while the returned stream is polled. The stream yields what `work` sends.
pub(crate) fn run_with_updates<U, W>(
    work: impl FnOnce(UnboundedSender<U>) -> W,
) -> impl Stream<Item = U>
where
    W: Future<Output = ()>,
{
    let (sender, updates) = unbounded();
    let work = work(sender).into_stream().filter_map(async |()| None);
    stream::select(updates, work)
}

/// A step of a launch.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Step {
    /// The ConfigMap exists, either newly created or from an earlier launch.
    Prepared {
        /// The name of the ConfigMap.
        config_map: String,
    },
    /// The ConfigMap already holds the content, so the launch creates no Job.
    Reused,
    /// The strategy was chosen.
    Chosen {
        /// The strategy, which is never [`Strategy::Auto`].
        strategy: Strategy,
        /// Why the launcher chose the strategy, if the options leave the choice to it.
        #[serde(skip_serializing_if = "Option::is_none")]
        because: Option<String>,
    },
    /// A Job was created.
    Created {
        /// The name of the Job.
        job: String,
    },
    /// The launch waits for a Job that another launch created for the same content.
    Adopted {
        /// The name of the Job.
        job: String,
        /// Whether the options of the Job differ from those of this launch.
        differs: bool,
    },
    /// The pod was assigned to a node.
    Scheduled {
        /// The node's name.
        node: String,
    },
    /// Admission changed the reference of an image in the pod. A mirror with the same digest is
    /// accepted. If the digest differs from the requested one, the launch fails.
    ImageChanged {
        /// The requested reference.
        requested: String,
        /// The reference in the pod.
        admitted: String,
    },
    /// The tool image is on the node.
    ToolPulled,
    /// The bundle image is on the node.
    BundlePulled {
        /// The digest of the image, if it is known by now.
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<String>,
    },
    /// The container that writes the ConfigMap has started.
    Running,
    /// The launch is waiting because of a problem that may be temporary. It waits until
    /// [`Step::Resumed`] or until any other step except [`Step::ImageChanged`]. The cause can
    /// change meanwhile. Each cause is reported once until then.
    Waiting {
        /// Why the launch is waiting.
        failure: Box<Failure>,
    },
    /// The problem has passed.
    Resumed,
    /// An attempt has failed, and another will follow. Either the cause may be temporary, or the
    /// next attempt avoids it, as injection does if image volumes do not work. All phases start
    /// over.
    Retrying {
        /// Why the attempt failed.
        failure: Box<Failure>,
        /// The time until the next attempt, in JSON as seconds.
        #[serde(rename = "afterSeconds", serialize_with = "seconds")]
        after: Duration,
    },
    /// The ConfigMap has the mark of this attempt.
    Written,
}

/// Serializes a time as seconds, for `#[serde(serialize_with = ..)]`.
///
/// # Errors
///
/// Returns the errors of the serializer.
pub fn seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    // Rounded to milliseconds, because 0.3 reads better than 0.30000000000000004.
    let seconds = (time.as_secs_f64() * 1000.0).round() / 1000.0;
    serializer.serialize_f64(seconds)
}
