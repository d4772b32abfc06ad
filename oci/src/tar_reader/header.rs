//! Parses the header of a tar entry.

use super::number::{numeric, octal, text};
use super::{Block, Fault};

/// The position of the checksum in a header. The checksum is computed with spaces in its place.
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// The numeric fields other than the size, with their positions and lengths: those of V7, then
/// those of ustar and GNU, then those of star.
const NUMBERS: [(&str, usize, usize); 8] = [
    ("mode", 100, 8),
    ("uid", 108, 8),
    ("gid", 116, 8),
    ("mtime", 136, 12),
    ("devmajor", 329, 8),
    ("devminor", 337, 8),
    ("atime", 476, 12),
    ("ctime", 488, 12),
];

/// The dialects with different headers, which are distinguished as in `archive/tar/format.go`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    V7,
    Ustar,
    Star,
    Gnu,
}

pub(super) struct Header {
    pub(super) format: Format,
    pub(super) flag: u8,
    pub(super) path: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) size: u64,
}

impl Header {
    /// Parses the header in `block`. As in Go, all numeric fields must be valid, even unused ones.
    pub(super) fn parse(block: &Block) -> Result<Self, Fault> {
        if !has_checksum(block) {
            return Err(Fault::Checksum);
        }
        let format = format(block);
        let numbers = match format {
            Format::V7 => NUMBERS.get(..4),
            Format::Ustar | Format::Gnu => NUMBERS.get(..6),
            Format::Star => Some(&NUMBERS[..]),
        };
        for (name, at, length) in numbers.unwrap_or_default() {
            numeric(field(block, *at, *length)).ok_or(Fault::Number(name))?;
        }
        let size = numeric(field(block, 124, 12)).and_then(|size| u64::try_from(size).ok());
        let mut path = match format {
            Format::V7 => Vec::new(),
            Format::Ustar => text(field(block, 345, 155)).to_owned(),
            Format::Star => text(field(block, 345, 131)).to_owned(),
            Format::Gnu => prefix_of_old_go(block).to_owned(),
        };
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(text(field(block, 0, 100)));
        Ok(Self {
            format,
            flag: field(block, 156, 1).first().copied().unwrap_or_default(),
            path,
            link: text(field(block, 157, 100)).to_owned(),
            size: size.ok_or(Fault::Size)?,
        })
    }
}

/// Checks whether the checksum of a header is correct, with either signed or unsigned bytes.
pub(super) fn has_checksum(block: &Block) -> bool {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| i64::from(*byte)).sum::<i64>();
    let written = block.get(CHECKSUM).unwrap_or_default();
    let unsigned = sum(block) - sum(written) + i64::from(b' ') * 8;
    let Some(found) = octal(written).map(u64::cast_signed) else { return false };
    let is_negative = |byte: &&u8| byte.cast_signed() < 0;
    let negative = |bytes: &[u8]| bytes.iter().filter(is_negative).count();
    let negative = i64::try_from(negative(block) - negative(written)).unwrap_or_default();
    found == unsigned || found == unsigned - negative * 256
}

fn format(block: &Block) -> Format {
    match (field(block, 257, 8), field(block, 508, 4)) {
        ([b'u', b's', b't', b'a', b'r', 0, ..], b"tar\0") => Format::Star,
        ([b'u', b's', b't', b'a', b'r', 0, ..], _) => Format::Ustar,
        (b"ustar  \0", _) => Format::Gnu,
        _ => Format::V7,
    }
}

/// Returns the prefix of the name in a GNU header that Go before 1.8 wrote.
///
/// GNU headers have times at the position of the prefix of ustar headers. Go before 1.8 wrote a
/// prefix there, and Go still reads it if the fields are not valid times.
fn prefix_of_old_go(block: &Block) -> &[u8] {
    let is_time = |at| {
        let time = field(block, at, 12);
        time.first() == Some(&0) || numeric(time).is_some()
    };
    if is_time(345) && is_time(357) {
        return &[];
    }
    let prefix = text(field(block, 345, 155));
    if prefix.is_ascii() { prefix } else { &[] }
}

pub(super) fn field(block: &Block, at: usize, length: usize) -> &[u8] {
    block.get(at..at + length).unwrap_or_default()
}
