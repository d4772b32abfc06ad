//! Runs of the programs of both sides, as rows of a Markdown table.

use std::process::Command;

use super::{
    goal::digits,
    measure::{self, Run},
};
use crate::command::Error;

/// Columns: medians, with the least time in brackets.
pub(super) const HEADING: &str = "\
| what | input | time, ratio | ours | Go's | peak memory, ratio | ours | Go's |
|---|---|--:|--:|--:|--:|--:|--:|
";

/// A task that both sides can do.
pub(super) struct Task {
    pub(super) name: &'static str,
    pub(super) ours: Command,
    pub(super) theirs: Option<Command>,
}

/// A row of the table, and its figures.
pub(super) struct Compared {
    pub(super) row: String,
    /// Our time, divided by that of Go.
    pub(super) time: f64,
    /// Our peak memory in MiB.
    pub(super) mebibytes: f64,
}

/// Measures both sides in turns, so that other load on the machine affects both alike.
pub(super) fn compare(task: &Task, input: &str, n_rounds: usize) -> Result<Compared, Error> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..n_rounds {
        ours.push(measure::run(&task.ours)?);
        if let Some(command) = &task.theirs {
            theirs.push(measure::run(command)?);
        }
    }
    let [our_time, our_memory] = cells(&ours);
    let [their_time, their_memory] = cells(&theirs);
    let time = seconds(&ours) / seconds(&theirs);
    let mebibytes = mebibytes_of(&ours);
    let memory = mebibytes / mebibytes_of(&theirs);
    let row = format!(
        "| {} | {input} | {} | {our_time} | {their_time} | {} | {our_memory} | {their_memory} |\n",
        task.name,
        ratio(time),
        ratio(memory)
    );
    eprint!("{row}");
    Ok(Compared { row, time, mebibytes })
}

fn cells(runs: &[Run]) -> [String; 2] {
    if runs.is_empty() {
        return ["-".into(), "-".into()];
    }
    let least = runs.iter().map(|run| run.seconds).fold(f64::INFINITY, f64::min);
    [
        format!("{} ms ({})", digits(seconds(runs) * 1e3), digits(least * 1e3)),
        format!("{} MiB", digits(mebibytes_of(runs))),
    ]
}

fn ratio(ratio: f64) -> String {
    if ratio.is_nan() { "-".into() } else { format!("{ratio:.2}") }
}

fn seconds(runs: &[Run]) -> f64 {
    median(runs.iter().map(|run| run.seconds).collect())
}

fn mebibytes_of(runs: &[Run]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "fewer KiB than 2^52")]
    median(runs.iter().map(|run| run.memory as f64 / 1024.0).collect())
}

/// Returns NaN without values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
