//! [`Disturbance`]: what happens to a request in place of its usual response.

use std::time::Duration;

use http::Method;
use serde_json::json;

/// A request as it arrives.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// The number of earlier requests.
    pub nth: usize,
    /// The HTTP method.
    pub method: &'a Method,
    /// The path with the query.
    pub path: &'a str,
}

/// What happens to a request in place of its usual response.
#[derive(Debug, Clone)]
pub enum Disturbance {
    /// Another response is given, and the request is not carried out.
    Respond(Canned),
    /// The request is carried out, and another response is given.
    RespondAfterDoing(Canned),
    /// The request is carried out after this time, even if nothing waits for the response any more,
    /// just as hyper sends a request whose caller is gone.
    Delay(Duration),
    /// No response is given, and the request is not carried out.
    Hang,
    /// The request is carried out, and no response is given.
    HangAfterDoing,
}

/// A response that is prepared in advance.
#[derive(Debug, Clone)]
pub struct Canned {
    pub(crate) code: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Disturbance {
    /// Responds with a failure Status.
    pub fn status(code: u16, reason: &str, message: &str) -> Self {
        Self::Respond(Canned::status(code, reason, message))
    }
}

impl Canned {
    /// Creates a failure Status.
    pub fn status(code: u16, reason: &str, message: &str) -> Self {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": code, "reason": reason, "message": message,
        });
        Self { code, headers: Vec::new(), body: status.to_string() }
    }

    /// Creates a plain text that is not a Status.
    pub fn text(code: u16, body: &str) -> Self {
        Self { code, headers: Vec::new(), body: body.to_owned() }
    }

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}
