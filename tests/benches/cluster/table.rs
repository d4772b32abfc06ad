//! Writes the runs as Markdown tables.

use std::time::Duration;

use serde_json::{Value, json};
use unlade_launcher::Strategy;

use crate::tool::Weight;
use crate::{Method, Run, batch};

/// The rows for each method and bundle.
#[derive(Default)]
pub(crate) struct Tables {
    totals: Vec<String>,
    phases: Vec<String>,
    batches: Vec<String>,
    goals: Vec<Value>,
}

/// How many times faster than OLM's Jobs many bundles in one call must be, and the memory that a
/// call may need, in MiB.
const BATCH_SPEED: f64 = 6.0;
const BATCH_MEMORY: f64 = 64.0;

/// Returns the goal of a method, if it has one: the maximum ratio of its time to that of OLM's Job.
fn most(method: Method) -> Option<f64> {
    match method {
        Method::Ours(Strategy::Inject) => Some(1.0 / 6.0),
        Method::Ours(Strategy::ImageVolume) => Some(1.0 / 8.0),
        _ => None,
    }
}

impl Tables {
    pub(crate) fn add(&mut self, bundle: &str, methods: &[(Method, Vec<Run>)]) {
        let median = |wanted| {
            let found = methods.iter().find(|(method, _)| *method == wanted);
            found.map_or(f64::NAN, |(_, runs)| {
                at(&sorted_seconds(runs.iter().map(|run| run.total)), 0.5)
            })
        };
        let (of_olm, of_nothing) = (median(Method::Olm), median(Method::Nothing));
        for (method, runs) in methods {
            let totals = sorted_seconds(runs.iter().map(|run| run.total));
            let [least, lower, median, upper, most] =
                [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| at(&totals, part));
            let (ratio, of_nothing) = (median / of_olm, median / of_nothing);
            let n = runs.len();
            let name = name(*method);
            self.totals.push(format!(
                "| {bundle} | {name} | {ratio:.2} | {of_nothing:.2} | {median:.2} s \
                 | {lower:.2} to {upper:.2} s | {least:.2} to {most:.2} s | {n} |"
            ));
            if let Some(bound) = self::most(*method) {
                let what = format!("{name}, {bundle}: time, compared with OLM's Job");
                self.goals
                    .push(json!({"what": what, "measured": ratio, "bound": {"AtMost": bound}}));
            }
            // Phases that end at once are not observed in each run.
            let longest = runs.iter().map(|run| run.phases.as_slice()).max_by_key(|it| it.len());
            let phases = longest.unwrap_or_default();
            let cells = phases.iter().map(|(phase, _)| {
                let times = runs
                    .iter()
                    .filter_map(|run| run.phases.iter().find(|(name, _)| name == phase))
                    .map(|(_, time)| *time);
                format!("{phase} {:.2} s", at(&sorted_seconds(times), 0.5))
            });
            let cells: Vec<_> = cells.collect();
            self.phases.push(format!("| {bundle} | {name} | {} |", cells.join(", ")));
        }
    }

