//! Implements [`Parser`] with libyaml-safer.

use std::collections::VecDeque;

use libyaml_safer::{EventData, MappingStyle, ScalarStyle, SequenceStyle};

use super::{Data, Event, Failure, Parser, Scalar};
use crate::{
    Error, Reader,
    depth::{Depth, Opened},
    source::{Pieces, Source, is_break},
};

pub(super) struct Library<'r, 's> {
    parser: libyaml_safer::Parser<&'r mut Pieces<'s>>,
    source: &'s Source<'s>,
    reader: &'s Reader,
    depth: Depth,
    /// Whether an event was returned.
    begun: bool,
    /// The events that are parsed, but not yet returned.
    held: VecDeque<Event>,
}

/// The maximum number of `%` lines before the first document. The library compares each `%TAG` with
/// all others, and each tag with each `%TAG`.
const MAX_DIRECTIVES: usize = 64;

/// The maximum length of such a line, in bytes. The prefix of a `%TAG` is copied into each tag that
/// uses it.
const MAX_DIRECTIVE: usize = 256;

impl<'r, 's> Library<'r, 's> {
    pub(super) fn new(
        source: &'s Source<'s>,
        pieces: &'r mut Pieces<'s>,
        reader: &'s Reader,
    ) -> Result<Self, Failure> {
        check_directives(source.text())?;
        let mut parser = libyaml_safer::Parser::new();
        parser.set_encoding(libyaml_safer::Encoding::Utf8);
        parser.set_input(pieces);
        let depth = Depth::new(reader.limits().depth);
        Ok(Self { parser, source, reader, depth, begun: false, held: VecDeque::new() })
    }

    /// Converts an event of the library. Returns `None` if the event is not needed.
    fn convert(
        &mut self,
        data: EventData,
        span: (usize, usize),
        line: u64,
    ) -> Result<Option<Data>, Error> {
        Ok(Some(match data {
            EventData::StreamStart { .. } => return Ok(None),
            EventData::DocumentStart { version_directive, .. } => {
                if version_directive.is_some_and(|version| version.minor != 1) {
                    let problem = "found incompatible YAML document, not of version 1.1";
                    return Err(Error::Syntax { line, problem: problem.to_owned() });
                }
                return Ok(None);
            }
            EventData::StreamEnd => Data::DocumentEnd { at: self.source.text().len() },
            EventData::DocumentEnd { implicit } => {
                Data::DocumentEnd { at: if implicit { span.0 } else { span.1 } }
            }
            EventData::Alias { anchor } => Data::Alias(anchor),
            EventData::Scalar { anchor, tag, value, plain_implicit: implicit, style, .. } => {
                let tag = tag.filter(|tag| !tag.is_empty());
                let mut scalar = Scalar { anchor, tag, value, implicit };
                self.adapt(&mut scalar, style, span, line)?;
                Data::Scalar(scalar)
            }
            EventData::SequenceStart { anchor, style, .. } => {
                // A sequence at the indentation of its key starts at its first dash. Other
                // sequences start at a token without width before the dash.
                let opened = match style {
                    SequenceStyle::Flow => Opened::Bracket,
                    _ if self.byte_before(span.1) == Some(b'-') => Opened::Unindented,
                    _ => Opened::Indented,
                };
                self.depth.enter(opened, line)?;
                Data::SequenceStart { anchor }
            }
            EventData::MappingStart { anchor, style, .. } => {
                // A single pair in a flow sequence is a mapping without brackets.
                let opened = match style {
                    MappingStyle::Flow if self.byte_before(span.1) == Some(b'{') => Opened::Bracket,
                    MappingStyle::Flow => Opened::Unindented,
                    _ => Opened::Indented,
                };
                self.depth.enter(opened, line)?;
                Data::MappingStart { anchor }
            }
            EventData::SequenceEnd | EventData::MappingEnd => {
                self.depth.leave();
                Data::End
            }
        }))
    }

