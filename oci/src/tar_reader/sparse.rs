//! Sparse files. GNU tar has four formats for them. No file of a bundle may be sparse, but the
//! reader must know the end of their data to find the next entry.

use std::io;

use super::header::field;
use super::number::{decimal, numeric};
use super::pax::{set_once, without_nul};
use super::{Block, Fault};

/// The map of the data of a sparse file.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// The offsets and lengths of the pieces of data, in bytes.
    pieces: Vec<(u64, u64)>,
    /// The size of the file with its holes, in bytes.
    size: u64,
}

impl Map {
    pub(super) fn with_size(self, size: u64) -> Self {
        Self { size, ..self }
    }

    /// Checks that the pieces are in order and in the file, and that their total length is
    /// `stored`.
    pub(super) fn check(&self, stored: u64) -> Result<(), Fault> {
        let limit = self.size.min(i64::MAX.cast_unsigned());
        let end = self.pieces.iter().try_fold(0, |end, (start, length)| {
            start.checked_add(*length).filter(|next| *start >= end && *next <= limit)
        });
        // Valid pieces do not overlap, so the sum of their lengths does not overflow.
        let data: u64 = self.pieces.iter().fold(0, |sum, (_, length)| sum.saturating_add(*length));
        if end.is_some() && data == stored { Ok(()) } else { Err(Fault::Sparse) }
    }

    /// Creates a map from pairs of offsets and lengths.
    fn pairs(numbers: &[u64]) -> Result<Self, Fault> {
        let (pairs, rest) = numbers.as_chunks();
        if !rest.is_empty() {
            return Err(Fault::Sparse);
        }
        let pieces = pairs.iter().map(|[start, length]| (*start, *length)).collect();
        Ok(Self { pieces, size: 0 })
    }
}

/// Reads the map of the oldest format, which is in the header and in the blocks after it.
pub(super) fn read_from_header(
    header: &Block,
    mut next: impl FnMut() -> io::Result<Block>,
) -> io::Result<Map> {
    let number = |bytes: &[u8]| {
        let number = numeric(bytes).and_then(|number| u64::try_from(number).ok());
        number.ok_or(Fault::Sparse)
    };
    let size = number(field(header, 483, 12))?;
    let mut map = Map { size, ..Map::default() };
    let (mut block, mut at, mut length) = (*header, 386, 4 * 24);
    loop {
        for piece in field(&block, at, length).chunks(24) {
            // As in GNU and BSD tar, an empty piece ends the list in the block.
            let Some((start, length)) =
                piece.split_at_checked(12).filter(|(start, _)| start.first() != Some(&0))
            else {
                break;
            };
            map.pieces.push((number(start)?, number(length)?));
        }
        if field(&block, at + length, 1) == [0] {
            return Ok(map);
        }
        (block, at, length) = (next()?, 0, 21 * 24);
    }
}

/// Reads the map of format 1.0, which consists of lines of decimal numbers in whole blocks at the
/// start of the data.
pub(super) fn read_from_data(mut next: impl FnMut() -> io::Result<Block>) -> io::Result<Map> {
    let mut numbers = Vec::new();
    let mut line = Vec::new();
    let mut wanted = 1;
    while numbers.len() < wanted {
        for byte in next()? {
            if byte != b'\n' {
                line.push(byte);
                continue;
            }
            if numbers.len() < wanted {
                numbers.push(decimal(&line).ok_or(Fault::Sparse)?);
            }
            line.clear();
            if let [pieces] = numbers.as_slice() {
                let pieces = usize::try_from(*pieces).map_err(|_| Fault::Sparse)?;
                wanted =
                    pieces.checked_mul(2).and_then(|n| n.checked_add(1)).ok_or(Fault::Sparse)?;
            }
        }
    }
    Ok(Map::pairs(numbers.get(1..).unwrap_or_default())?)
}

/// The PAX records `GNU.sparse.*`.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) name: Option<Vec<u8>>,
    major: Option<Vec<u8>>,
    minor: Option<Vec<u8>>,
    size: Option<u64>,
    real_size: Option<u64>,
    pieces: Option<u64>,
    map: Option<Vec<u64>>,
    /// The numbers of the records `offset` and `numbytes`, which alternate.
    turns: Vec<u64>,
}

impl Records {
    /// Sets the record `GNU.sparse.{name}`.
    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        let text = || without_nul(value);
        match name {
            b"name" => set_once("GNU.sparse.name", &mut self.name, text()),
            b"major" => set_once("GNU.sparse.major", &mut self.major, text()),
            b"minor" => set_once("GNU.sparse.minor", &mut self.minor, text()),
            b"size" => set_once("GNU.sparse.size", &mut self.size, decimal(value)),
            b"realsize" => set_once("GNU.sparse.realsize", &mut self.real_size, decimal(value)),
            b"numblocks" => set_once("GNU.sparse.numblocks", &mut self.pieces, decimal(value)),
            b"map" => {
                let numbers = value.split(|byte| *byte == b',').map(decimal).collect();
                set_once("GNU.sparse.map", &mut self.map, numbers)
            }
            b"offset" | b"numbytes" => {
                let is_turn = self.turns.len().is_multiple_of(2) == (name == b"offset");
                self.turns.push(decimal(value).filter(|_| is_turn).ok_or(Fault::Sparse)?);
                Ok(())
            }
            _ => Err(Fault::Sparse),
        }
    }

    /// Checks whether the format is 1.0, whose map is in the data. The other formats are 0.0 and
    /// 0.1, which need not be specified.
    pub(super) fn is_map_in_data(&self) -> Result<bool, Fault> {
        match (self.major.as_deref(), self.minor.as_deref()) {
            (Some(b"1"), Some(b"0")) => Ok(true),
            (Some(b"0"), Some(b"0" | b"1")) | (None, None) => Ok(false),
            _ => Err(Fault::Sparse),
        }
    }

    /// Returns the map in the records.
    pub(super) fn map(&self) -> Result<Map, Fault> {
        let numbers = match &self.map {
            None => &self.turns,
            Some(map) if self.turns.is_empty() => map,
            Some(_) => return Err(Fault::Sparse),
        };
        let map = Map::pairs(numbers)?;
        let is_complete = self.pieces.is_some_and(|pieces| pieces == map.pieces.len() as u64);
        // For Go, a file with neither a version nor a map is not sparse.
        if is_complete && !map.pieces.is_empty() { Ok(map) } else { Err(Fault::Sparse) }
    }

    /// Returns the size of the file with its holes, in bytes.
    pub(super) fn size(&self) -> Option<u64> {
        self.size.or(self.real_size)
    }
}
