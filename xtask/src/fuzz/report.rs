//! The result of a target, from the log of libFuzzer.

use std::path::PathBuf;

/// The columns of [`Report::row`].
pub(super) const HEADING: &str = "\
| target | executions | slowest input | most memory of an input | CPU | findings |
|---|--:|--:|--:|--:|--:|";

/// The result of a target.
pub(super) struct Report {
    pub(super) target: String,
    pub(super) executions: u64,
    pub(super) cpu: f64,
    /// New files with inputs that caused a failure.
    pub(super) findings: Vec<PathBuf>,
    /// The largest costs of an input, as the target prints them.
    costs: String,
    is_success: bool,
    log: PathBuf,
}

impl Report {
    /// Reads the `log` of a run that took `cpu` seconds of processor time.
    pub(super) fn read(
        target: &str,
        log: &str,
        cpu: f64,
        findings: Vec<PathBuf>,
        is_success: bool,
        path: PathBuf,
    ) -> Self {
        let last = |start| log.lines().rev().find_map(|line: &str| line.strip_prefix(start));
        let executions = last("stat::number_of_executed_units:");
        Self {
            target: target.to_owned(),
            executions: executions.and_then(|n| n.trim().parse().ok()).unwrap_or_default(),
            cpu,
            findings,
            costs: last("unlade: slowest ").unwrap_or("? ms, peak ? KiB").to_owned(),
            is_success,
            log: path,
        }
    }

    pub(super) fn is_finding(&self) -> bool {
        !self.is_success || !self.findings.is_empty()
    }

    pub(super) fn row(&self) -> String {
        let Self { target, executions, cpu, findings, .. } = self;
        let (slowest, memory) = self.costs.split_once(", peak ").unwrap_or(("?", "?"));
        let n = findings.len();
        format!("| {target} | {executions} | {slowest} | {memory} | {cpu:.0} s | {n} |")
    }

    /// Returns a text that says what to do about a finding.
    pub(super) fn explain(&self) -> String {
        let Self { target, log, .. } = self;
        let mut lines = vec![format!("\n{target}: {}", log.display())];
        for file in &self.findings {
            let file = file.display();
            lines.push(format!("  cargo xtask fuzz {target} --reproduce {file}"));
            lines.push(format!("  cargo fuzz run --sanitizer none {target} {file}"));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_is_read_from_the_end_of_the_log() {
        let log = "unlade: slowest 1 ms, peak 2 KiB\n#2 INITED\n\
                   unlade: slowest 12 ms, peak 345 KiB\nstat::number_of_executed_units: 678\n";
        let report = Report::read("yaml", log, 1.5, Vec::new(), true, PathBuf::new());
        assert_eq!(report.row(), "| yaml | 678 | 12 ms | 345 KiB | 2 s | 0 |");
        assert!(!report.is_finding());
    }

    #[test]
    fn finding_says_how_it_is_reproduced() {
        let finding = PathBuf::from("fuzz/artifacts/yaml/crash-1");
        let report = Report::read("yaml", "", 1.0, vec![finding], false, PathBuf::new());
        assert!(report.is_finding());
        let text = report.explain();
        assert!(text.contains("fuzz yaml --reproduce fuzz/artifacts/yaml/crash-1"), "{text}");
    }
}
