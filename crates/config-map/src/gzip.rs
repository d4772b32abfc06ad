//! Upstream's encoding `gzip+base64`: a gzip stream as base64 text (operator-registry
//! `pkg/lib/encoding/encoding.go`).

use std::io::{self, Read as _, Write as _};

use flate2::{Compression, GzBuilder, bufread::MultiGzDecoder};
use unlade_yaml::base64;

/// The value of `olm.contentEncoding` for this encoding.
pub const ENCODING: &str = "gzip+base64";

/// The operating system "unknown", which Go writes into the header of a gzip stream.
const UNKNOWN_SYSTEM: u8 = 255;

/// The number of bytes to decompress before the limits are checked again.
const STEP: usize = 64 << 10;

/// The minimum of the same for small values.
const MIN_STEP: usize = 1 << 10;

/// An error that prevents a value from being decoded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The value is not base64 text.
    #[error("the value is not base64 text")]
    Base64(#[source] base64::DecodeError),
    /// The value is not a complete gzip stream, or its checksum or length is wrong.
    #[error("the value is not a complete gzip stream")]
    Gzip(#[source] io::Error),
    /// The decoded value is larger than the limit.
    #[error("the value decodes to more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// The decoded value is far larger than the compressed one, as in a decompression bomb.
    #[error("the value decodes to more than {ratio} times its {compressed} bytes")]
    Ratio {
        /// The maximum number of decoded bytes for each compressed byte.
        ratio: usize,
        /// The size of the gzip stream in bytes.
        compressed: usize,
    },
}

/// Encodes `bytes` as Go does: the gzip header has no name and no time, and the base64 text has
/// padding and no line breaks. Stops and returns `None` if the result has more than `room` bytes.
pub(crate) fn encode(bytes: &[u8], level: Compression, room: usize) -> Option<String> {
    let compressed = Bounded { bytes: Vec::new(), room: room / 4 * 3 };
    let mut encoder =
        GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM).write(compressed, level);
    // Writing fails only if there is no room.
    encoder.write_all(bytes).ok()?;
    Some(base64::encode(encoder.finish().ok()?.bytes))
}

/// A buffer that accepts at most `room` more bytes.
struct Bounded {
    bytes: Vec<u8>,
    room: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room = self.room.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decodes `value` to at most `limit` bytes, and to at most `ratio` bytes for each compressed byte.
/// It never allocates more than that.
///
/// As in Go's reader, several gzip members form one text, and nothing may follow the last member.
pub(crate) fn decode(value: &[u8], limit: usize, ratio: usize) -> Result<Vec<u8>, Error> {
    let compressed = base64::decode(value).map_err(Error::Base64)?;
    let most_by_ratio = compressed.len().saturating_mul(ratio);
    let most = limit.min(most_by_ratio);
    let mut decoder = MultiGzDecoder::new(compressed.as_slice());
    // The stream ends with the size of its last member, which may be wrong.
    let size = compressed.last_chunk().map_or(0, |&size| u32::from_le_bytes(size));
    let size = usize::try_from(size).unwrap_or(usize::MAX).min(most);
    let mut bytes = Vec::with_capacity(size);
    let mut step = vec![0; STEP.min(size.max(MIN_STEP))];
    loop {
        let read = match decoder.read(&mut step) {
            Ok(0) => {
                bytes.shrink_to_fit();
                return Ok(bytes);
            }
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::Gzip(error)),
        };
        if read > most - bytes.len() {
            return Err(if most == limit {
                Error::TooLarge { limit }
            } else {
                Error::Ratio { ratio, compressed: compressed.len() }
            });
        }
        if read > bytes.capacity() - bytes.len() {
            // Double the capacity, but never exceed the limit.
            bytes.reserve_exact(read.max(bytes.len().min(most - bytes.len())));
        }
        bytes.extend_from_slice(step.get(..read).unwrap_or(&[]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(bytes: &[u8]) -> Vec<u8> {
        encode(bytes, Compression::default(), usize::MAX).unwrap().into_bytes()
    }

    fn decoded(value: &[u8]) -> Result<Vec<u8>, Error> {
        decode(value, 1 << 20, 1100)
    }

    #[test]
    fn the_header_is_that_of_go() {
        let stream = base64::decode(encoded(b"hello")).unwrap();
        assert_eq!(stream[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
    }

    #[test]
    fn a_value_of_go_decodes() {
        // GzipBase64Encode([]byte("hello")) of operator-registry 1.73.0.
        let value = b"H4sIAAAAAAAA/8pIzcnJBwQAAP//hqYQNgUAAAA=";
        assert_eq!(decoded(value).unwrap(), b"hello");
    }

    #[test]
    fn several_members_are_one_text() {
        let mut stream = base64::decode(encoded(b"one ")).unwrap();
        stream.extend(base64::decode(encoded(b"two")).unwrap());
        assert_eq!(decoded(base64::encode(&stream).as_bytes()).unwrap(), b"one two");
        stream.push(0);
        assert!(decoded(base64::encode(&stream).as_bytes()).is_err(), "garbage after the last");
    }

    #[test]
    fn damaged_streams_are_refused() {
        let stream = base64::decode(encoded(b"hello hello hello")).unwrap();
        for length in 0..stream.len() {
            let cut = base64::encode(&stream[..length]);
            assert!(matches!(decoded(cut.as_bytes()), Err(Error::Gzip(_))), "cut at {length}");
        }
        for position in stream.len() - 8..stream.len() {
            let mut bent = stream.clone();
            bent[position] ^= 1;
            assert!(decoded(base64::encode(bent).as_bytes()).is_err(), "checksum or length");
        }
    }

    /// RFC 1952 requires this. Go ignores these flags.
    #[test]
    fn reserved_flags_are_refused() {
        let mut stream = base64::decode(encoded(b"hello")).unwrap();
        assert!(decoded(base64::encode(&stream).as_bytes()).is_ok());
        stream[3] |= 0x80;
        assert!(matches!(decoded(base64::encode(&stream).as_bytes()), Err(Error::Gzip(_))));
    }

    #[test]
    fn values_that_do_not_fit_are_not_encoded() {
        let value = encode(b"hello", Compression::default(), 1_000).unwrap();
        assert_eq!(encode(b"hello", Compression::default(), value.len()), Some(value.clone()));
        assert_eq!(encode(b"hello", Compression::default(), value.len() - 4), None);
    }

    #[test]
    fn limits_hold_while_decompressing() {
        let bomb = encoded(&vec![0; 1 << 20]);
        assert!(matches!(decode(&bomb, 1000, 1100), Err(Error::TooLarge { limit: 1000 })));
        assert!(matches!(decode(&bomb, 1 << 20, 10), Err(Error::Ratio { ratio: 10, .. })));
        let whole = decode(&bomb, 1 << 20, 1100).unwrap();
        assert_eq!((whole.len(), whole.capacity()), (1 << 20, 1 << 20));
    }
}
