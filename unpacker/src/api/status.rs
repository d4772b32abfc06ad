//! Turns unsuccessful responses of the API server into errors.

use std::time::Duration;

use serde::Deserialize;
use unlade_text::excerpt;

use super::{Error, Response};

/// The start of the API server's message if an admission webhook refused a request (apiserver
/// `ToStatusErr`).
const WEBHOOK: &str = "admission webhook ";

/// Returns `response` if it is a success, and the error that it reports otherwise.
pub(super) fn check(name: &str, response: Response) -> Result<Response, Error> {
    let status = response.status;
    if (200..300).contains(&status) {
        return Ok(response);
    }
    let reported = Status::from_response(&response);
    let (name, message) = (name.to_owned(), reported.message);
    Err(match status {
        // Most webhooks refuse with the code of a missing permission.
        403 if message.starts_with(WEBHOOK) => Error::Refused { name, status, message },
        401 | 403 => Error::Denied { name, status, message },
        404 => Error::Missing { name, message },
        409 => Error::Conflict { name },
        413 => Error::TooLarge { name, message },
        422 if reported.too_long => Error::TooLarge { name, message },
        408 | 429 | 500..=599 => {
            Error::Unavailable { status, message, retry_after: reported.retry_after }
        }
        _ => Error::Refused { name, status, message },
    })
}

/// The useful fields of a `v1` Status object.
struct Status {
    message: String,
    /// Whether a field is longer than allowed (`FieldValueTooLong`). For a ConfigMap, this applies
    /// to its whole data or to all its annotations.
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
    /// The maximum length of a message, in bytes.
    const MAX_MESSAGE: usize = 1024;

    fn from_response(response: &Response) -> Self {
        let body = serde_json::from_slice::<Body>(&response.body).unwrap_or_else(|_| Body {
            // The response may be that of a proxy.
            message: String::from_utf8_lossy(&response.body).trim().to_owned(),
            details: None,
        });
        let shortened = excerpt::truncate(&body.message, Self::MAX_MESSAGE);
        let mut message = shortened.unwrap_or(body.message);
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
