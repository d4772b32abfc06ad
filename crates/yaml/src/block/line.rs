//! [`Lines`]: the lines of a text.

use memchr::memchr;

use crate::find::find;

/// A line without its line break.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'t> {
    /// The number of spaces at its start.
    pub(super) column: usize,
    /// The rest of the line. Empty for a blank line.
    pub(super) content: &'t str,
}

/// The lines of a text that are not read yet.
#[derive(Debug, Clone)]
pub(super) struct Lines<'t> {
    /// The next line, without its line break.
    next: Option<(Line<'t>, &'t str)>,
    rest: &'t str,
    ends_with_break: bool,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let mut lines = Self { next: None, rest: text, ends_with_break: text.ends_with('\n') };
        lines.advance();
        lines
    }

    /// Returns the next line without consuming it.
    pub(super) fn peek(&self) -> Option<Line<'t>> {
        self.next.map(|(line, _)| line)
    }

    /// Returns the next line with its indentation, without consuming it.
    pub(super) fn peek_whole(&self) -> Option<&'t str> {
        self.next.map(|(_, whole)| whole)
    }

    /// Consumes the next line.
    pub(super) fn advance(&mut self) {
        if self.rest.is_empty() {
            self.next = None;
            return;
        }
        let end = memchr(b'\n', self.rest.as_bytes()).unwrap_or(self.rest.len());
        let whole = self.rest.get(..end).unwrap_or("");
        self.rest = self.rest.get(end + 1..).unwrap_or("");
        let column = indentation(whole.as_bytes());
        self.next = Some((Line { column, content: whole.get(column..).unwrap_or("") }, whole));
    }

    /// Consumes and returns the next line that is neither blank nor a comment.
    pub(super) fn next_content(&mut self) -> Option<Line<'t>> {
        while let Some(line) = self.peek() {
            self.advance();
            if !matches!(line.content.as_bytes().first(), None | Some(b'#')) {
                return Some(line);
            }
        }
        None
    }

    /// Consumes blank lines, and returns their number.
    pub(super) fn skip_blank(&mut self) -> usize {
        let mut n_blank = 0;
        while self.peek().is_some_and(|line| line.content.is_empty()) {
            self.advance();
            n_blank += 1;
        }
        n_blank
    }

    /// Checks whether all lines are consumed and the last one has no line break.
    pub(super) fn is_unfinished(&self) -> bool {
        self.next.is_none() && !self.ends_with_break
    }
}

/// Returns the number of spaces at the start of a line.
fn indentation(line: &[u8]) -> usize {
    find(line, |word| word.differs(b' ')).unwrap_or(line.len())
}

/// Returns `text` without the spaces at its start.
pub(super) fn skip_spaces(text: &str) -> &str {
    text.get(indentation(text.as_bytes())..).unwrap_or("")
}

/// Checks whether `rest`, which follows a token, has at most spaces and a comment.
pub(super) fn is_end(rest: &str) -> bool {
    let n_spaces = indentation(rest.as_bytes());
    match rest.as_bytes().get(n_spaces) {
        None => true,
        Some(byte) => *byte == b'#' && n_spaces > 0,
    }
}
