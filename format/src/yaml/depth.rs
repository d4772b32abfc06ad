//! How deep a document may nest, counted while it is parsed: go-yaml v2's rule.

use super::Error;
use super::event::Flow;

/// go-yaml counts flow collections and indentations each for itself (`max_flow_level`,
/// `max_indents`); a block sequence at the indentation of its key counts as neither.
#[derive(Debug)]
pub(super) struct Depth {
    limit: usize,
    open: Vec<Flow>,
    brackets: usize,
    indents: usize,
    /// Work that the library has with flow collections: it looks at all open ones at each token.
    work: u64,
    events: u64,
}

/// Work that any document may make: 10,000 brackets opened and closed make 10^8.
const FREE_WORK: u64 = 200_000_000;
/// Work for each event beyond that: more than 64 brackets around all of a large document is no
/// real one, and would take the library time that grows with the square of its size.
const WORK_PER_EVENT: u64 = 64;

impl Depth {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, open: Vec::new(), brackets: 0, indents: 0, work: 0, events: 0 }
    }

    /// Counts an event, and the collection if it begins one.
    pub(super) fn enter(&mut self, flow: Flow, line: u64) -> Result<(), Error> {
        self.events += 1;
        self.work += self.brackets as u64;
        if self.work > FREE_WORK + self.events * WORK_PER_EVENT {
            let problem = "too much within too many flow collections";
            return Err(Error::TooComplex { line, problem });
        }
        match flow {
            Flow::None => return Ok(()),
            Flow::Bracket => self.brackets += 1,
            Flow::Indented => self.indents += 1,
            Flow::Pair | Flow::Indentless => {}
        }
        self.open.push(flow);
        if self.brackets > self.limit || self.indents > self.limit {
            return Err(Error::TooDeep { line, limit: self.limit });
        }
        Ok(())
    }

    /// Counts the end of the innermost collection.
    pub(super) fn leave(&mut self) {
        match self.open.pop() {
            Some(Flow::Bracket) => self.brackets -= 1,
            Some(Flow::Indented) => self.indents -= 1,
            _ => {}
        }
    }
}
