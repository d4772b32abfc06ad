//! SHA-256 digests as text.

use sha2::{Digest as _, Sha256};

/// Returns the digest of these bytes as 64 lowercase hex digits.
pub(crate) fn hex_digest(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(u32::from(half), 16)).collect()
}
