//! Checks whether a text has only characters whose meaning is certain.

use memchr::memchr3_iter;

/// Returns the text if it is UTF-8 without characters that YAML forbids or treats as line breaks,
/// and without byte order marks. So `\n` is the only line break.
pub(super) fn check(bytes: &[u8]) -> Option<&str> {
    // Without a branch for each byte, the compiler uses SIMD.
    let is_control = |byte| matches!(byte, 0..b'\t' | 0x0b..b' ' | 0x7f);
    if bytes.iter().fold(0, |found, &byte| found | u8::from(is_control(byte))) != 0 {
        return None;
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let is_certain = |at: usize| {
        !matches!(
            bytes.get(at..).unwrap_or(&[]),
            // C1 controls, one of which is a line break.
            [0xc2, 0x80..=0x9f, ..]
            // Line and paragraph separators.
            | [0xe2, 0x80, 0xa8 | 0xa9, ..]
            // Byte order marks, U+FFFE and U+FFFF.
            | [0xef, 0xbb, 0xbf, ..] | [0xef, 0xbf, 0xbe | 0xbf, ..]
        )
    };
    (bytes.is_ascii() || memchr3_iter(0xc2, 0xe2, 0xef, bytes).all(is_certain)).then_some(text)
}
