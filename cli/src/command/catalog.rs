//! `unlade catalog`.

mod add;
mod build;
mod bundle;
mod change;
mod containerfile;
mod deprecate;
mod diff;
mod filter;
mod graph;
mod init;
mod list;
mod migrate;
mod render;
mod sarif;
mod template;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use unlade_catalog::{Problem, Rule, Severity};
use unlade_catalog_directory::{self as directory, Limits, Reading};
use unlade_text as text;

pub(crate) use bundle::Unrendered;
pub(crate) use graph::DrawError;

use crate::{
    args::{Catalog, CatalogCommand, GenerateCommand, Report, Validate},
    error::{self, Error},
    output::{self, Documents, Form},
    screen::{Palette, Screen},
    source,
};

pub(super) fn run(args: Catalog, screen: &Screen) -> Result<(), Error> {
    match args.command {
        CatalogCommand::Validate(args) => validate(args, screen),
        CatalogCommand::List(args) => list::run(args, screen),
        CatalogCommand::Diff(args) => diff::run(&args, screen),
        CatalogCommand::Filter(args) => filter::run(args, screen),
        CatalogCommand::Add(args) => add::run(args, screen),
        CatalogCommand::Deprecate(args) => deprecate::run(&args, screen),
        CatalogCommand::Build(args) => build::run(args, screen),
        CatalogCommand::Init(args) => init::run(&args, screen),
        CatalogCommand::Generate(args) => match args.command {
            GenerateCommand::Dockerfile(args) => containerfile::run(&args),
        },
        CatalogCommand::Graph(args) => graph::run(&args, screen),
        CatalogCommand::Render(args) => render::run(args, screen),
        CatalogCommand::Migrate(args) => migrate::run(args, screen),
        CatalogCommand::Template(args) => template::run(args, screen),
    }
}

/// Reads the catalog in a directory, a file, an image, or on standard input (`-`).
fn read(catalog: &Path, images: &source::Images) -> Result<Reading, Error> {
    let opened = source::open_catalog(catalog.as_os_str(), images)?;
    Ok(directory::read(&opened.path, &Limits::default())?)
}

fn validate(args: Validate, screen: &Screen) -> Result<(), Error> {
    let Validate { catalog, output, strict, images } = args;
    let reading = read(&catalog, &images.resolve()?)?;
    let verdict = judge(&reading.problems, &catalog.display().to_string(), strict);
    let write = |document: &Value| {
        let mut documents = Documents::new(Form::Json, output::stdout());
        documents.write(document).and_then(|()| documents.finish())
    };
    match output {
        Report::Text => output::print(format_text(&reading, verdict.is_ok(), screen).as_bytes()),
        Report::Json => write(&format_json(&reading, verdict.as_ref().err())),
        Report::Sarif => write(&sarif::format(&reading.problems)),
    }
    .map_err(Error::Output)?;
    verdict
}

/// Writes the problems of a catalog to standard error.
fn note_problems(problems: &[Problem], screen: &Screen) {
    for line in format_problems(problems, &screen.err).lines() {
        error::note(line);
    }
}

/// Writes the problems of a catalog to standard error, and returns an error if it is invalid.
fn accept(reading: &Reading, name: &Path, screen: &Screen) -> Result<(), Error> {
    note_problems(&reading.problems, screen);
    judge(&reading.problems, &name.display().to_string(), false)
}

/// Returns the error of a catalog with these problems that is invalid, or that `--strict` refuses.
fn judge(problems: &[Problem], name: &str, strict: bool) -> Result<(), Error> {
    let count = |severity| problems.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let is_limit = problems
        .iter()
        .any(|problem| problem.rule == Rule::Limit && problem.severity == Severity::Error);
    match (errors, warnings) {
        (0, 0) => Ok(()),
        (0, _) if !strict => Ok(()),
        (0, warnings) => Err(Error::Warnings(warnings)),
        _ => Err(Error::InvalidCatalog { name: name.to_owned(), errors, warnings, is_limit }),
    }
}

fn format_text(reading: &Reading, is_accepted: bool, screen: &Screen) -> String {
    let mut report = format_problems(&reading.problems, &screen.out);
    if is_accepted {
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

/// Locks what the threads that read a catalog share. A panic in another thread ends the program anyway.
fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

fn into_inner<T>(value: Mutex<T>) -> T {
    value.into_inner().unwrap_or_else(PoisonError::into_inner)
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
