//! How deep a document may nest, counted while it is parsed: go-yaml v2's rule.

use super::Error;

/// go-yaml counts flow collections and indentations each for itself (`max_flow_level`,
/// `max_indents`).
#[derive(Debug)]
pub(super) struct Depth {
    limit: usize,
    open: Vec<Opened>,
    brackets: usize,
    indents: usize,
    /// Work that the library has with flow collections: it looks at all open ones at each token.
    work: u64,
    events: u64,
}

/// What a collection opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    /// `[` or `{`
    Bracket,
    /// A deeper indentation.
    Indented,
    /// Neither: a sequence at the indentation of its key, a single pair in a flow sequence. Go
    /// does not count these.
    Unindented,
}

/// Work that any document may make: 10,000 mappings within each other make 1.5 * 10^8.
const FREE_WORK: u64 = 200_000_000;
/// Work for each event beyond that: more than 64 brackets around all of a large document is no
/// real one, and would take the library time that grows with the square of its size.
const WORK_PER_EVENT: u64 = 64;

impl Depth {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, open: Vec::new(), brackets: 0, indents: 0, work: 0, events: 0 }
    }

    /// Counts an event.
    pub(super) fn step(&mut self, line: u64) -> Result<(), Error> {
        self.events += 1;
        self.work += self.brackets as u64;
        if self.work > FREE_WORK + self.events * WORK_PER_EVENT {
            let problem = "too much within too many flow collections";
            return Err(Error::TooComplex { line, problem });
        }
        Ok(())
    }

    pub(super) fn enter(&mut self, opened: Opened, line: u64) -> Result<(), Error> {
        match opened {
            Opened::Bracket => self.brackets += 1,
            Opened::Indented => self.indents += 1,
            Opened::Unindented => {}
        }
        self.open.push(opened);
        if self.brackets > self.limit || self.indents > self.limit {
            return Err(Error::TooDeep { line, limit: self.limit });
        }
        Ok(())
    }

    /// Counts the end of the innermost collection.
    pub(super) fn leave(&mut self) {
        match self.open.pop() {
            Some(Opened::Bracket) => self.brackets -= 1,
            Some(Opened::Indented) => self.indents -= 1,
            Some(Opened::Unindented) | None => {}
        }
    }

    pub(super) fn in_brackets(&self) -> bool {
        self.brackets > 0
    }
}
