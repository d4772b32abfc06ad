//! How deep a document may nest, counted while it is parsed: go-yaml v2's rule.

use super::{Error, FLOW_DEPTH};

/// go-yaml counts flow collections and indentations each for itself (`max_flow_level`,
/// `max_indents`), with the same limit; ours for flow collections is [`FLOW_DEPTH`].
#[derive(Debug)]
pub(super) struct Depth {
    limit: usize,
    open: Vec<Opened>,
    brackets: usize,
    indents: usize,
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

impl Depth {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, open: Vec::new(), brackets: 0, indents: 0 }
    }

    pub(super) fn enter(&mut self, opened: Opened, line: u64) -> Result<(), Error> {
        match opened {
            Opened::Bracket => self.brackets += 1,
            Opened::Indented => self.indents += 1,
            Opened::Unindented => {}
        }
        self.open.push(opened);
        let flow = self.limit.min(FLOW_DEPTH);
        if self.brackets > flow {
            return Err(Error::TooDeep { line, limit: flow });
        }
        if self.indents > self.limit {
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

    /// The flow collections that are open.
    pub(super) fn brackets(&self) -> usize {
        self.brackets
    }
}
