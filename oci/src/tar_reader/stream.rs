//! [`Stream`]: the blocks of a tar, and the limit on headers.

use std::io::{self, Read, Seek, SeekFrom};

use super::fault::Fault;
use crate::budget::{Budget, Exceeded};

pub(super) const BLOCK: usize = 512;
pub(super) const ZEROS: Block = [0; BLOCK];

pub(super) type Block = [u8; BLOCK];

/// A tar, read block by block.
pub(super) struct Stream<'b, R> {
    pub(super) reader: R,
    /// The offset in the stream, in bytes.
    pub(super) position: u64,
    skip: fn(&mut R, u64) -> io::Result<()>,
    pub(super) budget: &'b Budget,
    /// The number of bytes that the headers of the entry may still have.
    left: u64,
}

impl<'b, R: Read> Stream<'b, R> {
    /// Reads over the data that is skipped.
    pub(super) fn new(reader: R, budget: &'b Budget) -> Self {
        Self { reader, position: 0, skip: read_over, budget, left: 0 }
    }

    /// Seeks over the data that is skipped.
    pub(super) fn seeking(reader: R, budget: &'b Budget) -> Self
    where
        R: Seek,
    {
        Self { skip: seek_over, ..Self::new(reader, budget) }
    }

    /// Starts the headers of the next entry, which are limited together.
    pub(super) fn start_entry(&mut self) {
        self.left = self.budget.limits.header;
    }

    /// Reads the block of a header. Returns `None` at the end, which is marked by one or two zero
    /// blocks or by the end of the stream.
    pub(super) fn read_header(&mut self) -> io::Result<Option<Block>> {
        match self.block_or_end()? {
            Some(ZEROS) => match self.block_or_end()? {
                None | Some(ZEROS) => Ok(None),
                // GNU tar continues here, but Go fails.
                Some(_) => Err(Fault::LoneZeroBlock.into()),
            },
            found => Ok(found),
        }
    }

    /// Reads a required block, which counts towards the size of the headers of the entry.
    pub(super) fn block(&mut self) -> io::Result<Block> {
        self.count_header_bytes(BLOCK as u64)?;
        self.block_or_end()?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn block_or_end(&mut self) -> io::Result<Option<Block>> {
        let mut block = ZEROS;
        let mut rest = block.as_mut_slice();
        while !rest.is_empty() {
            match self.reader.read(rest) {
                Ok(0) if rest.len() == BLOCK => return Ok(None),
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => rest = rest.get_mut(n..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.position += BLOCK as u64;
        Ok(Some(block))
    }

    /// Reads the data of an extended header: records or a name.
    pub(super) fn read_extended(&mut self, size: u64) -> io::Result<Vec<u8>> {
        self.count_header_bytes(size)?;
        let mut text = Vec::new();
        self.reader.by_ref().take(size).read_to_end(&mut text)?;
        if text.len() as u64 != size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.skip_data(size, 0)?;
        Ok(text)
    }

    pub(super) fn count_header_bytes(&mut self, bytes: u64) -> io::Result<()> {
        let limit = self.budget.limits.header;
        self.left = self.left.checked_sub(bytes).ok_or(Exceeded::Header { limit })?;
        Ok(())
    }

    /// Skips the rest of `left` bytes of data of `size` bytes, and the padding after it.
    pub(super) fn skip_data(&mut self, size: u64, left: u64) -> io::Result<()> {
        if left > 0 {
            (self.skip)(&mut self.reader, left)?;
        }
        // umoci leaves out the last padding, and Go does not require it.
        let padding = size.next_multiple_of(BLOCK as u64) - size;
        let passed = io::copy(&mut self.reader.by_ref().take(padding), &mut io::sink())?;
        self.position += size + passed;
        Ok(())
    }
}

fn read_over<R: Read>(reader: &mut R, bytes: u64) -> io::Result<()> {
    let passed = io::copy(&mut reader.take(bytes), &mut io::sink())?;
    if passed < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

/// Seeks over the data, but reads its last byte, because a seek does not detect the end of the
/// file.
fn seek_over<R: Read + Seek>(reader: &mut R, bytes: u64) -> io::Result<()> {
    let far = i64::try_from(bytes - 1).map_err(|_| Fault::Size)?;
    reader.seek(SeekFrom::Current(far))?;
    read_over(reader, 1)
}
