//! [`Escaping`]: makes JSON safe for a terminal.

use std::io::{self, Write};

use super::is_printable;

/// A writer that escapes characters in JSON that are not [printable](is_printable). The value of
/// the JSON stays the same.
///
/// Outside strings, JSON is ASCII, so each other character is in a string and can be replaced by
/// its `\u` escape. Line breaks are not escaped, because they are only between values: in strings,
/// they are already escaped. Each write must end with a complete character, as those of
/// `serde_json` do.
///
/// ```
/// use unlade_text::Escaping;
///
/// let mut json = Vec::new();
/// serde_json::to_writer(Escaping(&mut json), "a\u{202e}b")?;
/// assert_eq!(json, br#""a\u202eb""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug)]
pub struct Escaping<W>(pub W);

impl<W: Write> Write for Escaping<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_ascii() && !bytes.contains(&0x7f) {
            return self.0.write_all(bytes);
        }
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        let is_hidden = |character: char| character != '\n' && !is_printable(character);
        for part in text.split_inclusive(is_hidden) {
            let hidden = part.chars().next_back().filter(|last| is_hidden(*last));
            let shown = hidden.and_then(|hidden| part.strip_suffix(hidden)).unwrap_or(part);
            self.0.write_all(shown.as_bytes())?;
            if let Some(hidden) = hidden {
                for unit in hidden.encode_utf16(&mut [0; 2]) {
                    write!(self.0, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
