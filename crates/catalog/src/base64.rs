//! Base64, as Go's `encoding/base64.StdEncoding` decodes it.

use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine as _};

const STANDARD: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// Decodes `text`. Line breaks are skipped at any position, as in Go.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, DecodeError> {
    if !text.contains(['\r', '\n']) {
        return STANDARD.decode(text);
    }
    STANDARD.decode(text.replace(['\r', '\n'], ""))
}
