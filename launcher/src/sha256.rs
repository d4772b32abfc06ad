//! SHA-256 as text.

use sha2::{Digest as _, Sha256};

/// The digest of these bytes: 64 lower-case hex digits.
pub(crate) fn hex_of(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(u32::from(half), 16)).collect()
}
