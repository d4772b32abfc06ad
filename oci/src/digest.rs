//! Computes and verifies digests.

use std::io::{self, Read, Write};

use oci_spec::image::{Digest, DigestAlgorithm};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use unlade_text::excerpt;

/// A difference between bytes and their digest or size.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The digest differs.
    #[error("the digest is {found}, not {expected}")]
    Differs {
        /// The expected digest.
        expected: String,
        /// The digest of the bytes.
        found: String,
    },
    /// The size differs.
    #[error("the size is {found}{}, not {expected} bytes", if found > expected { " or more" } else { "" })]
    Size {
        /// The expected size, in bytes.
        expected: u64,
        /// The number of bytes that were read.
        found: u64,
    },
    /// The algorithm of the digest is not supported.
    #[error("the digest algorithm {algorithm:?} is not supported")]
    Algorithm {
        /// The name of the algorithm.
        algorithm: String,
    },
    /// The text is not a digest.
    #[error("{text:?} is not a digest")]
    Invalid {
        /// The text.
        text: String,
    },
}

/// Computes the SHA-256 of `bytes`.
///
/// # Errors
///
/// Returns an error if the digest cannot be represented, which does not happen.
pub fn sha256(bytes: &[u8]) -> Result<Digest, Error> {
    parse(&Hasher::Sha256(Sha256::new_with_prefix(bytes)).finish())
}

/// Reads `reader` to its end, but not further than `size` bytes and one more, and compares what it
/// returns with a digest and a size.
///
/// # Errors
///
/// Returns an error if reading fails. The inner error is the difference.
pub fn verify(reader: impl Read, digest: &Digest, size: u64) -> io::Result<Result<(), Error>> {
    match Verified::new(reader, digest, Some(size)) {
        Ok(verified) => verified.finish(),
        Err(error) => Ok(Err(error)),
    }
}

/// Parses a digest.
pub(crate) fn parse(text: &str) -> Result<Digest, Error> {
    text.parse().map_err(|_| Error::Invalid { text: excerpt::shorten(text) })
}

/// A reader that hashes and counts the bytes that it reads.
pub(crate) struct Verified<R> {
    inner: R,
    hasher: Hasher,
    count: u64,
    expected: Digest,
    size: Option<u64>,
    /// Whether the inner reader has ended or failed.
    is_over: bool,
}

impl<R: Read> Verified<R> {
    /// Creates a reader that expects the digest `expected` of `inner`, and optionally its size.
    pub(crate) fn new(inner: R, expected: &Digest, size: Option<u64>) -> Result<Self, Error> {
        let hasher = Hasher::new(expected.algorithm())?;
        Ok(Self { inner, hasher, count: 0, expected: expected.clone(), size, is_over: false })
    }

    /// Checks whether all bytes were read, or reading has failed.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over || self.size.is_some_and(|size| self.count >= size)
    }

    /// Reads the rest, and compares the digest and the size.
    pub(crate) fn finish(mut self) -> io::Result<Result<(), Error>> {
        io::copy(&mut self, &mut io::sink())?;
        if let Some(expected) = self.size.filter(|size| *size != self.count) {
            return Ok(Err(Error::Size { expected, found: self.count }));
        }
        let (expected, found) = (self.expected.to_string(), self.hasher.finish());
        if found == expected { Ok(Ok(())) } else { Ok(Err(Error::Differs { expected, found })) }
    }
}

impl<R: Read> Read for Verified<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // One byte more than expected is enough to detect a difference.
        let left =
            self.size.map_or(u64::MAX, |size| size.saturating_add(1).saturating_sub(self.count));
        let read = self.inner.by_ref().take(left).read(buffer);
        self.is_over = matches!(read, Ok(0)) || read.is_err();
        let n = read?;
        self.hasher.update(buffer.get(..n).unwrap_or_default());
        self.count += n as u64;
        Ok(n)
    }
}

/// A writer that hashes, with SHA-256, and counts the bytes that it writes.
pub(crate) struct Hashed<W> {
    inner: W,
    hasher: Sha256,
    count: u64,
}

impl<W: Write> Hashed<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, hasher: Sha256::new(), count: 0 }
    }

    /// Flushes the writer. Returns the digest and the number of the bytes.
    pub(crate) fn finish(mut self) -> io::Result<(Digest, u64)> {
        self.inner.flush()?;
        let digest = parse(&Hasher::Sha256(self.hasher).finish()).map_err(io::Error::other)?;
        Ok((digest, self.count))
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.inner.write(bytes)?;
        self.hasher.update(bytes.get(..n).unwrap_or_default());
        self.count += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

enum Hasher {
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl Hasher {
    fn new(algorithm: &DigestAlgorithm) -> Result<Self, Error> {
        match algorithm {
            DigestAlgorithm::Sha256 => Ok(Self::Sha256(Sha256::new())),
            DigestAlgorithm::Sha384 => Ok(Self::Sha384(Sha384::new())),
            DigestAlgorithm::Sha512 => Ok(Self::Sha512(Sha512::new())),
            other => Err(Error::Algorithm { algorithm: other.to_string() }),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha384(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    fn finish(self) -> String {
        match self {
            Self::Sha256(hasher) => format_digest("sha256", &hasher.finalize()),
            Self::Sha384(hasher) => format_digest("sha384", &hasher.finalize()),
            Self::Sha512(hasher) => format_digest("sha512", &hasher.finalize()),
        }
    }
}

fn format_digest(algorithm: &str, bytes: &[u8]) -> String {
    format!("{algorithm}:{}", unlade_text::hex(bytes))
}
