//! Uploads: requests with a body, which is sent once.

use std::io::{self, Read};

use ureq::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use ureq::http::{Method, Response};
use ureq::{Body, SendBody};

use super::Client;
use crate::Error;

impl Client {
    /// Sends a request with a body of `size` bytes, once.
    pub(crate) fn upload(
        &self,
        url: &str,
        what: &str,
        (media_type, size): (&str, u64),
        body: &mut dyn Read,
    ) -> Result<Response<Body>, Error> {
        let mut body = Whole { inner: body, left: size };
        let request = self.authorized(&Method::PUT, url);
        let request = request.header(CONTENT_TYPE, media_type);
        let request = request.header(CONTENT_LENGTH, size);
        let what = || what.to_owned();
        let body = SendBody::from_reader(&mut body);
        let request = request.body(body).map_err(|error| Error::http(what())(error.into()))?;
        let agent = self.agent_for(url);
        let request = agent.configure_request(request);
        let request = request
            .timeout_send_body(Some(self.limits.time_for_upload(size)))
            // The registry sends nothing while it stores a large blob, so the time for a read must
            // not end the wait.
            .timeout_per_read(None)
            .timeout_recv_response(Some(self.limits.time_for(size)))
            .timeout_recv_body(Some(self.limits.patience))
            .build();
        agent.run(request).map_err(Error::http(what()))
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
