//! [`Failure`]: why a launch failed, with the evidence.
//!
//! The functions of this module are pure: from what the API server shows, [`of_pod`] tells what is
//! wrong with a pod, [`of_job`] what is with a Job, and [`of_api`] what an answer of the API server
//! means. [`worst`] chooses the one to tell where there are several.
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use unlade_launcher::{Reason, failure};
//!
//! let pod: Pod = serde_json::from_str(
//!     r#"{
//!         "metadata": {"name": "etcd-1-x7k2p"},
//!         "spec": {"containers": [{"name": "unpack", "image": "registry.example/etcd:1.0"}]},
//!         "status": {"phase": "Pending", "containerStatuses": [{
//!             "name": "unpack", "image": "registry.example/etcd:1.0", "imageID": "",
//!             "ready": false, "restartCount": 0,
//!             "state": {"waiting": {
//!                 "reason": "ErrImagePull",
//!                 "message": "failed to pull and unpack image \"registry.example/etcd:1.0\": failed to resolve image: registry.example/etcd:1.0: not found"
//!             }}
//!         }]}
//!     }"#,
//! )?;
//! let failure = failure::of_pod(&pod, &[]).expect("the pod can't start");
//! assert_eq!(failure.reason, Reason::ImageNotFound);
//! assert!(!failure.is_transient);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod admission;
mod api;
mod bound;
mod container;
mod event;
mod job;
mod outcome;
mod pod;
mod pull;
mod reason;
mod remedy;
mod rule;
mod schedule;
mod secret;
mod setup;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

pub(crate) use api::is_of_authorizer;
pub use api::of_api;
pub use bound::LOG_LINES;
pub use job::of_job;
pub use pod::of_pod;
pub use reason::Reason;
pub use remedy::Remedy;
pub(crate) use secret::Entries;
pub use secret::of_pull_secret;

/// Why a launch failed, or what it waits for. As JSON at most 4 KiB, if it comes from this module
/// or went through [`Failure::bounded`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// What kind of failure it is.
    pub reason: Reason,
    /// One sentence for people: lowercase, names the object; words of others are quoted in it.
    pub message: String,
    /// Whether the same launch may succeed later without anyone mending anything.
    pub is_transient: bool,
    /// What to do outside of the launch, or what else to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// What to change about the launch: each of these may help. What was already done is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "remedy::known")]
    pub remedies: Vec<Remedy>,
    /// Where it was seen.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// Where a failure was seen: what `kubectl` would have shown, not escaped. Bounded: texts of at
/// most 1 KiB.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Evidence {
    /// The object, such as `pod/NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The message of an event, of a condition or of a container's state, or the API server's
    /// answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The reason beside what was said: that of the container's state, of the event, of the
    /// condition or of the answer, such as `ImagePullBackOff`, `OOMKilled` or `FailedCreate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The container's exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The last lines of its log, at most [`LOG_LINES`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

impl Evidence {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Failure {
    /// A failure with the hint and the transience that its reason has by default.
    pub fn new(reason: Reason, message: impl fmt::Display) -> Self {
        Self {
            reason,
            message: message.to_string(),
            is_transient: reason.is_transient(),
            hint: reason.hint().map(str::to_owned),
            remedies: reason.remedies().to_vec(),
            evidence: Evidence::default(),
        }
    }

    /// Whether no launch on this cluster can succeed, because its API server cannot be reached and
    /// waiting does not help.
    pub fn is_of_cluster(&self) -> bool {
        self.reason == Reason::ApiUnreachable && !self.is_transient
    }

    /// The same, seen there.
    #[must_use]
    pub fn seen(self, evidence: Evidence) -> Self {
        Self { evidence, ..self }
    }

    /// The same, with the last [`LOG_LINES`] lines of the container's log.
    #[must_use]
    pub fn with_log<'a>(mut self, log: impl DoubleEndedIterator<Item = &'a str>) -> Self {
        let mut lines: Vec<_> = log.rev().take(LOG_LINES).map(str::to_owned).collect();
        lines.reverse();
        self.evidence.log = lines;
        self.bounded()
    }

    /// The same, and whether it may pass by itself, where more is known than the reason.
    #[must_use]
    pub(crate) fn transient(self, is_transient: bool) -> Self {
        Self { is_transient, ..self }
    }

    /// The same failure; a hint that is given replaces the hint and the remedies of its reason.
    #[must_use]
    pub(crate) fn hinted(self, hint: Option<impl Into<String>>) -> Self {
        match hint {
            Some(hint) => Self { hint: Some(hint.into()), remedies: Vec::new(), ..self },
            None => self,
        }
    }
}

/// The failure to tell, of several that were seen at once: what can't pass by itself before what
/// can, what names a cause before what is the end of something else (a container that was killed,
/// a deadline), and of equals the first. So the caller puts what is closest to the cause first:
/// the pods', the newest pod's first, then the Job's.
pub fn worst(failures: impl IntoIterator<Item = Failure>) -> Option<Failure> {
    let mut failures = failures.into_iter();
    let first = failures.next()?;
    let graver =
        |worst: Failure, next: Failure| if weight(&next) > weight(&worst) { next } else { worst };
    Some(failures.fold(first, graver))
}

fn weight(failure: &Failure) -> (bool, reason::Weight) {
    (!failure.is_transient, failure.reason.weight())
}
