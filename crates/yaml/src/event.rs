//! Parses the events of the first document, independently of the parser library.
//!
//! Only [`library`] depends on libyaml-safer, so that another parser can replace it.

mod library;

use std::panic::AssertUnwindSafe;

use super::source::Source;
use super::{Error, Reader, panic};

/// An event of the first document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) data: Data,
    /// The line where it starts, counted from 1.
    pub(super) line: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Data {
    Alias(String),
    Scalar(Scalar),
    SequenceStart {
        anchor: Option<String>,
    },
    MappingStart {
        anchor: Option<String>,
    },
    /// The end of the innermost sequence or mapping.
    End,
    /// The end of the document, and its position in the text, in bytes.
    DocumentEnd {
        at: usize,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) anchor: Option<String>,
    /// The resolved tag, without a handle.
    pub(super) tag: Option<String>,
    pub(super) value: String,
    /// Whether the scalar is plain and untagged, or tagged `!` (`implicit` of go-yaml).
    pub(super) implicit: bool,
}

/// A parser of events.
trait Parser {
    /// Returns the next event.
    fn next(&mut self) -> Result<Event, Failure>;
}

/// The reason why a parser failed.
#[derive(Debug)]
enum Failure {
    Final(Error),
    /// Possibly a difference of dialects: the message of the parser, and its position in bytes.
    Dialect {
        error: Error,
        line: u64,
        problem: &'static str,
        context: Option<&'static str>,
        at: usize,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

/// The maximum number of patched places in a text. After each patch, the text is parsed again from
/// its start, which counts as work. No published file needs a patch.
const PATCHES: usize = 16;

/// Calls `take` with each event of the first document. The last event is [`Data::DocumentEnd`]. It
/// is the only one if the text contains no document. `begin` creates the collector of the events
/// for each attempt.
pub(super) fn parse<T>(
    source: &mut Source<'_>,
    reader: &Reader,
    begin: impl Fn() -> T,
    take: impl Fn(&mut T, Event) -> Result<(), Error>,
) -> Result<T, Error> {
    let mut n_patches = 0;
    loop {
        let mut taker = begin();
        let mut pieces = source.pieces();
        let attempt = library::Library::new(source, &mut pieces, reader)
            .and_then(|parser| run(parser, |event| take(&mut taker, event)));
        let (error, line, problem, context, at) = match attempt {
            Ok(()) => return Ok(taker),
            Err(Failure::Final(error)) => return Err(error),
            Err(Failure::Dialect { error, line, problem, context, at }) => {
                (error, line, problem, context, at)
            }
        };
        drop(taker);
        reader.spend(lookahead(source.text(), at))?;
        if !source.patch(problem, context, at) {
            return Err(error);
        }
        if n_patches == PATCHES {
            let problem = "more than 16 places where YAML 1.2 and Go differ";
            return Err(Error::TooComplex { line, problem });
        }
        n_patches += 1;
        reader.spend(at as u64)?;
    }
}

/// Returns the work for the tokens before a failure at `at` that have not become events: the parser
/// reads up to 1024 bytes until it knows that a collection is not a key, and visits all open ones
/// at each token, which may have two bytes. Closing brackets do not count, because they may be in a
/// comment.
fn lookahead(text: &str, at: usize) -> u64 {
    let before = text.as_bytes().get(..at).unwrap_or(text.as_bytes());
    let n_open = before.iter().filter(|byte| matches!(byte, b'[' | b'{')).count();
    (before.len().min(1024) * n_open.min(super::FLOW_DEPTH) / 2) as u64
}

/// Runs a parser to the end of the document. Panics become errors.
fn run(
    mut parser: impl Parser,
    mut take: impl FnMut(Event) -> Result<(), Error>,
) -> Result<(), Failure> {
    let run = AssertUnwindSafe(|| {
        loop {
            let event = parser.next()?;
            let end = matches!(event.data, Data::DocumentEnd { .. });
            take(event)?;
            if end {
                return Ok(());
            }
        }
    });
    panic::catch(run).unwrap_or_else(|payload| {
        Err(Error::Parser { problem: panic::message(payload.as_ref()).to_owned() }.into())
    })
}

#[cfg(test)]
mod tests;
