//! The error of the YAML reader.

/// An error that prevents a text from being read. Lines are counted from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not YAML, or its value cannot be expressed in JSON.
    #[error("line {line}: {problem}")]
    Syntax {
        /// The line of the error.
        line: u64,
        /// The problem.
        problem: String,
    },
    /// The bytes are not valid text for YAML.
    #[error("line {line}: {problem}")]
    Encoding {
        /// The line of the invalid bytes.
        line: u64,
        /// The problem.
        problem: &'static str,
    },
    /// The document is nested too deeply.
    #[error("{}the document is nested more than {limit} levels deep", line_prefix(*.line))]
    TooDeep {
        /// The line where the limit is exceeded. 0 if it is not a single line.
        line: u64,
        /// [`Limits::depth`](super::Limits::depth), or the limit of Go.
        limit: usize,
    },
    /// Aliases expand to too many values, according to Go's rule.
    #[error("line {line}: document contains excessive aliasing")]
    Aliasing {
        /// The line where the limit is exceeded.
        line: u64,
    },
    /// The text, its document in memory, or its JSON is too large.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// [`Limits::input`](super::Limits::input), [`Limits::tree`](super::Limits::tree) or
        /// [`Limits::output`](super::Limits::output).
        limit: usize,
    },
    /// The text is too complex: the parser would need too much time for it.
    #[error("line {line}: {problem}")]
    TooComplex {
        /// The line where the limit is exceeded.
        line: u64,
        /// The problem.
        problem: &'static str,
    },
    /// The budget of a [`Reader`](super::Reader) is exhausted.
    #[error("reading the texts needs more than {limit} {what}")]
    Exhausted {
        /// The unit of the limit.
        what: &'static str,
        /// [`Limits::work`](super::Limits::work),
        /// [`Limits::total_output`](super::Limits::total_output) or
        /// [`Limits::aliased`](super::Limits::aliased), and what the bytes of a stream add.
        limit: u64,
    },
    /// The file is empty, but an object or a document is required.
    #[error("the file is empty")]
    Empty,
    /// The first document is not a mapping.
    #[error("the first document is {found}, not an object")]
    NotAnObject {
        /// The kind of value that was found.
        found: &'static str,
    },
    /// The kind of the object is not a string or is empty, or its apiVersion is not valid.
    #[error("the object has no kind, or its apiVersion is invalid")]
    NoKind,
    /// The parser library panicked.
    #[error("the YAML parser failed: {problem}")]
    Parser {
        /// The message of the panic.
        problem: String,
    },
}

impl Error {
    /// Returns the line of the error, if it is a single line.
    pub fn line(&self) -> Option<u64> {
        match self {
            Self::Syntax { line, .. }
            | Self::Encoding { line, .. }
            | Self::TooDeep { line, .. }
            | Self::Aliasing { line }
            | Self::TooComplex { line, .. } => Some(*line).filter(|line| *line > 0),
            _ => None,
        }
    }

    /// Adds `lines` to the line of the error, if it has one.
    pub(super) fn below(mut self, lines: u64) -> Self {
        match &mut self {
            Self::Syntax { line, .. }
            | Self::Encoding { line, .. }
            | Self::TooDeep { line, .. }
            | Self::Aliasing { line }
            | Self::TooComplex { line, .. }
                if *line > 0 =>
            {
                *line += lines;
            }
            _ => {}
        }
        self
    }

    /// Checks whether one of the [`Limits`](super::Limits), or a limit of the parser, was exceeded.
    pub fn is_limit(&self) -> bool {
        matches!(
            self,
            Self::TooDeep { .. }
                | Self::TooLarge { .. }
                | Self::TooComplex { .. }
                | Self::Exhausted { .. }
        )
    }
}

pub(super) fn syntax(line: u64, problem: impl Into<String>) -> Error {
    Error::Syntax { line, problem: problem.into() }
}

/// Creates the error for a document whose tree is larger than `limit`.
pub(super) fn too_large(limit: usize) -> Error {
    Error::TooLarge { what: "the document in memory", limit }
}

/// Creates the error for a text that would be larger than `limit` when it is written.
pub(super) fn output_too_large(limit: usize) -> Error {
    Error::TooLarge { what: "the output", limit }
}

fn line_prefix(line: u64) -> String {
    if line == 0 { String::new() } else { format!("line {line}: ") }
}
