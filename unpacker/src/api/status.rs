//! The answers of the API server that are no success.

use std::time::Duration;

use serde::Deserialize;

use super::{Error, Response};

/// How the API server begins what an admission webhook said (apiserver `ToStatusErr`).
const WEBHOOK: &str = "admission webhook ";

/// `response` if it is a success, else what it says.
pub(super) fn check(name: &str, response: Response) -> Result<Response, Error> {
    let status = response.status;
    if (200..300).contains(&status) {
        return Ok(response);
    }
    let said = Status::of(&response);
    let (name, message) = (name.to_owned(), said.message);
    Err(match status {
        // A webhook chooses the code, and most choose that of a missing permission.
        403 if message.starts_with(WEBHOOK) => Error::Refused { name, status, message },
        401 | 403 => Error::Denied { name, status, message },
        404 => Error::Missing { name, message },
        409 => Error::Conflict { name },
        413 => Error::TooLarge { name, message },
        422 if said.too_long => Error::TooLarge { name, message },
        408 | 429 | 500..=599 => {
            Error::Unavailable { status, message, retry_after: said.retry_after }
        }
        _ => Error::Refused { name, status, message },
    })
}

/// What is of use in a `v1` Status object.
struct Status {
    message: String,
    /// A field is longer than allowed (`FieldValueTooLong`): for a ConfigMap that is its data as
    /// a whole, or its annotations as a whole.
    too_long: bool,
    retry_after: Option<Duration>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Body {
    message: String,
    details: Option<Details>,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    causes: Vec<Cause>,
    retry_after_seconds: u32,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cause {
    reason: String,
}

impl Status {
    /// Longest text of an answer that is shown.
    const MESSAGE: usize = 1024;

    fn of(response: &Response) -> Self {
        let body = serde_json::from_slice::<Body>(&response.body).unwrap_or_else(|_| Body {
            // A proxy in between, perhaps.
            message: String::from_utf8_lossy(&response.body).trim().to_owned(),
            details: None,
        });
        let mut message = body.message;
        message.truncate(message.floor_char_boundary(Self::MESSAGE));
        if message.is_empty() {
            message.push_str("no reason given");
        }
        let details = body.details.unwrap_or_default();
        let seconds = Some(details.retry_after_seconds).filter(|&seconds| seconds > 0);
        Self {
            message,
            too_long: details.causes.iter().any(|cause| cause.reason == "FieldValueTooLong"),
            retry_after: response
                .retry_after
                .or(seconds.map(|seconds| Duration::from_secs(seconds.into()))),
        }
    }
}