    /// Adds a line for each method to unpack many bundles.
    pub(crate) fn add_batches(
        &mut self,
        label: &str,
        methods: &[(batch::Method, Vec<batch::Run>)],
    ) {
        let median =
            |runs: &[batch::Run]| at(&sorted_seconds(runs.iter().map(|run| run.total)), 0.5);
        let of_olm = methods.iter().find(|(method, _)| *method == batch::Method::Olm);
        let of_olm = of_olm.map_or(f64::NAN, |(_, runs)| median(runs));
        let names = methods.iter().flat_map(|(_, runs)| runs).map(|run| &run.csv_names);
        let mut names: Vec<_> = names.collect();
        names.dedup();
        assert_eq!(names.len(), 1, "all methods give the same bundles");
        for (method, runs) in methods {
            let total = median(runs);
            let speed = of_olm / total;
            let peak = runs.iter().map(|run| run.peak).fold(0.0, f64::max);
            let name = batch_name(*method);
            let cell = if speed.is_nan() { "-".to_owned() } else { format!("{speed:.1}") };
            self.batches.push(format!(
                "| {label} | {name} | {cell} | {total:.1} s | {peak:.0} MiB | {} |",
                runs.len()
            ));
            if *method == batch::PACKED {
                if !speed.is_nan() {
                    let what = format!("{label}, {name}: speed, compared with OLM's Jobs");
                    let bound = json!({"AtLeast": BATCH_SPEED});
                    self.goals.push(json!({"what": what, "measured": speed, "bound": bound}));
                }
                let what = format!("{label}, {name}: peak memory of the launcher");
                let bound = json!({"AtMost": BATCH_MEMORY});
                self.goals
                    .push(json!({"what": what, "measured": peak, "unit": " MiB", "bound": bound}));
            }
        }
    }

    /// Prints a row for each image.
    pub(crate) fn print_weights(weights: &[(&str, Weight)]) {
        println!("| image | pulled | unpacked |");
        println!("|---|--:|--:|");
        for (name, Weight { pulled, unpacked }) in weights {
            println!("| {name} | {} | {} |", megabytes(*pulled), megabytes(*unpacked));
        }
        println!();
    }

    pub(crate) fn print(&self) {
        println!(
            "| bundle | method | to OLM's Job | to a Job that does nothing | median \
             | interquartile range | all | rounds |"
        );
        println!("|---|---|--:|--:|--:|--:|--:|--:|");
        for line in &self.totals {
            println!("{line}");
        }
        println!(
            "\n| bundle | method | medians of the phases, from the beginning |\n|---|---|---|"
        );
        for line in &self.phases {
            println!("{line}");
        }
        println!(
            "\n| bundles in one call | method | times OLM's speed | until all are loaded \
             | peak memory of the caller | rounds |\n|---|---|--:|--:|--:|--:|"
        );
        for line in &self.batches {
            println!("{line}");
        }
        // `cargo xtask bench` collects these lines.
        for goal in &self.goals {
            println!("goal: {goal}");
        }
    }
}

fn name(method: Method) -> &'static str {
    match method {
        Method::Olm => "OLM's Job",
        Method::InPlace => "OLM's Job, our image",
        Method::Ours(Strategy::Inject) => "`inject`",
        Method::Ours(Strategy::ImageVolume) => "`image-volume`",
        Method::Ours(Strategy::Auto) => "`auto`",
        Method::Nothing => "a Job that does nothing",
    }
}

fn batch_name(method: batch::Method) -> String {
    match method {
        batch::Method::Olm => "OLM's Jobs, all at once".to_owned(),
        batch::Method::Ours { concurrency, pack } => {
            let strategy = name(Method::Ours(Strategy::ImageVolume));
            let pods = match pack {
                1 => "pods".to_owned(),
                n => format!("pods with {n} bundles"),
            };
            format!("{strategy}, {concurrency} {pods} at once")
        }
    }
}

/// Formats a size in MB (10^6 bytes, as registries count) with two decimal places.
fn megabytes(n_bytes: u64) -> String {
    let hundredths = (n_bytes + 5_000) / 10_000;
    format!("{}.{:02} MB", hundredths / 100, hundredths % 100)
}

/// Returns the times in seconds, in ascending order.
fn sorted_seconds(times: impl Iterator<Item = Duration>) -> Vec<f64> {
    let mut seconds: Vec<f64> = times.map(|time| time.as_secs_f64()).collect();
    seconds.sort_by(f64::total_cmp);
    seconds
}

/// Returns the value of the quantile `part`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an index among some dozens"
)]
fn at(sorted: &[f64], part: f64) -> f64 {
    let index = (sorted.len().saturating_sub(1) as f64 * part).round() as usize;
    sorted.get(index).copied().unwrap_or(f64::NAN)
}
