//! Shows the progress of launches: turns their events into lines.

mod live;
mod many;
mod plain;
mod transfer;

use std::time::Duration;

use unlade_launcher::{Event, Step};

pub(crate) use self::{
    live::{Line, Live},
    many::{LaunchProgress, LaunchStatus, Progresses},
    plain::{line, timed_line},
    transfer::{Transfers, note},
};
use crate::screen::Palette;

/// The phases of a launch, in their order.
const PHASES: [&str; 7] =
    ["job", "scheduled", "tool image", "bundle image", "running", "written", "loaded"];
/// The width of the widest phase.
const NAME_WIDTH: usize = 12;
/// How often the lines on a terminal are redrawn.
pub(crate) const TURN: Duration = Duration::from_millis(100);
/// The frames of the spinner.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The progress of one launch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    /// When each phase ended, with a detail such as the name of the node.
    phases: [Option<(Duration, String)>; PHASES.len()],
    /// What the launch is waiting for.
    waiting: Option<String>,
    /// Failed attempts and other remarks that stay on the screen.
    notes: Vec<String>,
    config_map: Option<String>,
    strategy: Option<String>,
    job: Option<String>,
    is_reused: bool,
    is_failed: bool,
}

impl Progress {
    /// Records an event.
    pub(crate) fn record(&mut self, event: &Event) {
        let at = event.at;
        if !matches!(event.step, Step::ImageChanged { .. }) {
            self.waiting = None;
        }
        match &event.step {
            Step::Prepared { config_map } => self.config_map = Some(config_map.clone()),
            Step::Reused => self.is_reused = true,
            Step::Chosen { strategy, because } => {
                let because = because.as_deref().map(|because| format!(": {because}"));
                self.strategy = Some(format!("{strategy}{}", because.unwrap_or_default()));
            }
            Step::Created { job } => {
                self.job = Some(job.clone());
                self.finish(0, at, job.clone());
            }
            Step::Adopted { job, differs } => {
                self.job = Some(job.clone());
                self.finish(0, at, format!("{job}, which already existed"));
                if *differs {
                    self.notes.push("that Job was created with other options".to_owned());
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
            Step::Waiting { failure } => self.waiting = Some(failure.to_string()),
            Step::Retrying { failure, after } => {
                self.notes.push(format!("failed: {failure}; {}", format_retry(*after)));
                // The next attempt creates another Job.
                self.phases = Default::default();
                self.job = None;
            }
            _ => {}
        }
    }

    /// Records that the bundle was loaded at this time after the start.
    pub(crate) fn load(&mut self, at: Duration) {
        self.finish(PHASES.len() - 1, at, String::new());
    }

    /// Records that the launch failed in its current phase.
    pub(crate) fn fail(&mut self) {
        self.is_failed = true;
        self.waiting = None;
    }

    /// Returns the name of the ConfigMap, if it is known.
    pub(crate) fn config_map(&self) -> Option<&str> {
        self.config_map.as_deref()
    }

    /// Returns the name of the current Job, if one is known.
    pub(crate) fn job(&self) -> Option<&str> {
        self.job.as_deref()
    }

    /// Returns whether existing content was reused.
    pub(crate) fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// Returns the name of the current phase.
    fn phase(&self) -> &'static str {
        let next = if self.is_reused { PHASES.len() - 1 } else { self.done() };
        PHASES.get(next).copied().unwrap_or_default()
    }

    /// Returns what the launch is waiting for, as the end of a line.
    fn waiting_suffix(&self) -> String {
        self.waiting.as_ref().map(|waiting| format!("  {waiting}")).unwrap_or_default()
    }

    /// Returns the lines that show the progress, `elapsed` after the start.
    pub(crate) fn lines(&self, elapsed: Duration, turn: usize, palette: &Palette) -> Vec<Line> {
        let mut lines = Vec::new();
        let suffix = if self.is_reused { ", which already contains the content" } else { "" };
        let config_map = self.config_map.as_ref().map(|name| format!("{name}{suffix}"));
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
            // Existing content only has to be loaded.
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
                // The phase was too short to be observed, or another launcher created the Job.
                None if index < done => Line::default().styled(palette.dim, &format!("✓ {name}")),
                None if index == done && self.is_failed => Line::default()
                    .styled(palette.error, "✗")
                    .text(&format!(" {name:NAME_WIDTH$}  {:>8}", seconds(elapsed))),
                None if index == done || self.is_reused => Line::new(&format!(
                    "{} {name:NAME_WIDTH$}  {:>8}",
                    spinner(turn),
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

    /// Returns how many phases have ended: all up to the last one that was observed.
    fn done(&self) -> usize {
        self.phases.iter().rposition(Option::is_some).map_or(0, |last| last + 1)
    }

    fn finish(&mut self, phase: usize, at: Duration, detail: String) {
        if let Some(place) = self.phases.get_mut(phase) {
            *place = Some((at, detail));
        }
    }
}

/// Formats when the next attempt starts.
fn format_retry(after: Duration) -> String {
    if after.is_zero() {
        "retrying now".to_owned()
    } else {
        format!("retrying in {}", seconds(after))
    }
}

/// Formats a duration, such as `1.50s` or `2m05s`.
pub(crate) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.2}s", time.as_secs_f64()),
        seconds => format!("{}m{:02}s", seconds / 60, seconds % 60),
    }
}

/// Returns a frame of the spinner.
fn spinner(turn: usize) -> &'static str {
    SPINNER.get(turn % SPINNER.len()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
