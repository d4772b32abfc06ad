//! [`Request`]: a request without a body.

use ureq::http::header::{ACCEPT, CONTENT_LENGTH, RANGE};
use ureq::http::{Method, request};

/// A request without a body.
#[derive(Debug, Clone)]
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    pub(crate) url: &'a str,
    /// What is requested, for messages.
    pub(crate) what: &'a str,
    /// The media types that are accepted. Empty for any.
    accept: &'static str,
    /// The first byte to return.
    from: u64,
    /// The maximum size of the response in bytes. 0 if it is unknown.
    pub(crate) size: u64,
}

impl<'a> Request<'a> {
    pub(crate) fn get(url: &'a str, what: &'a str) -> Self {
        Self::new(Method::GET, url, what)
    }

    pub(crate) fn head(url: &'a str, what: &'a str) -> Self {
        Self::new(Method::HEAD, url, what)
    }

    pub(crate) fn post(url: &'a str, what: &'a str) -> Self {
        Self::new(Method::POST, url, what)
    }

    fn new(method: Method, url: &'a str, what: &'a str) -> Self {
        Self { method, url, what, accept: "", from: 0, size: 0 }
    }

    /// Accepts only these media types.
    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// Requests the bytes from `from` on. The response has up to `size` bytes.
    pub(crate) fn part(self, from: u64, size: u64) -> Self {
        Self { from, size, ..self }
    }

    /// Adds the headers of the request.
    pub(crate) fn add_headers(&self, mut builder: request::Builder) -> request::Builder {
        if !self.accept.is_empty() {
            builder = builder.header(ACCEPT, self.accept);
        }
        if self.method == Method::POST {
            // Without it, the empty body would be sent in chunks, which some registries refuse.
            builder = builder.header(CONTENT_LENGTH, 0);
        }
        if self.from > 0 {
            builder = builder.header(RANGE, format!("bytes={}-", self.from));
        }
        builder
    }
}
