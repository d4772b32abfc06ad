//! Digests as text.

use std::fmt::Write as _;

/// Returns the hexadecimal digits of a digest.
pub(crate) fn encode(digest: &[u8; 32]) -> String {
    digest.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}
