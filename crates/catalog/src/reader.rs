//! [`FileReader`]: reads the files of one catalog, with one limit for the records of all of them.

use std::{
    io::Read,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::{File, Limits, Meta, Place};

/// The memory that a caller needs for each meta in addition to the names, such as for its place in
/// an order, in bytes.
const META: usize = 200;

/// A reader for the files of one catalog. Several threads can share it. [`Limits::records`] applies
/// to all files together.
#[derive(Debug)]
pub struct FileReader<'l> {
    limits: &'l Limits,
    /// The memory of the metas and records so far, in bytes.
    memory: AtomicUsize,
}

impl<'l> FileReader<'l> {
    /// Creates a reader for one catalog.
    pub fn new(limits: &'l Limits) -> Self {
        Self { limits, memory: AtomicUsize::new(0) }
    }

    /// Reads a file as [`File::read`] does.
    pub fn read(&self, path: impl Into<Arc<str>>, input: impl Read) -> File {
        self.read_with(path, input, |_, _| {})
    }

    /// Reads a file as [`File::read_each`] does.
    pub fn read_each(
        &self,
        path: impl Into<Arc<str>>,
        input: impl Read,
        visit: impl FnMut(Meta, &Place),
    ) -> File {
        File::walk(&path.into(), input, self, false, visit)
    }

    /// Reads a file as [`read`](Self::read) does, and calls `visit` as
    /// [`read_each`](Self::read_each) does.
    pub fn read_with(
        &self,
        path: impl Into<Arc<str>>,
        input: impl Read,
        visit: impl FnMut(Meta, &Place),
    ) -> File {
        File::walk(&path.into(), input, self, true, visit)
    }

    /// Checks whether metas and records need more memory than [`Limits::records`]. If they do, some
    /// files were not read completely. Which ones depends on the timing of the threads.
    pub fn is_full(&self) -> bool {
        self.memory.load(Ordering::Relaxed) > self.limits.records
    }

    pub(crate) fn limits(&self) -> &'l Limits {
        self.limits
    }

    /// Counts the memory of a meta and its record, in bytes. Returns false if the sum exceeds
    /// [`Limits::records`].
    pub(crate) fn count_meta(&self, meta: &Meta, record_memory: usize) -> bool {
        let Meta { schema, package, name, .. } = meta;
        let names = [schema, package, name].map(String::len).iter().sum::<usize>();
        self.memory.fetch_add(META + names + record_memory, Ordering::Relaxed);
        !self.is_full()
    }
}
