//! Tar files, which can be well-formed or malformed as a family requires.

use std::fmt::Write as _;
use std::ops::Range;

const BLOCK: usize = 512;
/// The position of the checksum in a header.
const CHECKSUM: Range<usize> = 148..156;
/// The position of the magic in a header, which distinguishes headers from data.
const MAGIC: Range<usize> = 257..262;

/// Type flags of entries.
pub mod flag {
    /// A file.
    pub const FILE: u8 = b'0';
    /// A hard link.
    pub const HARD_LINK: u8 = b'1';
    /// A symbolic link.
    pub const SYMLINK: u8 = b'2';
    /// A directory.
    pub const DIRECTORY: u8 = b'5';
    /// GNU: the name of the next entry.
    pub const LONG_NAME: u8 = b'L';
    /// GNU: the link target of the next entry.
    pub const LONG_LINK: u8 = b'K';
    /// PAX records for the next entry.
    pub const PAX: u8 = b'x';
}

/// A tar file that grows entry by entry.
#[derive(Debug, Clone, Default)]
pub struct Tape(Vec<u8>);

impl Tape {
    /// Creates an empty tar file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the layer of a small bundle.
    pub fn bundle() -> Self {
        let annotations =
            "annotations:\n  operators.operatorframework.io.bundle.package.v1: hello\n";
        Self::new()
            .file("manifests/csv.yaml", b"kind: ClusterServiceVersion\nmetadata: {name: hello}\n")
            .file("metadata/annotations.yaml", annotations.as_bytes())
    }

    /// Adds a file.
    #[must_use]
    pub fn file(self, name: &str, data: &[u8]) -> Self {
        self.entry(flag::FILE, name.as_bytes(), b"", data)
    }

    /// Adds an entry with only one header: the name and the target are cut off at 100 bytes.
    #[must_use]
    pub fn entry(mut self, flag: u8, name: &[u8], target: &[u8], data: &[u8]) -> Self {
        let mut header = Vec::with_capacity(BLOCK);
        field(&mut header, name, 100);
        for (text, width) in [("0000644", 8), ("0000000", 8), ("0000000", 8)] {
            field(&mut header, text.as_bytes(), width);
        }
        field(&mut header, format!("{:011o}", data.len()).as_bytes(), 12);
        field(&mut header, b"00000000000", 12);
        field(&mut header, b"        ", 8);
        header.push(flag);
        field(&mut header, target, 100);
        field(&mut header, b"ustar\x0000", 8);
        header.resize(BLOCK, 0);
        sign(&mut header);
        self.0.extend(header);
        self.0.extend(data);
        self.0.resize(self.0.len().next_multiple_of(BLOCK), 0);
        self
    }

    /// Replaces fields in the header of the last entry, whose data has `n_blocks` blocks.
    #[must_use]
    pub fn with_last_header(mut self, n_blocks: usize, fields: &[(Range<usize>, &[u8])]) -> Self {
        let start = self.0.len().saturating_sub((n_blocks + 1) * BLOCK);
        if let Some(header) = self.0.get_mut(start..start + BLOCK) {
            for (place, text) in fields {
                if let Some(place) = header.get_mut(place.clone()) {
                    place.fill(0);
                    place.iter_mut().zip(*text).for_each(|(to, from)| *to = *from);
                }
            }
            sign(header);
        }
        self
    }

    /// Adds an entry whose name and target may have any length, as GNU tar writes it.
    #[must_use]
    pub fn long(self, flag: u8, name: &str, target: &str, data: &[u8]) -> Self {
        let mut tape = self;
        for (kind, text) in [(flag::LONG_NAME, name), (flag::LONG_LINK, target)] {
            if text.len() > 100 {
                let text = [text.as_bytes(), b"\0"].concat();
                tape = tape.entry(kind, b"././@LongLink", b"", &text);
            }
        }
        tape.entry(flag, name.as_bytes(), target.as_bytes(), data)
    }

    /// Adds PAX records for the next entry.
    #[must_use]
    pub fn pax<'a>(self, records: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut text = String::new();
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            // The length counts its own digits.
            let mut length = rest + rest.to_string().len();
            length = rest + length.to_string().len();
            // Writing to a string does not fail.
            let _ = writeln!(text, "{length} {key}={value}");
        }
        self.entry(flag::PAX, b"pax", b"", text.as_bytes())
    }

    /// Returns the whole file, with the two blocks that end it.
    pub fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 2 * BLOCK, 0);
        self.0
    }
}

/// Corrects the checksum of every block that looks like a header, so that a mutation of one is
/// not refused for its checksum alone.
pub fn mend(tar: &mut [u8]) {
    for block in tar.chunks_exact_mut(BLOCK) {
        if block.get(MAGIC).is_some_and(|magic| magic == b"ustar") {
            sign(block);
        }
    }
}

fn field(header: &mut Vec<u8>, text: &[u8], width: usize) {
    let end = header.len() + width;
    header.extend(text.iter().take(width));
    header.resize(end, 0);
}

fn sign(header: &mut [u8]) {
    if let Some(field) = header.get_mut(CHECKSUM) {
        field.fill(b' ');
    }
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    let text = format!("{sum:06o}\0 ");
    if let Some(field) = header.get_mut(CHECKSUM) {
        field.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mending_makes_a_changed_header_valid_again() {
        let whole = Tape::bundle().end();
        let mut mended = whole.clone();
        mended[CHECKSUM].fill(b'7');
        assert_ne!(mended, whole);
        mend(&mut mended);
        assert_eq!(mended, whole);
    }
}
