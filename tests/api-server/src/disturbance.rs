//! [`Disturbance`]: what a request meets in place of its usual answer.

use std::time::Duration;

use http::Method;
use serde_json::json;

/// A request as it arrives.
#[derive(Debug)]
pub struct Arrival<'a> {
    /// How many requests came before it.
    pub nth: usize,
    /// Its method.
    pub method: &'a Method,
    /// Its path with the query.
    pub path: &'a str,
}

/// What a request meets in place of its usual answer.
#[derive(Debug)]
pub enum Disturbance {
    /// Another answer; nothing is done.
    Answer(Canned),
    /// The request is carried out, and another answer is given.
    AnswerAfterDoing(Canned),
    /// The request is carried out after this time, even if nobody waits for the answer any more, as
    /// hyper sends a request whose caller is gone.
    Delay(Duration),
    /// No answer; nothing is done.
    Hang,
    /// The request is carried out, and no answer is given.
    HangAfterDoing,
}

/// An answer that is known beforehand.
#[derive(Debug)]
pub struct Canned {
    pub(crate) code: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Disturbance {
    /// A Status with this code.
    pub fn answer(code: u16, reason: &str, message: &str) -> Self {
        Self::Answer(Canned::status(code, reason, message))
    }
}

impl Canned {
    /// A Status with this code.
    pub fn status(code: u16, reason: &str, message: &str) -> Self {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure",
            "code": code, "reason": reason, "message": message,
        });
        Self { code, headers: Vec::new(), body: status.to_string() }
    }

    /// A text that is no Status.
    pub fn text(code: u16, body: &str) -> Self {
        Self { code, headers: Vec::new(), body: body.to_owned() }
    }

    /// The same with a header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }
}
