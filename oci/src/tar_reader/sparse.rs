//! Sparse files. GNU tar has four formats for them. No file of a bundle may be sparse, but the
//! reader must know the end of their data to find the next entry.

use std::io;

use super::header::field;
use super::number::{decimal, numeric};
use super::pax::{set_once, without_nul};
use super::{Block, Fault};

/// The map of the data of a sparse file. Its numbers are checked one after another and not kept,
/// because a map of 1 MiB can have half a million.
#[derive(Debug, Clone, Copy)]
pub(super) struct Map {
    /// The offset of a piece whose length does not yet follow.
    start: Option<u64>,
    /// The end of the last piece, in bytes. `None` if the pieces are not in order.
    end: Option<u64>,
    /// The number of the pieces of data.
    pieces: u64,
    /// Their total length, in bytes.
    data: u64,
    /// The size of the file with its holes, in bytes.
    size: u64,
}

impl Default for Map {
    fn default() -> Self {
        Self { start: None, end: Some(0), pieces: 0, data: 0, size: 0 }
    }
}

impl Map {
    pub(super) fn with_size(self, size: u64) -> Self {
        Self { size, ..self }
    }

    /// Checks that the pieces are in order and in the file, and that their total length is
    /// `stored`.
    pub(super) fn check(&self, stored: u64) -> Result<(), Fault> {
        let limit = self.size.min(i64::MAX.cast_unsigned());
        let is_inside = self.start.is_none() && self.end.is_some_and(|end| end <= limit);
        if is_inside && self.data == stored { Ok(()) } else { Err(Fault::Sparse) }
    }

    /// Adds the next number, which is the offset or the length of a piece.
    fn push(mut self, number: u64) -> Self {
        let Some(start) = self.start.take() else { return Self { start: Some(number), ..self } };
        let is_in_order = |end: &u64| start >= *end;
        self.end = self.end.filter(is_in_order).and_then(|_| start.checked_add(number));
        // Valid pieces do not overlap, so the sum of their lengths does not overflow.
        self.data = self.data.saturating_add(number);
        self.pieces += 1;
        self
    }

    fn is_empty(&self) -> bool {
        self.pieces == 0 && self.start.is_none()
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
            map = map.push(number(start)?).push(number(length)?);
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
    let mut map = Map::default();
    let mut line = Vec::new();
    // The number of the numbers that follow the first one.
    let mut left: Option<u64> = None;
    while left != Some(0) {
        for byte in next()? {
            if byte != b'\n' {
                line.push(byte);
                continue;
            }
            if left != Some(0) {
                let number = decimal(&line).ok_or(Fault::Sparse)?;
                left = match left {
                    None => Some(number.checked_mul(2).ok_or(Fault::Sparse)?),
                    Some(left) => {
                        map = map.push(number);
                        Some(left - 1)
                    }
                };
            }
            line.clear();
        }
    }
    Ok(map)
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
    map: Option<Map>,
    /// The map in the records `offset` and `numbytes`, which alternate.
    turns: Map,
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
                let mut numbers = value.split(|byte| *byte == b',').map(decimal);
                let map = numbers.try_fold(Map::default(), |map, number| Some(map.push(number?)));
                set_once("GNU.sparse.map", &mut self.map, map)
            }
            b"offset" | b"numbytes" => {
                let is_turn = self.turns.start.is_none() == (name == b"offset");
                let number = decimal(value).filter(|_| is_turn).ok_or(Fault::Sparse)?;
                self.turns = self.turns.push(number);
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
        let map = match self.map {
            None => self.turns,
            Some(map) if self.turns.is_empty() => map,
            Some(_) => return Err(Fault::Sparse),
        };
        let is_complete = self.pieces == Some(map.pieces);
        // For Go, a file with neither a version nor a map is not sparse.
        if is_complete && map.pieces > 0 { Ok(map) } else { Err(Fault::Sparse) }
    }

    /// Returns the size of the file with its holes, in bytes.
    pub(super) fn size(&self) -> Option<u64> {
        self.size.or(self.real_size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a map of pairs in the formats 1.0 and 0.1.
    fn maps(numbers: &[u64]) -> [Map; 2] {
        let text: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        let lines = format!("{}\n{}\n", numbers.len() / 2, text.join("\n"));
        let mut blocks = lines.as_bytes().chunks(512);
        let in_data = read_from_data(|| {
            let mut block = [0; 512];
            let bytes = blocks.next().unwrap();
            block[..bytes.len()].copy_from_slice(bytes);
            Ok(block)
        });
        let mut records = Records::default();
        records.set(b"map", text.join(",").as_bytes()).unwrap();
        records.set(b"numblocks", (numbers.len() / 2).to_string().as_bytes()).unwrap();
        [in_data.unwrap(), records.map().unwrap()]
    }

    #[test]
    fn pieces_are_in_order_and_in_the_file() {
        const MAX: u64 = i64::MAX as u64;
        for (numbers, size, stored, is_valid) in [
            (&[0, 1, 2, 3][..], 5, 4, true),
            (&[0, 1, 1, 3, 9, 0], 9, 4, true),
            (&[0, 1, 2, 3], 4, 4, false),
            (&[0, 1, 2, 3], 5, 5, false),
            (&[2, 3, 0, 1], 5, 4, false),
            (&[0, 2, 1, 3], 5, 5, false),
            (&[MAX, MAX], u64::MAX, MAX, false),
            (&[0, 1, MAX, MAX, MAX, MAX], u64::MAX, u64::MAX, false),
        ] {
            for map in maps(numbers) {
                assert_eq!(map.with_size(size).check(stored).is_ok(), is_valid, "{numbers:?}");
            }
        }
    }

    #[test]
    fn a_map_of_many_pieces_in_many_blocks_is_read() {
        let numbers: Vec<_> = (0..100_000).collect();
        let stored = numbers.iter().skip(1).step_by(2).sum();
        for map in maps(&numbers) {
            assert_eq!(map.pieces, 50_000);
            assert!(map.with_size(u64::MAX).check(stored).is_err());
        }
        let numbers: Vec<_> = (0..100_000).map(|at| if at % 2 == 0 { at } else { 1 }).collect();
        for map in maps(&numbers) {
            map.with_size(100_000).check(50_000).unwrap();
        }
    }

    #[test]
    fn an_offset_without_a_length_is_refused() {
        let mut records = Records::default();
        records.set(b"map", b"0,1,2").unwrap();
        records.set(b"numblocks", b"1").unwrap();
        assert!(records.map().unwrap().with_size(9).check(1).is_err());
        let mut records = Records::default();
        records.set(b"offset", b"0").unwrap();
        assert!(records.set(b"offset", b"0").is_err());
    }
}
