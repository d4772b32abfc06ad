//! [`Progress`]: reports how much of a blob is transferred.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use unlade_oci::Digest;

/// Receives each step of the transfers of blobs from or to a registry. Several threads call it.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(&Transfer<'_>) + Send + Sync>);

/// The state of the transfer of a blob.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Transfer<'a> {
    /// The digest of the blob.
    pub digest: &'a Digest,
    /// The size of the blob, in bytes.
    pub size: u64,
    /// The number of bytes that are transferred, which is more than `size` if a registry sends too
    /// much. It is 0 at first.
    pub position: u64,
}

impl Progress {
    /// Calls `report` with each step.
    pub fn new(report: impl Fn(&Transfer<'_>) + Send + Sync + 'static) -> Self {
        Self(Arc::new(report))
    }

    /// Reports what is read from `inner`, which is a blob of `size` bytes.
    pub(crate) fn watch<R: Read>(
        &self,
        digest: &Digest,
        size: u64,
        inner: R,
    ) -> impl Read + use<R> {
        let mut watched =
            Watched { inner, progress: self.clone(), digest: digest.clone(), size, position: 0 };
        watched.advance(0);
        watched
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Progress").finish_non_exhaustive()
    }
}

struct Watched<R> {
    inner: R,
    progress: Progress,
    digest: Digest,
    size: u64,
    position: u64,
}

impl<R> Watched<R> {
    fn advance(&mut self, bytes: u64) {
        self.position += bytes;
        let Self { progress, digest, size, position, .. } = self;
        (progress.0)(&Transfer { digest, size: *size, position: *position });
    }
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        if n > 0 {
            self.advance(n as u64);
        }
        Ok(n)
    }
}
