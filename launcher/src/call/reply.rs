//! [`Reply`]: how the API server responded to a request.

use crate::{Failure, Reason};

/// The API server's response to a request, unless it is a failure.
#[derive(Debug)]
pub(crate) enum Reply<T> {
    /// The request succeeded.
    Done(T),
    /// An object of this name already exists.
    Exists,
    /// The object does not exist.
    Missing,
    /// The object has changed since it was read.
    Changed,
}

impl<T> Reply<T> {
    /// Returns the value, if the request succeeded.
    pub(crate) fn value(self) -> Option<T> {
        match self {
            Self::Done(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the value. Any other response is a failure.
    pub(crate) fn expect_value(self, doing: &str) -> Result<T, Failure> {
        let words = match self {
            Self::Done(value) => return Ok(value),
            Self::Exists => "the object already exists",
            Self::Missing => "the object does not exist",
            Self::Changed => "the object has changed",
        };
        Err(Failure::new(Reason::ApiRefused, format!("failed to {doing}: {words}")))
    }

    /// Returns the response of an error that is not a failure.
    pub(super) fn from_error(error: &kube::Error) -> Option<Self> {
        let kube::Error::Api(status) = error else { return None };
        let is_of_namespace =
            status.details.as_ref().is_some_and(|details| details.kind == "namespaces");
        if status.is_already_exists() {
            Some(Self::Exists)
        } else if status.is_conflict() && !status.message.contains("resourcequotas \"") {
            // A conflict about the usage of a quota is retried with the same object.
            Some(Self::Changed)
        } else if status.code == 404 && !is_of_namespace {
            // Only the status code is checked, because the response about an unknown kind is plain
            // text without a reason.
            Some(Self::Missing)
        } else {
            None
        }
    }
}
