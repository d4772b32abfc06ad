//! Uploads: requests with a body, which is sent once.

use std::io::{self, Read};

use ureq::http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use ureq::http::request::Builder;
use ureq::http::{Method, Response, StatusCode};
use ureq::{Body, SendBody};

use super::Client;
use crate::Error;

/// The size of a body, in bytes, above which the client asks whether the registry wants it. curl
/// has the same limit.
const LARGE: u64 = 1 << 20;

impl Client {
    /// Sends a request with a body of `size` bytes, once.
    ///
    /// Before a large body, waits for the registry to ask for it (`Expect: 100-continue`, RFC 9110,
    /// section 10.1.1). A registry that refuses a body closes the connection without reading it,
    /// and its response is lost if the body is being sent.
    pub(crate) fn upload(
        &self,
        url: &str,
        what: &str,
        (media_type, size): (&str, u64),
        body: &mut dyn Read,
    ) -> Result<Response<Body>, Error> {
        let mut body = Whole { inner: body, left: size };
        let request = || {
            let request = self.authorized(&Method::PUT, url);
            request.header(CONTENT_TYPE, media_type).header(CONTENT_LENGTH, size)
        };
        let fails = Error::http(what.to_owned());
        if size > LARGE {
            let asking = request().header(EXPECT, "100-continue");
            let result = self.put(asking, url, &mut body);
            if body.left < size || !is_misunderstood(&result) {
                return result.map_err(fails);
            }
        }
        self.put(request(), url, &mut body).map_err(fails)
    }

    fn put(
        &self,
        request: Builder,
        url: &str,
        body: &mut Whole<'_>,
    ) -> Result<Response<Body>, ureq::Error> {
        let size = body.left;
        let agent = self.agent_for(url);
        let request = agent.configure_request(request.body(SendBody::from_reader(body))?);
        let request = request
            .timeout_send_body(Some(self.limits.time_for_upload(size)))
            // The registry sends nothing while it stores a large blob, so the time for a read must
            // not end the wait.
            .timeout_per_read(None)
            .timeout_recv_response(Some(self.limits.time_for(size)))
            .timeout_recv_body(Some(self.limits.patience))
            .build();
        agent.run(request)
    }
}

/// Checks whether the registry does not support `Expect`, or supports it in a way that `ureq` does
/// not: `ureq` refuses a 100 with headers.
fn is_misunderstood(result: &Result<Response<Body>, ureq::Error>) -> bool {
    match result {
        Ok(response) => response.status() == StatusCode::EXPECTATION_FAILED,
        Err(error) => matches!(error, ureq::Error::Protocol(_)),
    }
}

/// A body that fails if it ends before its size. `ureq` would read it again until the time for the
/// upload is over.
struct Whole<'a> {
    inner: &'a mut dyn Read,
    /// The number of bytes that were not read yet.
    left: u64,
}

impl Read for Whole<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        if n == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left = self.left.saturating_sub(n as u64);
        Ok(n)
    }
}
