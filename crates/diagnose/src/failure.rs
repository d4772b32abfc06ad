//! [`Failure`]: what went wrong, with the evidence.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::reason::Weight;
use super::{MAX_LOG_LINES, ObjectRef, Reason, Remedy, remedy};

/// Why a launch failed, or what it is waiting for. Its JSON has at most 4 KiB if this crate created
/// the failure or [`Failure::bounded`] returned it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure.
    pub reason: Reason,
    /// A human-readable sentence in lower case that names the object. It quotes the messages of
    /// other programs.
    pub message: String,
    /// Whether the same launch may succeed later without any change.
    pub is_transient: bool,
    /// What to do outside the launch, or what else is worth knowing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Changes to the launch, each of which may help. What the launch already does is left out.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "remedy::deserialize_known"
    )]
    pub remedies: Vec<Remedy>,
    /// What the failure was inferred from.
    #[serde(default, skip_serializing_if = "Evidence::is_empty")]
    pub evidence: Evidence,
}

/// What a failure was inferred from: what `kubectl` would show, not escaped. Each text is at most
/// 1 KiB long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Evidence {
    /// The object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// The message of the event, the condition or the container's state, or of the API server's
    /// response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The name of the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// The reason that accompanies the message, such as `ImagePullBackOff`, `OOMKilled` or
    /// `FailedCreate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The container's exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The last lines of the container's log, at most [`MAX_LOG_LINES`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

impl Evidence {
    /// Returns evidence that only names an object.
    pub fn of_object(object: ObjectRef) -> Self {
        Self { object: Some(object), ..Self::default() }
    }

    /// Checks whether there is no evidence.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Failure {
    /// Returns a failure with the default transience, hint and remedies of its reason.
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

    /// Checks whether no launch on this cluster can succeed, because its API server cannot be
    /// reached and waiting does not help.
    pub fn is_cluster_unreachable(&self) -> bool {
        self.reason == Reason::ApiUnreachable && !self.is_transient
    }

    /// Returns the failure with this evidence.
    #[must_use]
    pub fn with_evidence(self, evidence: Evidence) -> Self {
        Self { evidence, ..self }
    }

    /// Returns the failure with the last [`MAX_LOG_LINES`] lines of the container's log.
    #[must_use]
    pub fn with_log<'a>(mut self, log: impl DoubleEndedIterator<Item = &'a str>) -> Self {
        let mut lines: Vec<_> = log.rev().take(MAX_LOG_LINES).map(str::to_owned).collect();
        lines.reverse();
        self.evidence.log = lines;
        self.bounded()
    }

    /// Returns the failure with a transience that differs from the default of its reason.
    #[must_use]
    pub fn with_transience(self, is_transient: bool) -> Self {
        Self { is_transient, ..self }
    }

    /// Returns the failure with this hint and these remedies, which replace those that it had.
    /// There is no method for only one of them, because a hint often excludes the remedies of the
    /// reason.
    #[must_use]
    pub fn with_advice(self, hint: impl Into<String>, remedies: &[Remedy]) -> Self {
        Self { hint: Some(hint.into()), remedies: remedies.to_vec(), ..self }
    }
}

/// Chooses the failure to report from several that were observed at the same time.
///
/// A permanent failure takes precedence over a transient one, and a failure that names a cause over
/// one that only names an effect, such as a killed container or a deadline. If several are equal,
/// the function returns the first. The caller therefore passes the failures that are closest to the
/// cause first: those of the pods, starting with the newest pod, then that of the Job.
pub fn worst(failures: impl IntoIterator<Item = Failure>) -> Option<Failure> {
    let mut failures = failures.into_iter();
    let first = failures.next()?;
    let more_severe =
        |worst: Failure, next: Failure| if weight(&next) > weight(&worst) { next } else { worst };
    Some(failures.fold(first, more_severe))
}

fn weight(failure: &Failure) -> (bool, Weight) {
    (!failure.is_transient, failure.reason.weight())
}
