//! [`Blob`]: the bytes of a blob, which are requested again from where a connection broke.

use std::io::{self, Read};

use ureq::BodyReader;
use ureq::http::StatusCode;

use crate::Error;
use crate::client::{Client, start_of};
use crate::request::Request;
use crate::retry::Retry;

/// A reader of a blob. It does not verify the bytes.
pub(crate) struct Blob<'a> {
    client: &'a Client,
    url: String,
    what: String,
    size: u64,
    position: u64,
    body: BodyReader<'static>,
    retry: Retry,
}

impl<'a> Blob<'a> {
    /// Requests a blob of `size` bytes.
    pub(crate) fn open(
        client: &'a Client,
        url: String,
        what: String,
        size: u64,
    ) -> Result<Self, Error> {
        let body = request(client, &url, &what, size, 0)?;
        let retry = Retry::new(&client.limits);
        Ok(Self { client, url, what, size, position: 0, body, retry })
    }

    /// Requests the rest of the blob.
    fn resume(&mut self) -> Result<(), Error> {
        self.body = request(self.client, &self.url, &self.what, self.size, self.position)?;
        Ok(())
    }
}

/// Requests a blob from the byte `from` on.
fn request(
    client: &Client,
    url: &str,
    what: &str,
    size: u64,
    from: u64,
) -> Result<BodyReader<'static>, Error> {
    let response = client.fetch(&Request::get(url, what).part(from, size), &[200, 206])?;
    let start = match response.status() {
        StatusCode::PARTIAL_CONTENT => start_of(response.headers()),
        _ => Some(0),
    };
    let invalid = || Error::Invalid {
        what: what.to_owned(),
        problem: "it is not the requested part".to_owned(),
    };
    let skip = start.and_then(|start| from.checked_sub(start)).ok_or_else(invalid)?;
    // The reader of images reports a blob that is larger than its size.
    let limit = size.saturating_add(1).saturating_sub(from - skip).max(1);
    let mut body = response.into_body().into_with_config().limit(limit).reader();
    let fails = |source| Error::Body { what: what.to_owned(), source };
    // A registry that does not support ranges sends the blob from the beginning.
    let skipped = io::copy(&mut body.by_ref().take(skip), &mut io::sink()).map_err(fails)?;
    if skipped < skip {
        return Err(fails(io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(body)
}

impl Read for Blob<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.position > self.size {
            return Ok(0);
        }
        loop {
            let mut failed = match self.body.read(buffer) {
                // Some connections end without an error.
                Ok(0) if self.position < self.size => Error::Body {
                    what: self.what.clone(),
                    source: io::ErrorKind::UnexpectedEof.into(),
                },
                Ok(n) => {
                    self.position += n as u64;
                    return Ok(n);
                }
                Err(source) if source.kind() == io::ErrorKind::Interrupted => continue,
                // All bytes are here, so it does not matter how the connection ends.
                Err(_) if self.position == self.size => return Ok(0),
                Err(source) => Error::Body { what: self.what.clone(), source },
            };
            loop {
                if !failed.is_transient() || !self.retry.pause(None) {
                    return Err(io::Error::other(failed));
                }
                match self.resume() {
                    Ok(()) => break,
                    Err(error) => failed = error,
                }
            }
        }
    }
}
