//! What a launch is doing: events in, lines out.

mod live;
mod many;
mod plain;

use std::time::Duration;

use unlade_launcher::{Event, Step, Strategy};

pub(crate) use self::{
    live::{Line, Live},
    many::{One, Progresses, Standing},
    plain::line,
};
use crate::screen::Palette;

/// The phases of a launch, in their order.
const PHASES: [&str; 7] =
    ["job", "scheduled", "tool image", "bundle image", "running", "written", "loaded"];
/// The widest of these.
const NAME_WIDTH: usize = 12;
/// How many turns the sign of what is at work has.
const TURNS: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What is known of one launch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    /// When each phase was over, and what is told of it.
    phases: [Option<(Duration, String)>; PHASES.len()],
    /// What it waits for.
    waiting: Option<String>,
    /// Attempts that failed, and whatever else stays on the screen.
    notes: Vec<String>,
    config_map: Option<String>,
    strategy: Option<String>,
    job: Option<String>,
    is_reused: bool,
    is_failed: bool,
}

impl Progress {
    /// Takes an event in.
    pub(crate) fn see(&mut self, event: &Event) {
        let at = event.at;
        if !matches!(event.step, Step::ImageChanged { .. }) {
            self.waiting = None;
        }
        match &event.step {
            Step::Prepared { config_map } => self.config_map = Some(config_map.clone()),
            Step::Reused => self.is_reused = true,
            Step::Chosen { strategy, because } => {
                let because = because.as_deref().map(|because| format!(": {because}"));
                let name = strategy_name(*strategy);
                self.strategy = Some(format!("{name}{}", because.unwrap_or_default()));
            }
            Step::Created { job } => {
                self.job = Some(job.clone());
                self.finish(0, at, job.clone());
            }
            Step::Adopted { job, differs } => {
                self.job = Some(job.clone());
                self.finish(0, at, format!("{job}, which was there already"));
                if *differs {
                    self.notes.push("that Job was asked for with other options".to_owned());
                }
            }
            Step::Scheduled { node } => self.finish(1, at, node.clone()),
            Step::ToolPulled => self.finish(2, at, String::new()),
            Step::BundlePulled { digest } => {
                self.finish(3, at, digest.clone().unwrap_or_default());
            }
            Step::ImageChanged { requested, admitted } => {
                self.notes.push(format!("admission changed {requested} to {admitted}"));
            }
            Step::Running => self.finish(4, at, String::new()),
            Step::Written => self.finish(5, at, String::new()),
            Step::Loaded => self.finish(6, at, String::new()),
            Step::Waiting { failure } => self.waiting = Some(failure.to_string()),
            Step::Retrying { failure, after } => {
                self.notes.push(format!("failed: {failure}; {}", again(*after)));
                // The next attempt is another Job.
                self.phases = Default::default();
                self.job = None;
            }
            Step::Failed { .. } => self.fail(),
            _ => {}
        }
    }

    /// It ended in the phase in which it is.
    pub(crate) fn fail(&mut self) {
        self.is_failed = true;
        self.waiting = None;
    }

    /// The ConfigMap, as soon as it is known.
    pub(crate) fn config_map(&self) -> Option<&str> {
        self.config_map.as_deref()
    }

    /// The Job that is at work, as soon as there is one.
    pub(crate) fn job(&self) -> Option<&str> {
        self.job.as_deref()
    }

    /// Whether the content was there already.
    pub(crate) fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// The phase that is going on.
    fn phase(&self) -> &'static str {
        let next = if self.is_reused { PHASES.len() - 1 } else { self.done() };
        PHASES.get(next).copied().unwrap_or_default()
    }

    /// What holds it up, to stand behind something else.
    fn trouble(&self) -> String {
        self.waiting.as_ref().map(|waiting| format!("  {waiting}")).unwrap_or_default()
    }

    /// The lines that show it, `elapsed` after it began.
    pub(crate) fn lines(&self, elapsed: Duration, turn: usize, palette: &Palette) -> Vec<Line> {
        let mut lines = Vec::new();
        let there = if self.is_reused { ", which holds the content already" } else { "" };
        let config_map = self.config_map.as_ref().map(|name| format!("{name}{there}"));
        for (name, fact) in [("configmap", config_map), ("strategy", self.strategy.clone())] {
            if let Some(fact) = fact {
                lines.push(Line::new(&format!("  {name:NAME_WIDTH$}  {:8}  {fact}", "")));
            }
        }
        for note in &self.notes {
            lines.push(Line::new("  ").styled(palette.dim, note));
        }
        let done = self.done();
        for (index, (name, phase)) in PHASES.iter().zip(&self.phases).enumerate() {
            let is_last = index + 1 == PHASES.len();
            // Content that was there is only loaded.
            if self.is_reused && !is_last {
                continue;
            }
            lines.push(match phase {
                Some((at, detail)) => {
                    let gap = if detail.is_empty() { "" } else { "  " };
                    Line::default()
                        .styled(palette.good, "✓")
                        .text(&format!(" {name:NAME_WIDTH$}  {:>8}{gap}{detail}", seconds(*at)))
                }
                // It was too short to be seen, or another launcher saw it.
                None if index < done => Line::default().styled(palette.dim, &format!("✓ {name}")),
                None if index == done && self.is_failed => Line::default()
                    .styled(palette.error, "✗")
                    .text(&format!(" {name:NAME_WIDTH$}  {:>8}", seconds(elapsed))),
                None if index == done || self.is_reused => Line::new(&format!(
                    "{} {name:NAME_WIDTH$}  {:>8}",
                    sign(turn),
                    seconds(elapsed)
                )),
                None => Line::default().styled(palette.dim, &format!("  {name}")),
            });
            if index == done
                && let Some(waiting) = &self.waiting
            {
                lines.push(
                    Line::new("  ")
                        .styled(palette.warning, "waiting")
                        .text(&format!(": {waiting}")),
                );
            }
        }
        lines
    }

    /// How many phases are over: all up to the last one that was seen.
    fn done(&self) -> usize {
        self.phases.iter().rposition(Option::is_some).map_or(0, |last| last + 1)
    }

    fn finish(&mut self, phase: usize, at: Duration, detail: String) {
        if let Some(place) = self.phases.get_mut(phase) {
            *place = Some((at, detail));
        }
    }
}

/// When the next attempt starts.
fn again(after: Duration) -> String {
    if after.is_zero() {
        "trying again now".to_owned()
    } else {
        format!("trying again in {}", seconds(after))
    }
}

/// A time since the beginning, for people.
pub(crate) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.2}s", time.as_secs_f64()),
        seconds => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

/// What shows that something is at work.
fn sign(turn: usize) -> &'static str {
    TURNS.get(turn % TURNS.len()).copied().unwrap_or_default()
}

/// A strategy, as it is given to `--strategy`.
pub(crate) fn strategy_name(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Auto => "auto",
        Strategy::Inject => "inject",
        Strategy::ImageVolume => "image-volume",
    }
}

#[cfg(test)]
mod tests;
