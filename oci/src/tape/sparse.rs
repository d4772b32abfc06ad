//! Files with holes. GNU tar has written them in four ways; nothing of a bundle is one, but where
//! their data ends is where the next entry begins.

use std::io;

use super::header::field;
use super::number::{decimal, numeric};
use super::pax::{once, without_nul};
use super::{Block, Fault};

/// Where a file has data.
#[derive(Debug, Default)]
pub(super) struct Map {
    /// Where pieces of data begin, and their lengths, in bytes.
    pieces: Vec<(u64, u64)>,
    /// Bytes of the file, with its holes.
    size: u64,
}

impl Map {
    pub(super) fn within(self, size: u64) -> Self {
        Self { size, ..self }
    }

    /// Whether the pieces lie in the file one after another, and have the `stored` bytes of the
    /// stream.
    pub(super) fn check(&self, stored: u64) -> Result<(), Fault> {
        let limit = self.size.min(i64::MAX.cast_unsigned());
        let end = self.pieces.iter().try_fold(0, |end, (start, length)| {
            start.checked_add(*length).filter(|next| *start >= end && *next <= limit)
        });
        // Pieces lie apart, so their lengths do not overflow.
        let data: u64 = self.pieces.iter().fold(0, |sum, (_, length)| sum.saturating_add(*length));
        if end.is_some() && data == stored { Ok(()) } else { Err(Fault::Sparse) }
    }

    /// Pairs of numbers.
    fn pairs(numbers: &[u64]) -> Result<Self, Fault> {
        let (pairs, rest) = numbers.as_chunks();
        if !rest.is_empty() {
            return Err(Fault::Sparse);
        }
        let pieces = pairs.iter().map(|[start, length]| (*start, *length)).collect();
        Ok(Self { pieces, size: 0 })
    }
}

/// The map of the oldest format: in the header itself, and in blocks behind it.
pub(super) fn in_header(
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
            // As in GNU and BSD tar, the rest of the block is empty then.
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

/// The map of format 1.0: decimal numbers in lines at the beginning of the data, in whole blocks.
pub(super) fn in_data(mut next: impl FnMut() -> io::Result<Block>) -> io::Result<Map> {
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

/// PAX records `GNU.sparse.*`.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) name: Option<Vec<u8>>,
    major: Option<Vec<u8>>,
    minor: Option<Vec<u8>>,
    size: Option<u64>,
    real_size: Option<u64>,
    pieces: Option<u64>,
    map: Option<Vec<u64>>,
    /// The numbers of records `offset` and `numbytes`, which take turns.
    turns: Vec<u64>,
}

impl Records {
    /// Takes the record `GNU.sparse.{name}`.
    pub(super) fn set(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        let text = || without_nul(value);
        match name {
            b"name" => once("GNU.sparse.name", &mut self.name, text()),
            b"major" => once("GNU.sparse.major", &mut self.major, text()),
            b"minor" => once("GNU.sparse.minor", &mut self.minor, text()),
            b"size" => once("GNU.sparse.size", &mut self.size, decimal(value)),
            b"realsize" => once("GNU.sparse.realsize", &mut self.real_size, decimal(value)),
            b"numblocks" => once("GNU.sparse.numblocks", &mut self.pieces, decimal(value)),
            b"map" => {
                let numbers = value.split(|byte| *byte == b',').map(decimal).collect();
                once("GNU.sparse.map", &mut self.map, numbers)
            }
            b"offset" | b"numbytes" => {
                let is_turn = self.turns.len().is_multiple_of(2) == (name == b"offset");
                self.turns.push(decimal(value).filter(|_| is_turn).ok_or(Fault::Sparse)?);
                Ok(())
            }
            _ => Err(Fault::Sparse),
        }
    }

    /// Whether the format is 1.0, whose map is in the data. The others are 0.0 and 0.1, which may
    /// go without saying.
    pub(super) fn is_map_in_data(&self) -> Result<bool, Fault> {
        match (self.major.as_deref(), self.minor.as_deref()) {
            (Some(b"1"), Some(b"0")) => Ok(true),
            (Some(b"0"), Some(b"0" | b"1")) | (None, None) => Ok(false),
            _ => Err(Fault::Sparse),
        }
    }

    /// The map in the records.
    pub(super) fn map(&self) -> Result<Map, Fault> {
        let numbers = match &self.map {
            None => &self.turns,
            Some(map) if self.turns.is_empty() => map,
            Some(_) => return Err(Fault::Sparse),
        };
        let map = Map::pairs(numbers)?;
        let is_complete = self.pieces.is_some_and(|pieces| pieces == map.pieces.len() as u64);
        // Go sees no sparse file where neither a version nor a map is.
        if is_complete && !map.pieces.is_empty() { Ok(map) } else { Err(Fault::Sparse) }
    }

    /// Bytes of the file, with its holes.
    pub(super) fn size(&self) -> Option<u64> {
        self.size.or(self.real_size)
    }
}
