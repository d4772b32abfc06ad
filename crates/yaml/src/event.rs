//! Events of the first document, from whatever parser stands behind them.
//!
//! Everything that knows libyaml-safer is in [`library`]: a faster parser takes its place there.

mod library;

use std::panic::AssertUnwindSafe;

use super::source::Source;
use super::{Error, Reader, panic};

/// A step through the first document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) data: Data,
    /// The line it begins at, from 1.
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
    /// The end of the document, and where what follows it begins, in bytes of the text.
    DocumentEnd {
        at: usize,
    },
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) anchor: Option<String>,
    /// Resolved, without a handle.
    pub(super) tag: Option<String>,
    pub(super) value: String,
    /// Plain and untagged, or tagged `!`: go-yaml's `implicit`.
    pub(super) implicit: bool,
}

/// A parser at work.
trait Parser {
    /// The next event.
    fn next(&mut self) -> Result<Event, Failure>;
}

/// Why a parser goes no further.
#[derive(Debug)]
enum Failure {
    Final(Error),
    /// Perhaps only a matter of dialect: what the parser said, and the byte where it stood.
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

/// Most places of a text that are patched, after each of which it is parsed again from its
/// beginning: no published file needs one. The work is counted like any other.
const PATCHES: usize = 16;

/// Gives `take` each event of the first document, the last being [`Data::DocumentEnd`]; without
/// any document it is the only one. `begin` makes what collects them, anew for each attempt.
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

/// Runs a parser to the end of the document; its panics become errors.
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
