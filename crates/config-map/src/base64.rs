//! Base64, as Go's `encoding/base64.StdEncoding` decodes it.

use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine as _};

/// The standard alphabet with padding. Like Go, it ignores the unused bits before the padding.
pub(crate) const STANDARD: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes `text`. Line breaks are skipped at any position, as in Go.
pub(crate) fn decode(text: &[u8]) -> Result<Vec<u8>, DecodeError> {
    // Line breaks are rare, and are errors to the library.
    match STANDARD.decode(text) {
        Err(_) if text.contains(&b'\n') || text.contains(&b'\r') => {}
        result => return result,
    }
    let joined: Vec<u8> =
        text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    STANDARD.decode(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_as_go_reads_it() {
        for text in ["YWI=", "YW\r\nI=\n", "YWI\n=", "YWJ="] {
            assert_eq!(decode(text.as_bytes()).unwrap(), b"ab", "{text:?}");
        }
        for text in ["YWI", "YW I=", "YW-_", "=", "YWI=="] {
            assert!(decode(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    /// Go decodes in blocks, and continues if the padding is at the end of a block.
    #[test]
    fn text_behind_padding_is_refused() {
        assert!(decode(b"YWI=YWI=").is_err());
        let block = "YWJj".repeat(255) + "YWI=";
        assert!(decode(block.as_bytes()).is_ok());
        assert!(decode((block + "YWI=").as_bytes()).is_err());
    }
}
