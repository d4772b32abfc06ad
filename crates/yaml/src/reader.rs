//! [`Reader`]: reads the texts of one bundle within one budget.

use std::cell::Cell;

use super::{Document, Error, File, Limits, Outline, Scalars, Unstructured, stream};
use crate::json::{Builder, NodeId};

/// The work for each event of the parser, in units. Each byte and each open flow collection around
/// an event costs one more unit.
const EVENT: u64 = 24;

/// The bytes of JSON for documents with aliases that each byte of a stream adds to the budget. JSON
/// without aliases is rarely twice as large as its YAML.
const OUTPUT_FOR_BYTE: u64 = 2;

/// A reader of the texts of one bundle, or of the documents of one stream, with one budget.
///
/// [`Limits::work`], [`Limits::total_output`] and [`Limits::aliased`] apply to all texts of the
/// reader together, including those that fail. When one of them is exhausted, every further call
/// returns [`Error::Exhausted`]. Each byte of a stream ([`Documents`](super::Documents)) adds to
/// the budget, so that the size of a stream is not limited.
///
/// The functions of this crate with the same names have a separate budget for each call.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    /// Whether the library reads every text.
    #[cfg(feature = "block")]
    library_only: bool,
    work: Budget,
    output: Budget,
    aliased: Budget,
}

/// A part of the budget.
#[derive(Debug)]
struct Budget {
    used: Cell<u64>,
    limit: Cell<u64>,
    /// Its unit.
    what: &'static str,
}

impl Reader {
    /// Creates a reader with an unused budget.
    pub fn new(limits: &Limits) -> Self {
        Self {
            limits: limits.clone(),
            #[cfg(feature = "block")]
            library_only: false,
            work: Budget::new(limits.work, "units of work"),
            output: Budget::new(
                limits.total_output as u64,
                "bytes of JSON for documents with aliases",
            ),
            aliased: Budget::new(limits.aliased, "values for aliases"),
        }
    }

    /// Replaces the limits of each text by those of `limits`. The budget of all texts together, and
    /// what is left of it, stay as they are.
    #[must_use]
    pub fn with_limits_of_text(self, limits: &Limits) -> Self {
        Self { limits: limits.clone(), ..self }
    }

    /// Creates a reader that never uses the composer for the block style, as without the feature
    /// `block`. Only for comparisons: the results are the same.
    #[doc(hidden)]
    pub fn with_library_only(limits: &Limits) -> Self {
        Self {
            #[cfg(feature = "block")]
            library_only: true,
            ..Self::new(limits)
        }
    }

    /// Returns the used work in units. See [`Limits::work`].
    pub fn work(&self) -> u64 {
        self.work.used.get()
    }

    /// Checks that the budget is not exhausted.
    ///
    /// # Errors
    ///
    /// Returns an error if the budget is exhausted.
    pub fn check(&self) -> Result<(), Error> {
        self.spend(0)
    }

    /// Does the same as [`to_json`](super::to_json), within the budget.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`to_json`](super::to_json), and an error if the budget is exhausted.
    pub fn to_json(&self, text: &[u8]) -> Result<String, Error> {
        self.read(text, Scalars::Resolved).map(|document| document.tree.root().to_json())
    }

    /// Does the same as [`read`](super::read), within the budget.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read`](super::read), and an error if the budget is exhausted.
    pub fn read(&self, text: &[u8], scalars: Scalars) -> Result<Document, Error> {
        stream::read_whole(text, scalars, self)
    }

    /// Does the same as [`decode_unstructured`](super::decode_unstructured), within the budget.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`decode_unstructured`](super::decode_unstructured), and an error if
    /// the budget is exhausted.
    pub fn decode_unstructured(&self, text: &[u8]) -> Result<Unstructured, Error> {
        let mut file = self.read_file(text)?;
        let unread = file.unread.take();
        Ok(Unstructured { object: file.into_object()?, unread })
    }

    /// Reads a file once for both [`decode_unstructured`](super::decode_unstructured) and
    /// [`decode_document`](super::decode_document) with [`Scalars::Resolved`].
    ///
    /// # Errors
    ///
    /// Returns the errors of [`decode_document`](super::decode_document), and an error if the
    /// budget is exhausted.
    pub fn read_file(&self, text: &[u8]) -> Result<File, Error> {
        stream::read_file(text, self)
    }