    /// Changes a scalar to what Go reads.
    fn adapt(
        &self,
        scalar: &mut Scalar,
        style: ScalarStyle,
        (start, end): (usize, usize),
        line: u64,
    ) -> Result<(), Error> {
        let dialect = self.source.dialect();
        let problem = match style {
            ScalarStyle::Plain if self.depth.brackets() > 0 && scalar.value.contains('?') => {
                "found a ? within a plain scalar in a flow collection"
            }
            ScalarStyle::DoubleQuoted if dialect.escapes_slash(start, end) => {
                "found unknown escape character \\/"
            }
            _ => "",
        };
        if !problem.is_empty() {
            return Err(Error::Syntax { line, problem: problem.to_owned() });
        }
        if matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
            && let Some(terminator) = self.source.terminator()
            && end == self.source.text().len()
            && scalar.value.ends_with(terminator)
        {
            scalar.value.pop();
        }
        dialect.restore(&mut scalar.value, style == ScalarStyle::DoubleQuoted);
        Ok(())
    }

    /// Returns the next needed event, and its position in bytes.
    fn read(&mut self) -> Result<(Event, (usize, usize)), Failure> {
        loop {
            let event = self.parser.parse().map_err(|error| self.failure(&error))?;
            let line = event.start_mark.line + 1;
            let span = (place(event.start_mark.index), place(event.end_mark.index));
            self.reader.step(self.depth.brackets())?;
            if let Some(data) = self.convert(event.data, span, line)? {
                return Ok((Event { data, line }, span));
            }
        }
    }

    fn byte_before(&self, at: usize) -> Option<u8> {
        self.source.text().as_bytes().get(at.checked_sub(1)?).copied()
    }

    fn failure(&self, error: &libyaml_safer::Error) -> Failure {
        if let (Some(fault), libyaml_safer::ErrorKind::Io) = (self.source.fault(), error.kind()) {
            return Error::Encoding { line: fault.line, problem: fault.problem }.into();
        }
        let mark = error.problem_mark().unwrap_or_default();
        let mut problem = error.problem().to_owned();
        if let (Some(context), Some(mark)) = (error.context(), error.context_mark()) {
            problem = format!("{problem}, {context} that begins at line {}", mark.line + 1);
        }
        Failure::Dialect {
            error: Error::Syntax { line: mark.line + 1, problem },
            line: mark.line + 1,
            problem: error.problem(),
            context: error.context(),
            at: place(mark.index),
        }
    }
}

impl Parser for Library<'_, '_> {
    fn next(&mut self) -> Result<Event, Failure> {
        if let Some(event) = self.held.pop_front() {
            return Ok(event);
        }
        let (event, span) = self.read()?;
        let first = !std::mem::replace(&mut self.begun, true);
        let is_block = span.0 == span.1;
        if !first || !is_block || !matches!(event.data, Data::MappingStart { anchor: None }) {
            return Ok(event);
        }
        // In Go, an empty flow collection at the start of a document is not a key: in `{}: 1`, the
        // document is `{}`, and the rest is not read. The library starts a mapping there.
        let (key, key_span) = self.read()?;
        let is_flow = matches!(
            key.data,
            Data::SequenceStart { anchor: None } | Data::MappingStart { anchor: None }
        ) && key_span == (span.0, span.0 + 1);
        self.held.push_back(key);
        if !is_flow {
            return Ok(event);
        }
        let (next, next_span) = self.read()?;
        let line = next.line;
        let is_empty = next.data == Data::End;
        self.held.push_back(next);
        if !is_empty {
            return Ok(event);
        }
        self.held.push_back(Event { data: Data::DocumentEnd { at: next_span.1 }, line });
        self.next()
    }
}

fn place(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// Checks the lines before the first document, with the line breaks of the library.
fn check_directives(text: &str) -> Result<(), Error> {
    let mut n_directives = 0;
    for (at, line) in text.split(is_break).enumerate() {
        let problem = if !line.starts_with('%') {
            let line = line.trim_start_matches([' ', '\t']);
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            break;
        } else if line.len() > MAX_DIRECTIVE {
            "a directive of more than 256 bytes"
        } else if n_directives == MAX_DIRECTIVES {
            "more than 64 directives before the document"
        } else {
            n_directives += 1;
            continue;
        };
        return Err(Error::TooComplex { line: at as u64 + 1, problem });
    }
    Ok(())
}
