//! [`Failure`]: why a launch failed, with the evidence.

mod reason;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use reason::Reason;

/// Why a launch failed, or what it waits for.
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
    /// What to do, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Where it was seen.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// Where a failure was seen: what `kubectl` would have shown. Bounded: texts of at most 1 KiB.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Evidence {
    /// The object, such as `pod/NAME`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// The reason and message of an event or of a condition, or the API server's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The container's state: `ImagePullBackOff`, `OOMKilled`...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The container's exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The last lines of its log.
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
            evidence: Evidence::default(),
        }
    }

    /// The same, seen there.
    #[must_use]
    pub fn seen(self, evidence: Evidence) -> Self {
        Self { evidence, ..self }
    }
}
