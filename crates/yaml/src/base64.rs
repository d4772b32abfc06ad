//! Base64, as Go's `encoding/base64.StdEncoding` reads and writes it. `encoding/json` does so for
//! `[]byte`.

pub use ::base64::DecodeError;
use ::base64::Engine as _;
use ::base64::alphabet;
use ::base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// The standard alphabet with padding. Like Go, it ignores the unused bits before the padding.
const STANDARD: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Encodes `bytes`, without line breaks.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// Decodes `text`. Line breaks are skipped at any position, as in Go.
///
/// # Errors
///
/// Returns an error if the text has other characters or no padding.
pub fn decode(text: impl AsRef<[u8]>) -> Result<Vec<u8>, DecodeError> {
    let text = text.as_ref();
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
            assert_eq!(decode(text).unwrap(), b"ab", "{text:?}");
        }
        for text in ["YWI", "YW I=", "YW-_", "=", "YWI=="] {
            assert!(decode(text).is_err(), "{text:?}");
        }
    }

    /// Go decodes in blocks, and continues if the padding is at the end of a block.
    #[test]
    fn text_after_padding_is_refused() {
        assert!(decode(b"YWI=YWI=").is_err());
        let block = "YWJj".repeat(255) + "YWI=";
        assert!(decode(&block).is_ok());
        assert!(decode(block + "YWI=").is_err());
    }
}
