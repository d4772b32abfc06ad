//! [`Problem`]: what is wrong with a catalog, and where.

use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};
use unlade_text::excerpt;
use unlade_yaml::{Reader, Step};

use crate::rule::Rule;

/// The maximum number of problems of each kind that are kept: errors that prevent loading, other
/// errors, and warnings. Further problems are only counted.
pub const MAX_PROBLEMS: usize = 10_000;

/// The maximum size of the texts of the problems of each kind that are kept, in bytes. The path of
/// the file counts for each problem, because each report repeats it: a path of 4 kB made a report
/// of 350 MB. [`MAX_PROBLEMS`] problems with 400 bytes each fit.
pub const MAX_PROBLEM_TEXT: usize = 4 << 20;

/// A violation of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The number of problems that are not listed, if this stands for them. It comes first, so that
    /// such a problem is sorted after all others.
    #[serde(skip)]
    n_unlisted: usize,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
    /// Whether it makes the catalog invalid.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// The package that it is about. Empty if it is about none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package: String,
    /// The channel that it is about. Empty if it is about none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub channel: String,
    /// The bundle, or the entry of the channel, that it is about. Empty if it is about none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub bundle: String,
    /// The message for people. It starts in lower case and has no full stop.
    pub message: String,
}

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The catalog is invalid: `opm` refuses it, it exceeds a limit of unlade, or a link leads out
    /// of it.
    Error,
    /// `opm` accepts the catalog, but drops a part of it, or the content is probably a mistake.
    Warning,
}

/// A place in a catalog.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Place {
    /// The path of the file, relative to the catalog.
    #[serde(serialize_with = "serialize_text")]
    pub file: Arc<str>,
    /// The line, counted from 1. 0 if the place is the whole file.
    pub line: u64,
    /// The line of the document, counted from 1. 0 if the place is the whole file.
    #[serde(skip)]
    pub document: u64,
    /// The path of the value within the document. [`locate`] finds its line.
    #[serde(skip)]
    pub path: Vec<Step>,
}

/// A collection of problems: the first of each kind, up to [`MAX_PROBLEMS`] and
/// [`MAX_PROBLEM_TEXT`], and the numbers of the others.
#[derive(Debug, Clone, Default)]
pub struct Problems {
    kept: Vec<Problem>,
    /// The errors of rules that [prevent loading](Rule::prevents_loading).
    loading_errors: Count,
    other_errors: Count,
    warnings: Count,
}

/// The number of problems of one kind.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    kept: usize,
    /// The size of the texts of the kept problems, in bytes.
    text: usize,
    more: usize,
}

impl Problem {
    /// Creates a problem with the severity of its rule. Long messages are truncated.
    pub fn new(rule: Rule, place: Place, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            n_unlisted: 0,
            place,
            severity: rule.severity(),
            rule,
            package: String::new(),
            channel: String::new(),
            bundle: String::new(),
            message: excerpt::truncate(&message, excerpt::MESSAGE_SIZE).unwrap_or(message),
        }
    }

    /// Returns the number of problems that this stands for. It is 1, unless this stands for those
    /// that are not listed.
    pub fn count(&self) -> usize {
        self.n_unlisted.max(1)
    }

    /// Returns the size of its texts, in bytes.
    fn text_size(&self) -> usize {
        let Self { place, package, channel, bundle, message, .. } = self;
        let texts = [&*place.file, package, channel, bundle, message].into_iter();
        let fields = place.path.iter().filter_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            Step::Item(_) => None,
        });
        texts.chain(fields).map(str::len).sum()
    }

    pub(crate) fn package(self, name: &str) -> Self {
        Self { package: excerpt::shorten(name), ..self }
    }

    pub(crate) fn channel(self, name: &str) -> Self {
        Self { channel: excerpt::shorten(name), ..self }
    }

    pub(crate) fn bundle(self, name: &str) -> Self {
        Self { bundle: excerpt::shorten(name), ..self }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.file),
            line => write!(f, "{}:{line}", self.file),
        }
    }
}

