//! Why a text is not read.

/// Why a text is not read. Lines count from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is no YAML, or YAML that has no meaning as JSON.
    #[error("line {line}: {problem}")]
    Syntax {
        /// Where; of the text or, after JSON was tried, of the JSON.
        line: u64,
        /// What was found.
        problem: String,
    },
    /// The bytes are not text that YAML allows.
    #[error("line {line}: {problem}")]
    Encoding {
        /// The line that holds the bytes.
        line: u64,
        /// What is wrong with them.
        problem: &'static str,
    },
    /// Nested too deep.
    #[error("{}nested deeper than {limit} levels", place(*.line))]
    TooDeep {
        /// Where the limit is passed; 0 if it is not one place.
        line: u64,
        /// [`Limits::depth`](super::Limits::depth), or Go's own.
        limit: usize,
    },
    /// Aliases make too much of too little: Go's rule.
    #[error("line {line}: document contains excessive aliasing")]
    Aliasing {
        /// Where the limit is passed.
        line: u64,
    },
    /// The text, or the JSON that it stands for, is too large.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge {
        /// The input or the output.
        what: &'static str,
        /// [`Limits::input`](super::Limits::input) or [`Limits::output`](super::Limits::output).
        limit: usize,
    },
    /// The text would take the parser too long, as no real document does.
    #[error("line {line}: {problem}")]
    TooComplex {
        /// Where the limit is passed.
        line: u64,
        /// What there is too much of.
        problem: &'static str,
    },
    /// The budget of a [`Reader`](super::Reader) is used up.
    #[error("the files of the bundle take more than {limit} {what}")]
    Exhausted {
        /// What is counted.
        what: &'static str,
        /// [`Limits::work`](super::Limits::work) or
        /// [`Limits::total_output`](super::Limits::total_output).
        limit: u64,
    },
    /// There is not a single byte (only where an object is wanted).
    #[error("the file is empty")]
    Empty,
    /// The first document is not a mapping.
    #[error("the first document is {found}, not an object")]
    NotAnObject {
        /// What it is.
        found: &'static str,
    },
    /// The object has no kind: no string, an empty one, or an apiVersion that is none.
    #[error("the object has no kind")]
    NoKind,
    /// The parser library gave up on the text.
    #[error("the YAML parser failed: {problem}")]
    Parser {
        /// Its last words.
        problem: String,
    },
}

impl Error {
    /// Whether one of the [`Limits`](super::Limits) was passed, or the parser's time.
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

/// A document whose tree is larger than `limit`.
pub(super) fn too_large(limit: usize) -> Error {
    Error::TooLarge { what: "the document in memory", limit }
}

fn place(line: u64) -> String {
    if line == 0 { String::new() } else { format!("line {line}: ") }
}
