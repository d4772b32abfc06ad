//! `unlade catalog`.

mod list;
mod sarif;

use std::fmt::Write as _;

use serde_json::{Value, json};
use unlade_catalog::{Problem, Rule, Severity};
use unlade_catalog_directory::{self as directory, Limits, Reading};
use unlade_text as text;

use crate::{
    args::{Catalog, CatalogCommand, Report, Validate},
    error::Error,
    output::{self, Documents, Form},
    screen::{Palette, Screen},
};

pub(super) fn run(args: Catalog, screen: &Screen) -> Result<(), Error> {
    match args.command {
        CatalogCommand::Validate(args) => validate(&args, screen),
        CatalogCommand::List(args) => list::run(args, screen),
    }
}

fn validate(args: &Validate, screen: &Screen) -> Result<(), Error> {
    let Validate { catalog, output, strict } = args;
    let reading = directory::read(catalog, &Limits::default())?;
    let verdict = verdict(&reading, &catalog.display().to_string(), *strict);
    let write = |document: &Value| {
        let mut documents = Documents::new(Form::Json, output::stdout());
        documents.write(document).and_then(|()| documents.finish())
    };
    match output {
        Report::Text => output::print(format_text(&reading, screen).as_bytes()),
        Report::Json => write(&format_json(&reading, verdict.as_ref().err())),
        Report::Sarif => write(&sarif::format(&reading.problems)),
    }
    .map_err(Error::Output)?;
    verdict
}

/// Returns the error of a catalog that is invalid, or that `--strict` refuses.
fn verdict(reading: &Reading, name: &str, strict: bool) -> Result<(), Error> {
    let count = |severity| reading.problems.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let is_limit = reading
        .problems
        .iter()
        .any(|problem| problem.rule == Rule::Limit && problem.severity == Severity::Error);
    match (errors, warnings) {
        (0, 0) => Ok(()),
        (0, _) if !strict => Ok(()),
        (0, warnings) => Err(Error::Warnings(warnings)),
        _ => Err(Error::InvalidCatalog { name: name.to_owned(), errors, warnings, is_limit }),
    }
}

fn format_text(reading: &Reading, screen: &Screen) -> String {
    let mut report = format_problems(&reading.problems, &screen.out);
    if !reading.problems.iter().any(|problem| problem.severity == Severity::Error) {
        let catalog = &reading.catalog;
        _ = writeln!(
            report,
            "valid: {}, {} and {} in {}",
            number(catalog.packages.len(), "package"),
            number(catalog.channels.len(), "channel"),
            number(catalog.bundles.len(), "bundle"),
            number(reading.n_files, "file")
        );
    }
    report
}

/// Formats each problem with its place and a hint.
fn format_problems(problems: &[Problem], palette: &Palette) -> String {
    let mut report = String::new();
    for problem in problems {
        let (label, style) = match problem.severity {
            Severity::Error => ("error", palette.error),
            Severity::Warning => ("warning", palette.warning),
        };
        let place = &problem.place;
        let place = match place.line {
            0 => place.file.to_string(),
            line => format!("{}:{line}", place.file),
        };
        let Problem { rule, message, .. } = problem;
        let line = format!("{message}{} [{}]", describe_subject(problem), rule.name());
        _ = writeln!(
            report,
            "{}: {style}{label}{style:#}: {}",
            text::line(&place),
            text::line(&line)
        );
        let style = palette.hint;
        _ = writeln!(report, "  {style}hint{style:#}: {}", rule.remedy());
    }
    report
}

/// Formats a number of things.
fn number(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
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

/// Returns the fields `passed` and `error` of `opm validate -o json`, and all problems.
fn format_json(reading: &Reading, error: Option<&Error>) -> Value {
    let problem = |problem: &Problem| {
        let mut value = json!(problem);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("remedy".to_owned(), json!(problem.rule.remedy()));
        }
        value
    };
    let problems: Vec<_> = reading.problems.iter().map(problem).collect();
    let mut report = json!({"passed": error.is_none(), "problems": problems});
    if let (Some(error), Some(fields)) = (error, report.as_object_mut()) {
        fields.insert("error".to_owned(), json!({"message": error.to_string()}));
    }
    report
}
