//! docs/fuzzing.md: how long each target has run in total.

use std::{collections::BTreeMap, fmt::Write as _, fs};

use super::Report;
use crate::{command::Error, workspace};

/// The page with the totals, which is committed so that they do not depend on one machine.
const PAGE: &str = "docs/fuzzing.md";
/// The text before the table.
const TITLE: &str = "\
# Fuzzing

`cargo xtask fuzz --record` adds its runs to this table ([CONTRIBUTING.md](../CONTRIBUTING.md#hostile-inputs) describes the command).
*CPU* is processor time, which does not depend on the other load of a machine.
A finding becomes a test beside the faulty code, and is then fixed.

";
/// The name of the last row, which has the sums.
const SUM: &str = "all";
const HEADING: &str = "| target | CPU, minutes | executions | findings |\n|---|--:|--:|--:|\n";

/// What a target has done in all recorded runs.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Total {
    cpu_minutes: f64,
    executions: u64,
    findings: usize,
}

/// Adds the runs to the totals of earlier ones.
pub(super) fn record(reports: &[Report]) -> Result<(), Error> {
    let path = workspace::root().join(PAGE);
    let page = fs::read_to_string(&path).map_err(Error::file(&path))?;
    let mut totals = read(&page)?;
    for report in reports {
        let total = totals.entry(report.target.clone()).or_default();
        total.cpu_minutes += report.cpu / 60.0;
        total.executions += report.executions;
        total.findings += report.findings.len();
    }
    fs::write(&path, write(&totals)).map_err(Error::file(&path))
}

fn read(page: &str) -> Result<BTreeMap<String, Total>, Error> {
    let (_, rows) = page.split_once(HEADING).unwrap_or_default();
    let mut totals = BTreeMap::new();
    for row in rows.lines() {
        let failed = || Error::Found(format!("{PAGE}: failed to read the row {row:?}"));
        let (target, total) = read_row(row).ok_or_else(failed)?;
        totals.insert(target, total);
    }
    totals.remove(SUM);
    Ok(totals)
}

fn read_row(row: &str) -> Option<(String, Total)> {
    let cells: Vec<_> = row.split('|').map(str::trim).collect();
    let [_, target, cpu, executions, findings, _] = cells[..] else { return None };
    let total = Total {
        cpu_minutes: cpu.parse().ok()?,
        executions: executions.parse().ok()?,
        findings: findings.parse().ok()?,
    };
    Some((target.to_owned(), total))
}

fn write(totals: &BTreeMap<String, Total>) -> String {
    let mut page = TITLE.to_owned() + HEADING;
    let mut sum = Total::default();
    let mut row = |target: &str, total: Total| {
        let Total { cpu_minutes, executions, findings } = total;
        _ = writeln!(page, "| {target} | {cpu_minutes:.1} | {executions} | {findings} |");
    };
    for (target, &total) in totals {
        row(target, total);
        sum.cpu_minutes += total.cpu_minutes;
        sum.executions += total.executions;
        sum.findings += total.findings;
    }
    row(SUM, sum);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_read_back_as_they_were_written() {
        let total = Total { cpu_minutes: 1.5, executions: 7, findings: 1 };
        let totals = BTreeMap::from([("tar".to_owned(), total), ("yaml".to_owned(), total)]);
        let page = write(&totals);
        assert!(page.ends_with("| all | 3.0 | 14 | 2 |\n"), "{page}");
        assert_eq!(read(&page).unwrap(), totals);
        assert!(read(&page.replace("1.5", "much")).is_err());
    }
}
