//! What may still be read: one budget for everything that one [`read`](crate::read) does.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use crate::Limits;

/// The limits, and how much of them is left.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    entries: Cell<u64>,
    unpacked: Cell<u64>,
}

/// A limit that was passed. Travels inside of an [`io::Error`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Exceeded {
    #[error("more than {limit} tar entries")]
    Entries { limit: u64 },
    #[error("more than {limit} decompressed bytes")]
    Unpacked { limit: u64 },
    #[error("more than {limit} decompressed bytes for each compressed byte")]
    Ratio { limit: u64 },
    #[error("headers of a tar entry are larger than {limit} bytes")]
    Header { limit: u64 },
}

impl From<Exceeded> for io::Error {
    fn from(exceeded: Exceeded) -> Self {
        Self::new(io::ErrorKind::InvalidData, exceeded)
    }
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        let (entries, unpacked) = (Cell::new(limits.entries), Cell::new(limits.unpacked));
        Self { limits, entries, unpacked }
    }

    /// Takes one tar entry.
    pub(crate) fn take_entry(&self) -> io::Result<()> {
        let left = self.entries.get().checked_sub(1);
        self.entries.set(left.ok_or(Exceeded::Entries { limit: self.limits.entries })?);
        Ok(())
    }

    fn take_unpacked(&self, bytes: u64) -> io::Result<()> {
        let left = self.unpacked.get().checked_sub(bytes);
        self.unpacked.set(left.ok_or(Exceeded::Unpacked { limit: self.limits.unpacked })?);
        Ok(())
    }
}

/// Counts the bytes that are read.
pub(crate) struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R> Counted<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, count: Rc::default() }
    }

    /// The count, to look at while the reader is in use elsewhere.
    pub(crate) fn count(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.count)
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count.set(self.count.get() + n as u64);
        Ok(n)
    }
}

/// Decompressed bytes, as many as the budget allows.
pub(crate) struct Metered<'a, R> {
    inner: R,
    budget: &'a Budget,
    /// The compressed bytes that were read so far.
    compressed: Rc<Cell<u64>>,
    unpacked: u64,
}

impl<'a, R> Metered<'a, R> {
    pub(crate) fn new(inner: R, budget: &'a Budget, compressed: Rc<Cell<u64>>) -> Self {
        Self { inner, budget, compressed, unpacked: 0 }
    }
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.budget.take_unpacked(n as u64)?;
        self.unpacked += n as u64;
        let limits = &self.budget.limits;
        let by_ratio = self.compressed.get().saturating_mul(limits.ratio);
        if self.unpacked > by_ratio.max(limits.ratio_from) {
            return Err(Exceeded::Ratio { limit: limits.ratio }.into());
        }
        Ok(n)
    }
}
