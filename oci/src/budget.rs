//! The budget of one call that reads an image. It covers all layers, all documents, and
//! repeated reads of a layer.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use unlade_bundle::source::walk::LinkBudget;

use crate::Limits;

/// The memory for the structures around a text that is kept, in bytes.
const OVERHEAD: u64 = 128;

/// The limits, and how much of them is already used. Threads can share a budget.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    entries: AtomicU64,
    /// The number of bytes that were read and decompressed.
    read: AtomicU64,
    /// The total size of the files that were opened. Each file counts once.
    input: AtomicU64,
    /// The largest number of bytes that was counted for each input file.
    opened: Mutex<HashMap<String, u64>>,
    /// The size of the names, link targets and digests that are kept, in bytes.
    kept: AtomicU64,
    /// The budget for links that lead to the files of a bundle.
    pub(crate) links: Arc<LinkBudget>,
}

/// An exceeded limit. It is the inner error of an [`io::Error`].
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Exceeded {
    #[error("the archive has more than {limit} tar entries")]
    Entries { limit: u64 },
    #[error("more than {limit} bytes have to be read and decompressed")]
    Unpacked { limit: u64 },
    #[error("more than {limit} bytes have to be read and decompressed for each byte of the image")]
    Ratio { limit: u64 },
    #[error("the headers of a tar entry are larger than {limit} bytes")]
    Header { limit: u64 },
    #[error("names, link targets and digests take more than {limit} bytes")]
    Names { limit: u64 },
}

impl From<Exceeded> for io::Error {
    fn from(exceeded: Exceeded) -> Self {
        Self::new(io::ErrorKind::InvalidData, exceeded)
    }
}

/// Checks whether a limit that was exceeded is among the causes of `error`.
pub(crate) fn is_exceeded(error: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(error), |error| error.source()).any(|error| {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<Exceeded>)
    })
}

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            entries: AtomicU64::default(),
            read: AtomicU64::default(),
            input: AtomicU64::default(),
            opened: Mutex::default(),
            kept: AtomicU64::default(),
            links: Arc::default(),
        }
    }

    /// Counts one tar entry.
    pub(crate) fn count_entry(&self) -> io::Result<()> {
        let limit = self.limits.entries;
        if add(&self.entries, 1) > limit { Err(Exceeded::Entries { limit }.into()) } else { Ok(()) }
    }

    /// Counts a name, a link target or a digest that is kept.
    pub(crate) fn count_name(&self, name: &[u8]) -> io::Result<()> {
        let limit = self.limits.names;
        if add(&self.kept, OVERHEAD + name.len() as u64) > limit {
            return Err(Exceeded::Names { limit }.into());
        }
        Ok(())
    }

    /// Counts the first `bytes` of the input file `name`. Reading them again does not raise the
    /// allowed amount.
    pub(crate) fn add_input(&self, name: &str, bytes: u64) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = opened.entry(name.to_owned()).or_default();
        add(&self.input, bytes.saturating_sub(*counted));
        *counted = bytes.max(*counted);
    }

    /// Counts bytes that are read, or work that takes as long as reading them.
    pub(crate) fn count_read(&self, bytes: u64) -> io::Result<()> {
        let Limits { unpacked, ratio, ratio_from, .. } = self.limits;
        let read = add(&self.read, bytes);
        if read > unpacked {
            return Err(Exceeded::Unpacked { limit: unpacked }.into());
        }
        if read > self.input.load(Ordering::Relaxed).saturating_mul(ratio).max(ratio_from) {
            return Err(Exceeded::Ratio { limit: ratio }.into());
        }
        Ok(())
    }
}

/// Adds to a count, and returns the sum. Nothing else depends on the order of the additions.
fn add(count: &AtomicU64, more: u64) -> u64 {
    let sum = |count: u64| Some(count.saturating_add(more));
    let before = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, sum);
    before.unwrap_or_else(|count| count).saturating_add(more)
}

/// A reader that counts the bytes that it reads in the budget.
pub(crate) struct Metered<'a, R> {
    inner: R,
    budget: &'a Budget,
}

impl<'a, R> Metered<'a, R> {
    pub(crate) fn new(inner: R, budget: &'a Budget) -> Self {
        Self { inner, budget }
    }
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.budget.count_read(n as u64)?;
        Ok(n)
    }
}

/// A reader that counts the bytes of the input file `name` when they arrive, because the announced
/// size is untrusted.
pub(crate) struct Received<'a, R> {
    inner: R,
    budget: &'a Budget,
    name: String,
    count: u64,
}

impl<'a, R> Received<'a, R> {
    pub(crate) fn new(inner: R, name: String, budget: &'a Budget) -> Self {
        Self { inner, budget, name, count: 0 }
    }
}

impl<R: Read> Read for Received<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.count += n as u64;
        self.budget.add_input(&self.name, self.count);
        self.budget.count_read(n as u64)?;
        Ok(n)
    }
}

impl<R: Seek> Seek for Metered<'_, R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
