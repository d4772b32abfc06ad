//! `unlade catalog validate`.

use std::io::{self, Write};

use serde_json::{Value, json};
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

/// Returns the fields `passed` and `error` of `opm validate -o json`, and all problems.
fn format_json(reading: &Reading, error: Option<&problem::Error>) -> Value {
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
