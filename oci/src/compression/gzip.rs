//! [`Gzip`]: a reader of gzip streams that counts blocks.

use std::io::{self, BufRead, Read};

use zlib_rs::{Inflate, InflateFlush, Status};

use crate::budget::Budget;
use crate::limit;

/// The number of window bits that selects a gzip header, and the largest window.
const WINDOW_BITS: u8 = 16 + 15;
/// The maximum number of steps without progress. A step ends after the header of a member and after
/// each block, and may need no byte for this.
const MAX_STALLS: usize = 4;

/// A reader of all members of a gzip stream. Parallel builders write several, and eStargz writes
/// one for each file.
///
/// `flate2` hides the blocks, whose cost does not depend on their size: a block of 22 bytes without
/// content defines tables that take 4 µs to build.
pub(super) struct Gzip<'a, R> {
    source: R,
    budget: &'a Budget,
    member: Option<Inflate>,
}

impl<'a, R> Gzip<'a, R> {
    pub(super) fn new(source: R, budget: &'a Budget) -> Self {
        Self { source, budget, member: None }
    }
}

impl<R: BufRead> Read for Gzip<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let mut stalls = 0;
        loop {
            let input = self.source.fill_buf()?;
            if self.member.is_none() && input.is_empty() {
                return Ok(0);
            }
            let member = self.member.get_or_insert_with(|| Inflate::new(true, WINDOW_BITS));
            let (read_before, written_before) = (member.total_in(), member.total_out());
            let status = member
                .decompress(input, buffer, InflateFlush::Block)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.as_str()))?;
            let difference = |after: u64, before: u64| usize::try_from(after - before);
            let n_read = difference(member.total_in(), read_before).unwrap_or_default();
            let n_written = difference(member.total_out(), written_before).unwrap_or_default();
            if n_read < input.len() && n_written < buffer.len() {
                self.budget.count_read(limit::BLOCK)?;
            }
            self.source.consume(n_read);
            if status == Status::StreamEnd {
                self.member = None;
            }
            if n_written > 0 {
                return Ok(n_written);
            }
            stalls = if n_read > 0 { 0 } else { stalls + 1 };
            if stalls > MAX_STALLS {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Write as _};

    use flate2::write::{DeflateEncoder, GzEncoder};

    use super::*;
    use crate::Limits;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// Reads with buffers of these sizes.
    fn read(gzip: &[u8], input: usize, output: usize) -> io::Result<Vec<u8>> {
        let budget = Budget::new(Limits::default());
        let mut reader = Gzip::new(BufReader::with_capacity(input, gzip), &budget);
        let (mut text, mut buffer) = (Vec::new(), vec![0; output]);
        loop {
            match reader.read(&mut buffer)? {
                0 => return Ok(text),
                n => text.extend(&buffer[..n]),
            }
        }
    }

    #[test]
    fn all_members_and_blocks_are_read_whatever_the_buffers() {
        let text: Vec<u8> = (0..200_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
        let mut flushed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        for part in text.chunks(1_000) {
            flushed.write_all(part).unwrap();
            flushed.flush().unwrap();
        }
        let stream = [gzip(&text), gzip(b""), gzip(b"x"), flushed.finish().unwrap()].concat();
        let expected = [&text[..], b"x", &text].concat();
        for (input, output) in [(1, 1 << 16), (7, 13), (1 << 16, 1 << 16), (1 << 16, 100)] {
            assert!(read(&stream, input, output).unwrap() == expected, "{input}, {output}");
        }
    }

    #[test]
    fn damaged_streams_are_refused() {
        let stream = gzip(&b"text".repeat(1_000));
        for end in 1..stream.len() {
            let error = read(&stream[..end], 1 << 16, 1 << 16).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof, "{end}");
        }
        for at in [0, 3, stream.len() - 8, stream.len() - 1] {
            let mut damaged = stream.clone();
            damaged[at] ^= 0xe0;
            assert!(read(&damaged, 1 << 16, 1 << 16).is_err(), "{at}");
        }
        for rest in [&b"\0"[..], b"\0\0\0\0\0\0\0\0", b"text after the stream"] {
            assert!(read(&[&stream, rest].concat(), 1 << 16, 1 << 16).is_err(), "{rest:?}");
        }
    }

    #[test]
    fn blocks_count_even_if_they_are_empty() {
        let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"text").unwrap();
        let last = encoder.finish().unwrap();
        // Fixed blocks of ten bits, four of which are five bytes.
        let empty = [0b0000_0010, 0b0000_1000, 0b0010_0000, 0b1000_0000, 0];
        let mut crc = flate2::Crc::new();
        crc.update(b"text");
        let mut stream = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0];
        stream.extend(empty.repeat(1_000));
        stream.extend(&last);
        stream.extend([crc.sum(), 4].map(u32::to_le_bytes).concat());
        let read = |ratio_from| {
            let budget = Budget::new(Limits::default().with_ratio_from(ratio_from));
            let mut text = String::new();
            Gzip::new(&stream[..], &budget).read_to_string(&mut text).map(|_| text)
        };
        let error = read(3_900 * limit::BLOCK).unwrap_err();
        assert!(error.to_string().contains("for each byte of the image"), "{error}");
        assert_eq!(read(4_100 * limit::BLOCK).unwrap(), "text");
    }
}
