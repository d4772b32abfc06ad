//! [`Content`]: the texts of a catalog, in a file instead of in memory.

use std::fs::File;
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use serde::{Deserialize, Serialize};

/// A part of the [`Content`]: its first byte and its length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span(u64, u32);

/// Texts in a file. Only the pages that are read often stay in memory, and the system can evict
/// them.
#[derive(Debug)]
pub(crate) struct Content {
    file: File,
    len: u64,
}

/// Appends texts to a new [`Content`].
#[derive(Debug)]
pub(crate) struct Writer {
    file: io::BufWriter<File>,
    len: u64,
}

impl Span {
    /// Returns the length in bytes.
    pub(crate) fn len(self) -> usize {
        self.1 as usize
    }

    /// Returns the positions of the bytes.
    pub(crate) fn range(self) -> Range<u64> {
        self.0..self.0.saturating_add(self.1.into())
    }

    /// Checks whether the part is in the first `len` bytes.
    pub(crate) fn is_within(self, len: u64) -> bool {
        self.0.checked_add(self.1.into()).is_some_and(|end| end <= len)
    }
}

impl Writer {
    /// Writes to `file`, which is empty.
    pub(crate) fn new(file: File) -> Self {
        Self { file: io::BufWriter::with_capacity(1 << 20, file), len: 0 }
    }

    /// Appends a text.
    pub(crate) fn append(&mut self, text: impl AsRef<[u8]>) -> io::Result<Span> {
        let text = text.as_ref();
        let len = u32::try_from(text.len()).map_err(io::Error::other)?;
        self.file.write_all(text)?;
        let start = self.len;
        self.len += u64::from(len);
        Ok(Span(start, len))
    }

    /// Writes the remaining bytes, and returns the content.
    pub(crate) fn finish(self) -> io::Result<Content> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Content { file, len: self.len })
    }
}

impl Content {
    /// Uses the first `len` bytes of `file`.
    pub(crate) fn new(file: File, len: u64) -> Self {
        Self { file, len }
    }

    /// Returns the file and the number of bytes that belong to the content.
    pub(crate) fn file(&self) -> (&File, u64) {
        (&self.file, self.len)
    }

    /// Appends a part to `buffer`.
    pub(crate) fn read(&self, span: Span, buffer: &mut Vec<u8>) -> io::Result<()> {
        let Span(start, len) = span;
        // Checked before the memory is reserved, because the span may come from a damaged cache.
        if !span.is_within(self.len) {
            return Err(io::Error::other("a text is not in the content"));
        }
        let at = buffer.len();
        buffer.resize(at + len as usize, 0);
        let Some(part) = buffer.get_mut(at..) else { return Ok(()) };
        self.file.read_exact_at(part, start)
    }
}
