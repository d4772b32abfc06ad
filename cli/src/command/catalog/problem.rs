//! Reports the problems of a catalog, and decides whether they are accepted.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use unlade_catalog::{Problem, Rule, Severity};
use unlade_text as text;

use crate::{
    screen::{Palette, Screen},
    summary::count,
};

/// Why a catalog is not accepted. Its problems are already reported.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The catalog is invalid.
    #[error("the catalog {name} is invalid: {}", describe_counts(*errors, *warnings))]
    Invalid { name: String, errors: usize, warnings: usize, is_limit: bool },
    /// `--strict` refuses the warnings.
    #[error("the catalog has {}, and --strict was given", count(*.0, "warning"))]
    Warnings(usize),
}

fn describe_counts(errors: usize, warnings: usize) -> String {
    match warnings {
        0 => count(errors, "error"),
        _ => format!("{} and {}", count(errors, "error"), count(warnings, "warning")),
    }
}

/// Writes the problems of a catalog to standard error.
pub(super) fn note_problems(problems: &[Problem], screen: &Screen) {
    let mut stderr = BufWriter::new(io::stderr().lock());
    // If standard error fails, the problems cannot be reported anywhere.
    _ = write_problems(problems, &screen.err, &mut stderr).and_then(|()| stderr.flush());
}

/// Writes the problems of a catalog to standard error, and returns an error if it is invalid.
pub(super) fn accept(problems: &[Problem], name: &Path, screen: &Screen) -> Result<(), Error> {
    note_problems(problems, screen);
    judge(problems, &name.display().to_string(), false)
}

/// Returns an error if one of the problems of a catalog is an error. If so, writes all of them to
/// standard error.
pub(super) fn refuse_errors(
    problems: &[Problem],
    name: &str,
    screen: &Screen,
) -> Result<(), Error> {
    let verdict = judge(problems, name, false);
    if verdict.is_err() {
        note_problems(problems, screen);
    }
    verdict
}

/// Returns an error if one of the problems of the catalog that a command would write is an error.
/// Writes the problems to standard error; if none is an error, only those that are not `known` from
/// the catalog that the command has read.
pub(super) fn accept_result(
    mut problems: Vec<Problem>,
    known: &[Problem],
    screen: &Screen,
) -> Result<(), Error> {
    let verdict = judge(&problems, "that would be written", false);
    if verdict.is_ok() {
        let known: BTreeSet<_> = known.iter().map(without_place).collect();
        problems.retain(|it| !known.contains(&without_place(it)));
    }
    note_problems(&problems, screen);
    verdict
}

/// Returns what a problem is about. A change can move it to another line, so its place is left out.
fn without_place(problem: &Problem) -> (Rule, [&str; 4]) {
    let Problem { rule, package, channel, bundle, message, .. } = problem;
    (*rule, [package, channel, bundle, message])
}

/// Returns the error of a catalog with these problems that is invalid, or that `--strict` refuses.
pub(super) fn judge(problems: &[Problem], name: &str, strict: bool) -> Result<(), Error> {
    let number = |severity| {
        let of_severity = problems.iter().filter(|it| it.severity == severity);
        of_severity.map(Problem::count).sum()
    };
    let (errors, warnings): (usize, usize) = (number(Severity::Error), number(Severity::Warning));
    let is_limit = problems
        .iter()
        .any(|problem| problem.rule == Rule::Limit && problem.severity == Severity::Error);
    match (errors, warnings) {
        (0, 0) => Ok(()),
        (0, _) if !strict => Ok(()),
        (0, warnings) => Err(Error::Warnings(warnings)),
        _ => Err(Error::Invalid { name: name.to_owned(), errors, warnings, is_limit }),
    }
}

/// Writes each problem with its place and a hint. The text of the problem is escaped.
pub(super) fn write_problems(
    problems: &[Problem],
    palette: &Palette,
    to: &mut impl Write,
) -> io::Result<()> {
    for problem in problems {
        let (label, style) = match problem.severity {
            Severity::Error => ("error", palette.error),
            Severity::Warning => ("warning", palette.warning),
        };
        let Problem { place, rule, message, .. } = problem;
        let place = place.to_string();
        let line = format!("{message}{} [{}]", describe_subject(problem), rule.name());
        let (place, line) = (text::line(&place), text::line(&line));
        writeln!(to, "{place}: {style}{label}{style:#}: {line}")?;
        let style = palette.hint;
        writeln!(to, "  {style}hint{style:#}: {}", rule.remedy())?;
    }
    Ok(())
}

/// Returns the package, channel and bundle of a problem, unless its message names them.
fn describe_subject(problem: &Problem) -> String {
    let subjects =
        [("package", &problem.package), ("channel", &problem.channel), ("bundle", &problem.bundle)];
    let texts: Vec<_> = subjects
        .into_iter()
        .filter(|(_, name)| !name.is_empty() && !problem.message.contains(*name))
        .map(|(what, name)| format!("{what} {name}"))
        .collect();
    if texts.is_empty() { String::new() } else { format!(" ({})", texts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use unlade_catalog::{MAX_PROBLEMS, Place, Problems};

    use super::*;

    #[test]
    fn problems_that_are_not_listed_are_counted_and_exceed_no_limit() {
        let mut problems = Problems::default();
        let problem = |rule| Problem::new(rule, Place::file("a"), "m");
        problems.extend((0..MAX_PROBLEMS + 5).map(|_| problem(Rule::Image)));
        problems.extend((0..MAX_PROBLEMS + 2).map(|_| problem(Rule::Downgrade)));
        let error = judge(&problems.into_sorted(), "c", false).unwrap_err();
        assert!(matches!(error, Error::Invalid { is_limit: false, .. }), "{error:?}");
        let message = "the catalog c is invalid: 10005 errors and 10002 warnings";
        assert_eq!(error.to_string(), message);
    }
}
