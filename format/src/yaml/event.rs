//! Events of the first document, from whatever parser stands behind them.
//!
//! Everything that knows libyaml-safer is in this file: a faster parser takes its place here.

use std::panic::{AssertUnwindSafe, catch_unwind};

use libyaml_safer::{EventData, MappingStyle, ScalarStyle, SequenceStyle};

use super::source::{Pieces, Source};
use super::{Error, panic};

/// A step through the first document.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) data: Data,
    /// The line it begins at, from 1.
    pub(super) line: u64,
    /// Levels of flow collections (`[`, `{`) that the parser has open.
    pub(super) flow: Flow,
}

/// What an event says of flow collections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    /// Opens one.
    Bracket,
    /// Opens the mapping of a single pair in a flow sequence, which has no bracket of its own.
    Pair,
    /// Opens a block collection that is indented deeper than what is around it.
    Indented,
    /// Opens a block sequence at the indentation of its key.
    Indentless,
    /// Opens nothing.
    None,
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
    /// Resolved, without a handle; the empty tag counts as none.
    pub(super) tag: Option<String>,
    pub(super) value: String,
    /// Plain and untagged, or tagged `!`: go-yaml's `implicit`.
    pub(super) implicit: bool,
}

/// Gives `take` each event of the first document, the last being [`Data::DocumentEnd`]. Without
/// any document it is the only one.
pub(super) fn parse(
    source: &Source<'_>,
    mut take: impl FnMut(Event) -> Result<(), Error>,
) -> Result<(), Error> {
    check_directives(source.text())?;
    let run = AssertUnwindSafe(|| {
        let mut pieces = source.pieces();
        let mut parser = Parser::new(source, &mut pieces);
        loop {
            let event = parser.next()?;
            let end = matches!(event.data, Data::DocumentEnd { .. });
            take(event)?;
            if end {
                return Ok(());
            }
        }
    });
    panic::quietly(|| catch_unwind(run)).unwrap_or_else(|payload| {
        Err(Error::Parser { problem: panic::message(payload.as_ref()).to_owned() })
    })
}

/// Most `%` lines before the first document: the library compares each `%TAG` with all others, and
/// each tag with each of them.
const MAX_DIRECTIVES: usize = 64;

struct Parser<'r, 's> {
    parser: libyaml_safer::Parser<&'r mut Pieces<'s>>,
    source: &'s Source<'s>,
}

impl<'r, 's> Parser<'r, 's> {
    fn new(source: &'s Source<'s>, pieces: &'r mut Pieces<'s>) -> Self {
        let mut parser = libyaml_safer::Parser::new();
        parser.set_encoding(libyaml_safer::Encoding::Utf8);
        parser.set_input(pieces);
        Self { parser, source }
    }

    fn next(&mut self) -> Result<Event, Error> {
        loop {
            let event = self.parser.parse().map_err(|error| self.explain(&error))?;
            let line = event.start_mark.line + 1;
            let end = usize::try_from(event.end_mark.index).unwrap_or(usize::MAX);
            let start = usize::try_from(event.start_mark.index).unwrap_or(usize::MAX);
            let mut flow = Flow::None;
            let data = match event.data {
                EventData::StreamStart { .. } => continue,
                EventData::DocumentStart { version_directive, .. } => {
                    if version_directive.is_some_and(|version| version.minor != 1) {
                        let problem = "found incompatible YAML document (only 1.1 is)".to_owned();
                        return Err(Error::Syntax { line, problem });
                    }
                    continue;
                }
                EventData::StreamEnd => Data::DocumentEnd { at: self.source.text().len() },
                EventData::DocumentEnd { implicit } => {
                    Data::DocumentEnd { at: if implicit { start } else { end } }
                }
                EventData::Alias { anchor } => Data::Alias(anchor),
                EventData::Scalar { anchor, tag, value, plain_implicit, style, .. } => {
                    Data::Scalar(self.scalar(
                        anchor,
                        tag,
                        value,
                        plain_implicit,
                        style,
                        (start, end),
                        line,
                    )?)
                }
                EventData::SequenceStart { anchor, style, .. } => {
                    flow = match style {
                        SequenceStyle::Flow => Flow::Bracket,
                        _ if self.byte_before(end) == Some(b'-') && end > start => Flow::Indentless,
                        _ => Flow::Indented,
                    };
                    Data::SequenceStart { anchor }
                }
                EventData::MappingStart { anchor, style, .. } => {
                    flow = match style {
                        MappingStyle::Flow if self.byte_before(end) == Some(b'{') => Flow::Bracket,
                        MappingStyle::Flow => Flow::Pair,
                        _ => Flow::Indented,
                    };
                    Data::MappingStart { anchor }
                }
                EventData::SequenceEnd | EventData::MappingEnd => Data::End,
            };
            return Ok(Event { data, line, flow });
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of the library's event")]
    fn scalar(
        &self,
        anchor: Option<String>,
        tag: Option<String>,
        mut value: String,
        implicit: bool,
        style: ScalarStyle,
        (start, end): (usize, usize),
        line: u64,
    ) -> Result<Scalar, Error> {
        match style {
            ScalarStyle::Literal | ScalarStyle::Folded => {
                if let Some(terminator) = self.source.terminator()
                    && end == self.source.text().len()
                    && value.ends_with(terminator)
                {
                    value.pop();
                }
            }
            ScalarStyle::DoubleQuoted => {
                let written = self.source.text().get(start..end).unwrap_or("");
                if escapes_slash(written) {
                    let problem = "found unknown escape character \\/".to_owned();
                    return Err(Error::Syntax { line, problem });
                }
            }
            _ => {}
        }
        let tag = tag.filter(|tag| !tag.is_empty());
        Ok(Scalar { anchor, tag, value, implicit })
    }

    fn byte_before(&self, at: usize) -> Option<u8> {
        self.source.text().as_bytes().get(at.checked_sub(1)?).copied()
    }

    fn explain(&self, error: &libyaml_safer::Error) -> Error {
        if let (Some(fault), libyaml_safer::ErrorKind::Io) = (self.source.fault(), error.kind()) {
            return Error::Encoding { line: fault.line, problem: fault.problem };
        }
        let line = error.problem_mark().map_or(0, |mark| mark.line + 1);
        let mut problem = error.problem().to_owned();
        if let (Some(context), Some(mark)) = (error.context(), error.context_mark()) {
            problem = format!("{problem}, {context} that begins in line {}", mark.line + 1);
        }
        Error::Syntax { line, problem }
    }
}

/// Whether a double-quoted scalar holds `\/`: YAML 1.2 and the library know that escape, Go does
/// not.
fn escapes_slash(written: &str) -> bool {
    if !written.contains("\\/") {
        return false;
    }
    let mut bytes = written.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && bytes.next() == Some(b'/') {
            return true;
        }
    }
    false
}

fn check_directives(text: &str) -> Result<(), Error> {
    let mut n_directives = 0;
    for (at, line) in text.lines().enumerate() {
        if line.starts_with('%') {
            n_directives += 1;
            if n_directives > MAX_DIRECTIVES {
                let problem = "more than 64 directives before the document";
                return Err(Error::TooComplex { line: at as u64 + 1, problem });
            }
        } else if !(line.trim_start().is_empty() || line.trim_start().starts_with('#')) {
            break;
        }
    }
    Ok(())
}
