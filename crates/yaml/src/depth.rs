//! Limits the nesting of a document while it is parsed, with the rule of go-yaml v2.

use super::{Error, FLOW_DEPTH};

/// Counts the open collections. go-yaml counts flow collections and indentations separately
/// (`max_flow_level`, `max_indents`), with the same limit. The limit for flow collections here is
/// [`FLOW_DEPTH`].
#[derive(Debug)]
pub(super) struct Depth {
    limit: usize,
    open: Vec<Opened>,
    brackets: usize,
    indents: usize,
}

/// How a collection is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opened {
    /// `[` or `{`
    Bracket,
    /// A deeper indentation.
    Indented,
    /// Neither: a sequence at the indentation of its key, or a single pair in a flow sequence. Go
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

    /// Returns the number of open flow collections.
    pub(super) fn brackets(&self) -> usize {
        self.brackets
    }
}