    /// Does the same as [`read_file`](Self::read_file), but may keep only the parts of an object
    /// that are in `outline`. Everything is checked, counted and limited in the same way. A
    /// document that is not an object is always kept whole.
    ///
    /// ```
    /// use unlade_yaml::{Limits, Outline, Part, Reader};
    ///
    /// const OUTLINE: Outline = Outline::new(&[], &[Part::with("metadata", &[Part::whole("name")])]);
    ///
    /// let text = b"kind: A\nmetadata:\n  name: b\nspec:\n  c: d\n";
    /// let file = Reader::new(&Limits::default()).read_outlined_file(text, &OUTLINE)?;
    /// let object = file.into_object()?.unwrap();
    /// assert_eq!(object.root().get("metadata").unwrap().to_json(), r#"{"name":"b"}"#);
    /// # Ok::<(), unlade_yaml::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the errors of [`read_file`](Self::read_file).
    pub fn read_outlined_file(&self, text: &[u8], outline: &Outline) -> Result<File, Error> {
        stream::read_outlined_file(text, outline, self)
    }

    /// Does the same as [`decode_document`](super::decode_document), within the budget.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`decode_document`](super::decode_document), and an error if the
    /// budget is exhausted.
    pub fn decode_document(&self, text: &[u8], scalars: Scalars) -> Result<Unstructured, Error> {
        stream::read_first(text, scalars, self)
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Starts to read a text: checks its size, and counts its work.
    pub(super) fn begin(&self, text: &[u8]) -> Result<(), Error> {
        let limit = self.limits.input.min(super::MAX_INPUT);
        if text.len() > limit {
            return Err(Error::TooLarge { what: "the text", limit });
        }
        self.spend(text.len() as u64)
    }

    /// Counts an event of the parser, with the number of open flow collections.
    pub(super) fn step(&self, brackets: usize) -> Result<(), Error> {
        self.spend(EVENT + brackets as u64)
    }

    /// Counts units of work.
    pub(super) fn spend(&self, work: u64) -> Result<(), Error> {
        self.work.spend(work)
    }

    /// Counts the values that an alias adds.
    pub(super) fn spend_aliased(&self, n_values: u64) -> Result<(), Error> {
        self.aliased.spend(n_values)
    }

    /// Adds to the budget what `n_bytes` of a stream allow. [`Documents`](super::Documents) does so
    /// for each document.
    pub fn grow(&self, n_bytes: usize) {
        self.work.grow(n_bytes as u64 * self.limits.stream_work / 1024);
        self.output.grow(n_bytes as u64 * OUTPUT_FOR_BYTE);
    }

    /// Returns an error if the JSON of a document is too large. `shared` is whether any value
    /// occurs in more than one place.
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
        self.output.spend(if shared { bytes } else { 0 })
    }
}

#[cfg(feature = "block")]
impl Reader {
    pub(super) fn is_library_only(&self) -> bool {
        self.library_only
    }

    /// Sets the used work to an earlier value, because a text is read again from its start.
    pub(super) fn rewind(&self, work: u64) {
        self.work.used.set(work);
    }

    /// Counts events that were not counted with [`step`](Self::step). Counts nothing and returns
    /// false if the budget does not allow them.
    pub(super) fn spend_events(&self, n_events: u64, in_flow: u64) -> bool {
        let work = n_events * EVENT + in_flow;
        let is_within = self.work().saturating_add(work) <= self.work.limit.get();
        is_within && self.spend(work).is_ok()
    }
}

impl Budget {
    fn new(limit: u64, what: &'static str) -> Self {
        Self { used: Cell::new(0), limit: Cell::new(limit), what }
    }

    /// Raises the limit, unless it is exceeded: the parser looks ahead up to 1024 bytes before it
    /// returns an event, so even a document that fails at its first event takes time.
    fn grow(&self, more: u64) {
        if self.used.get() <= self.limit.get() {
            self.limit.set(self.limit.get().saturating_add(more));
        }
    }

    fn spend(&self, more: u64) -> Result<(), Error> {
        let (used, limit) = (self.used.get().saturating_add(more), self.limit.get());
        self.used.set(used);
        if used > limit { Err(Error::Exhausted { what: self.what, limit }) } else { Ok(()) }
    }
}