impl Place {
    /// Returns the place of a whole file.
    pub fn file(file: impl Into<Arc<str>>) -> Self {
        Self { file: file.into(), line: 0, document: 0, path: Vec::new() }
    }

    /// Returns the place of the document that begins at `line`.
    pub(crate) fn document(file: &Arc<str>, line: u64) -> Self {
        Self { file: Arc::clone(file), line, document: line, path: Vec::new() }
    }

    /// Returns the place of the field `name` of this value.
    pub(crate) fn field(&self, name: &str) -> Self {
        self.at(Step::Field(name.to_owned()))
    }

    /// Returns the place of the item `index` of the list in the field `name` of this value.
    pub(crate) fn item(&self, name: &str, index: usize) -> Self {
        self.field(name).at(Step::Item(index))
    }

    fn at(&self, step: Step) -> Self {
        let mut place = self.clone();
        place.path.push(step);
        place
    }
}

/// Sets the lines of places in one document. `text` is the text of the document.
pub fn locate(places: &mut [&mut Place], text: &[u8], reader: &Reader) {
    let paths = places.iter().map(|place| place.path.as_slice());
    let Some(lines) = unlade_yaml::locate(text, paths, reader) else { return };
    for (place, line) in places.iter_mut().zip(lines) {
        place.line = place.document + line - 1;
    }
}

/// Serializes the path as text, because serde has no `Serialize` for `Arc` without a feature that
/// is global.
fn serialize_text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

impl Problems {
    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        let count = match problem.severity {
            Severity::Error if problem.rule.prevents_loading() => &mut self.loading_errors,
            Severity::Error => &mut self.other_errors,
            Severity::Warning => &mut self.warnings,
        };
        let text = count.text.saturating_add(problem.text_size());
        // The first one is kept in any case, so that the cause of a failure is never missing.
        let has_room = count.kept == 0 || (count.kept < MAX_PROBLEMS && text <= MAX_PROBLEM_TEXT);
        if problem.n_unlisted > 0 {
            count.more += problem.n_unlisted;
        } else if has_room {
            count.kept += 1;
            count.text = text;
            self.kept.push(problem);
        } else {
            count.more += 1;
        }
    }

    /// Removes the errors that do not [prevent loading](Rule::prevents_loading).
    pub(crate) fn remove_other_errors(&mut self) {
        self.kept.retain(|it| it.rule.prevents_loading() || it.severity == Severity::Warning);
        self.other_errors = Count::default();
    }

    /// Returns the kept problems, sorted by their places, and after them a problem for each
    /// severity of which some were left out.
    pub fn into_sorted(self) -> Vec<Problem> {
        let Self { mut kept, loading_errors, other_errors, warnings } = self;
        kept.sort();
        let file = kept.last().map_or_else(|| Arc::from(""), |last| Arc::clone(&last.place.file));
        let n_errors = loading_errors.more + other_errors.more;
        for (severity, n_unlisted, what) in
            [(Severity::Error, n_errors, "errors"), (Severity::Warning, warnings.more, "warnings")]
        {
            if n_unlisted > 0 {
                let message = format!("{n_unlisted} more {what} of the catalog are not listed");
                let place = Place::file(Arc::clone(&file));
                let problem = Problem::new(Rule::Unlisted, place, message);
                kept.push(Problem { n_unlisted, severity, ..problem });
            }
        }
        kept
    }

    /// Returns the kept problems.
    pub fn as_slice(&self) -> &[Problem] {
        &self.kept
    }

    /// Appends the problems of `others`.
    pub(crate) fn append(&mut self, others: Self) {
        self.loading_errors.more += others.loading_errors.more;
        self.other_errors.more += others.other_errors.more;
        self.warnings.more += others.warnings.more;
        self.extend(others.kept);
    }
}

impl Extend<Problem> for Problems {
    fn extend<T: IntoIterator<Item = Problem>>(&mut self, problems: T) {
        problems.into_iter().for_each(|problem| self.push(problem));
    }
}
