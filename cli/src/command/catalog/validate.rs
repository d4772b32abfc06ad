//! `unlade catalog validate`.

use std::io::{self, Write};

use serde::Serialize;
use unlade_catalog::Problem;
use unlade_catalog_directory::Reading;

use super::{
    judge,
    problem::{self, write_problems},
    read, sarif,
};
use crate::{
    args::{Report, Validate},
    error::Error,
    output,
    screen::Screen,
    summary,
};

/// Validates a catalog, and writes a report.
pub(super) fn run(args: Validate, screen: &Screen) -> Result<(), Error> {
    let Validate { catalog, output, strict, images } = args;
    let reading = read(&catalog, &images.resolve()?)?;
    let verdict = judge(&reading.problems, &catalog.display().to_string(), strict);
    match output {
        Report::Text => write_text(&reading, verdict.is_ok(), screen, &mut output::stdout()),
        Report::Json => output::print_json(&format_json(&reading, verdict.as_ref().err())),
        Report::Sarif => output::print_json(&sarif::format(&reading.problems, &catalog)),
    }
    .map_err(Error::Output)?;
    Ok(verdict?)
}

fn write_text(
    reading: &Reading,
    is_accepted: bool,
    screen: &Screen,
    to: &mut impl Write,
) -> io::Result<()> {
    write_problems(&reading.problems, &screen.out, to)?;
    if is_accepted {
        let catalog = &reading.catalog;
        writeln!(
            to,
            "valid: {}, {} and {} in {}",
            summary::count(catalog.packages.len(), "package"),
            summary::count(catalog.channels.len(), "channel"),
            summary::count(catalog.bundles.len(), "bundle"),
            summary::count(reading.n_files, "file")
        )?;
    }
    to.flush()
}

/// The fields `passed` and `error` of `opm validate -o json`, and all problems.
#[derive(Serialize)]
struct JsonReport<'a> {
    passed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<JsonError>,
    problems: Vec<JsonProblem<'a>>,
}

#[derive(Serialize)]
struct JsonError {
    message: String,
}

#[derive(Serialize)]
struct JsonProblem<'a> {
    #[serde(flatten)]
    problem: &'a Problem,
    remedy: &'static str,
}

fn format_json<'a>(reading: &'a Reading, error: Option<&problem::Error>) -> JsonReport<'a> {
    let problem = |problem: &'a Problem| JsonProblem { problem, remedy: problem.rule.remedy() };
    JsonReport {
        passed: error.is_none(),
        error: error.map(|error| JsonError { message: error.to_string() }),
        problems: reading.problems.iter().map(problem).collect(),
    }
}
