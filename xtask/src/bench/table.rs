//! The runs of both sides as a Markdown table.

use super::measure::Run;

/// Columns: medians, with the least time in brackets.
pub(super) const HEADING: &str = "\
| what | input | ours | Go's | ratio | ours, peak memory | Go's | ratio |
|---|---|--:|--:|--:|--:|--:|--:|";

pub(super) fn row(name: &str, input: &str, ours: &[Run], theirs: Option<&[Run]>) -> String {
    let [our_time, our_memory] = cells(ours);
    let [their_time, their_memory] = theirs.map_or(["-".into(), "-".into()], cells);
    let time = theirs.map_or("-".into(), |theirs| ratio(seconds(ours), seconds(theirs)));
    let memory = theirs.map_or("-".into(), |theirs| ratio(mebibytes(ours), mebibytes(theirs)));
    format!(
        "| {name} | {input} | {our_time} | {their_time} | {time} | {our_memory} | {their_memory} \
         | {memory} |"
    )
}

fn cells(runs: &[Run]) -> [String; 2] {
    let least = runs.iter().map(|run| run.seconds).fold(f64::INFINITY, f64::min);
    [
        format!("{:.0} ms ({:.0})", seconds(runs) * 1e3, least * 1e3),
        format!("{:.0} MiB", mebibytes(runs)),
    ]
}

fn ratio(ours: f64, theirs: f64) -> String {
    format!("{:.2}", ours / theirs)
}

fn seconds(runs: &[Run]) -> f64 {
    median(runs.iter().map(|run| run.seconds).collect())
}

fn mebibytes(runs: &[Run]) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "fewer KiB than 2^52")]
    median(runs.iter().map(|run| run.memory as f64 / 1024.0).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
