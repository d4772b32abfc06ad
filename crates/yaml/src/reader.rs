//! [`Reader`]: the texts of one bundle, and what reading all of them may cost.

use std::cell::Cell;

use super::{Document, Error, File, Limits, Scalars, Unstructured, stream};
use crate::json::{Builder, NodeId};

/// Work for each event of the parser, beside one unit for each byte and one for each flow
/// collection that is open.
const EVENT: u64 = 24;

/// Reads the texts of one bundle within one budget: [`Limits::work`] and [`Limits::total_output`]
/// count over all texts that one reader reads, failed attempts included. When either is used up,
/// every further call is an [`Error::Exhausted`].
///
/// The functions of this module have the same names, and a budget for each call.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    work: Cell<u64>,
    output: Cell<u64>,
}

impl Reader {
    /// A reader with an unused budget.
    pub fn new(limits: &Limits) -> Self {
        Self { limits: limits.clone(), work: Cell::new(0), output: Cell::new(0) }
    }

    /// The units of work that are used: see [`Limits::work`].
    pub fn work(&self) -> u64 {
        self.work.get()
    }

    /// Whether there is something left of the budget.
    ///
    /// # Errors
    ///
    /// If there is not.
    pub fn check(&self) -> Result<(), Error> {
        self.spend(0)
    }

    /// As [`to_json`](super::to_json).
    ///
    /// # Errors
    ///
    /// As [`to_json`](super::to_json), and if the budget is used up.
    pub fn to_json(&self, text: &[u8]) -> Result<String, Error> {
        self.read(text, Scalars::Resolved).map(|document| document.tree.root().to_json())
    }

    /// As [`read`](super::read).
    ///
    /// # Errors
    ///
    /// As [`to_json`](super::to_json), and if the budget is used up.
    pub fn read(&self, text: &[u8], scalars: Scalars) -> Result<Document, Error> {
        stream::whole(text, scalars, self)
    }

    /// As [`decode_unstructured`](super::decode_unstructured).
    ///
    /// # Errors
    ///
    /// As [`decode_unstructured`](super::decode_unstructured), and if the budget is used up.
    pub fn decode_unstructured(&self, text: &[u8]) -> Result<Unstructured, Error> {
        let mut file = self.file(text)?;
        let unread = file.unread.take();
        Ok(Unstructured { object: file.into_object()?, unread })
    }

    /// Reads a file once for both [`decode_unstructured`](super::decode_unstructured) and
    /// [`decode_document`](super::decode_document) with [`Scalars::Resolved`].
    ///
    /// # Errors
    ///
    /// As [`decode_document`](super::decode_document), and if the budget is used up.
    pub fn file(&self, text: &[u8]) -> Result<File, Error> {
        stream::file(text, self)
    }

    /// As [`decode_document`](super::decode_document).
    ///
    /// # Errors
    ///
    /// As [`decode_document`](super::decode_document), and if the budget is used up.
    pub fn decode_document(&self, text: &[u8], scalars: Scalars) -> Result<Unstructured, Error> {
        stream::first(text, scalars, self)
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Takes a text on.
    pub(super) fn begin(&self, text: &[u8]) -> Result<(), Error> {
        let limit = self.limits.input.min(super::MAX_INPUT);
        if text.len() > limit {
            return Err(Error::TooLarge { what: "the text", limit });
        }
        self.spend(text.len() as u64)
    }

    /// Counts an event of the parser within so many open flow collections.
    pub(super) fn step(&self, brackets: usize) -> Result<(), Error> {
        self.spend(EVENT + brackets as u64)
    }

    /// Counts units of work.
    pub(super) fn spend(&self, work: u64) -> Result<(), Error> {
        spend(&self.work, work, self.limits.work, "units of work")
    }

    /// Refuses a document that becomes too much JSON; `shared` says whether one of its values
    /// stands in more than one place.
    pub(super) fn check_output(
        &self,
        builder: &Builder,
        root: NodeId,
        shared: bool,
    ) -> Result<(), Error> {
        let limit = self.limits.output;
        if !shared && builder.unshared_bound() <= limit as u64 {
            return Ok(());
        }
        let bytes = builder.weight(root).bytes;
        if bytes > limit as u64 {
            return Err(Error::TooLarge { what: "the JSON", limit });
        }
        let limit = self.limits.total_output as u64;
        spend(&self.output, if shared { bytes } else { 0 }, limit, "bytes of JSON through aliases")
    }
}

fn spend(counter: &Cell<u64>, more: u64, limit: u64, what: &'static str) -> Result<(), Error> {
    let used = counter.get().saturating_add(more);
    counter.set(used);
    if used > limit { Err(Error::Exhausted { what, limit }) } else { Ok(()) }
}
