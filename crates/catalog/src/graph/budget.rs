//! [`Budget`]: limits the work for graphs and for comparisons with ranges.

use unlade_bundle::version::{Range, Version};

use super::draw::DrawError;

/// The maximum number of edges. A range of versions stands for an edge from each entry in it, so
/// the number can grow with the square of the number of entries.
pub const MAX_EDGES: usize = 200_000;

/// The maximum size of the names and ranges in the text of the graphs, in bytes, as they are
/// escaped. Each edge repeats names or a range, which can be long, and an escaped character is up
/// to seven times as long.
pub const MAX_TEXT: usize = 16 << 20;

/// The maximum work for the comparisons of versions with ranges, and for the choices of entries. A
/// comparison counts as 64 plus [`Range::cost`].
pub const MAX_WORK: usize = 2 << 30;

/// The work of a comparison with the shortest range.
const MIN_WORK: usize = 64;

/// What may still be done.
pub(crate) struct Budget {
    edges: Counter,
    text: Counter,
    work: Counter,
}

#[derive(Clone)]
struct Counter {
    used: usize,
    limit: usize,
}

impl Budget {
    pub(super) fn new(edges: usize, text: usize, work: usize) -> Self {
        let counter = |limit| Counter { used: 0, limit };
        Self { edges: counter(edges), text: counter(text), work: counter(work) }
    }

    pub(super) fn add_edge(&mut self) -> Result<(), DrawError> {
        self.edges.add(1, |limit| DrawError::Edges { limit })
    }

    /// Returns an error if `number` more edges would exceed the limit.
    pub(super) fn check_edges(&self, number: usize) -> Result<(), DrawError> {
        self.edges.clone().add(number, |limit| DrawError::Edges { limit })
    }

    pub(super) fn add_text(&mut self, size: usize) -> Result<(), DrawError> {
        self.text.add(size, |limit| DrawError::Text { limit })
    }

    pub(crate) fn add_work(&mut self, work: usize) -> Result<(), DrawError> {
        self.work.add(work, |limit| DrawError::Work { limit })
    }

    /// Adds the work of comparing a number of versions with a range.
    pub(crate) fn add_comparisons(
        &mut self,
        range: &Range,
        number: usize,
    ) -> Result<(), DrawError> {
        self.add_work(range.cost().saturating_add(MIN_WORK).saturating_mul(number))
    }

    /// Returns, for each version, whether it is in the range `text`. Returns an empty list for an
    /// invalid range, which contains no version: every entry can have one.
    pub(crate) fn compare<'v>(
        &mut self,
        text: &str,
        versions: impl ExactSizeIterator<Item = &'v Version>,
    ) -> Result<Vec<bool>, DrawError> {
        let Ok(range) = text.parse::<Range>() else { return Ok(Vec::new()) };
        self.add_comparisons(&range, versions.len())?;
        Ok(versions.map(|version| range.matches(version)).collect())
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(MAX_EDGES, MAX_TEXT, MAX_WORK)
    }
}

impl Counter {
    fn add(&mut self, number: usize, error: impl Fn(usize) -> DrawError) -> Result<(), DrawError> {
        self.used = self.used.saturating_add(number);
        if self.used > self.limit { Err(error(self.limit)) } else { Ok(()) }
    }
}
