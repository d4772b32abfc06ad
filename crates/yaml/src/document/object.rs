//! Finds the end of a JSON object in a text that is still being read.

use crate::find::find;

/// The state of the search. It visits each byte once.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The number of visited bytes.
    at: usize,
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    has_begun: bool,
}

impl Scan {
    /// Returns the end of the first object or list in `text`, or of the first character that can
    /// begin neither. `text` is the text of the previous call, with more bytes at its end. Returns
    /// `None` if the end is not in `text`.
    pub(super) fn find_end(&mut self, text: &[u8]) -> Option<usize> {
        while let Some(&byte) = text.get(self.at) {
            if self.is_in_string && !self.is_escaped {
                let rest = text.get(self.at..).unwrap_or(&[]);
                let run = find(rest, |word| word.equal(b'"') | word.equal(b'\\'));
                self.at += run.unwrap_or(rest.len());
                match text.get(self.at) {
                    Some(b'"') => self.is_in_string = false,
                    Some(_) => self.is_escaped = true,
                    None => return None,
                }
                self.at += 1;
                continue;
            }
            self.at += 1;
            if self.is_escaped {
                self.is_escaped = false;
                continue;
            }
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => continue,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b'"' => self.is_in_string = true,
                _ => {}
            }
            self.has_begun = true;
            if self.depth == 0 {
                return Some(self.at);
            }
        }
        None
    }

    /// Checks whether the text has only white space.
    pub(super) fn is_blank(&self) -> bool {
        !self.has_begun
    }
}
