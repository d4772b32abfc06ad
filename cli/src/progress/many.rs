//! [`Progresses`]: shows the progress of many launches.

use std::time::{Duration, Instant};

use unlade_launcher::{Event, Failure, Step};

use super::{Line, Progress, seconds, spinner};
use crate::screen::Palette;

/// The maximum number of launches with a line of their own. The others are only counted.
const MAX_LINES: usize = 20;

/// The progress of many launches, in the order of their images.
#[derive(Debug, Default)]
pub(crate) struct Progresses(Vec<LaunchProgress>);

/// The progress of one of many launches.
#[derive(Debug)]
pub(crate) struct LaunchProgress {
    pub(crate) image: String,
    pub(crate) progress: Progress,
    pub(crate) status: LaunchStatus,
    /// When the launch started.
    started: Option<Instant>,
    /// The time from its start to its last event.
    last: Duration,
}

impl LaunchProgress {
    /// Returns how long the launch took, or has taken so far.
    pub(crate) fn took(&self) -> Duration {
        match self.status {
            LaunchStatus::Running => self.started.map_or(self.last, |started| started.elapsed()),
            _ => self.last,
        }
    }
}

/// The status of one of many launches.
#[derive(Debug)]
pub(crate) enum LaunchStatus {
    /// The launch has not started yet.
    NotStarted,
    /// The launch is running.
    Running,
    /// The ConfigMap holds the content.
    Unpacked,
    /// The launch failed.
    Failed(Box<Failure>),
}

impl Progresses {
    /// Creates the progress for `images`, none of which has started.
    pub(crate) fn new(images: &[String]) -> Self {
        let not_started = |image: &String| LaunchProgress {
            image: image.clone(),
            progress: Progress::default(),
            status: LaunchStatus::NotStarted,
            started: None,
            last: Duration::ZERO,
        };
        Self(images.iter().map(not_started).collect())
    }

    /// Records an event of the launch with this index, and returns its progress.
    pub(crate) fn record(&mut self, index: usize, event: &Event) -> Option<&LaunchProgress> {
        let launch = self.0.get_mut(index)?;
        launch.progress.record(event);
        launch.last = event.at;
        launch.started = launch.started.or_else(|| Instant::now().checked_sub(event.at));
        launch.status = match &event.step {
            Step::Reused | Step::Written => LaunchStatus::Unpacked,
            _ => LaunchStatus::Running,
        };
        Some(launch)
    }

    /// Records that the launch with this index failed after this time.
    pub(crate) fn fail(&mut self, index: usize, took: Duration, failure: &Failure) {
        if let Some(launch) = self.0.get_mut(index) {
            launch.progress.fail();
            launch.last = took;
            launch.status = LaunchStatus::Failed(Box::new(failure.clone()));
        }
    }

    /// Returns the progress of all launches.
    pub(crate) fn all(&self) -> &[LaunchProgress] {
        &self.0
    }

    /// Returns the lines that show the progress, `elapsed` after the start.
    pub(crate) fn lines(&self, elapsed: Duration, turn: usize, palette: &Palette) -> Vec<Line> {
        let n_failed = self.count(|status| matches!(status, LaunchStatus::Failed(_)));
        let n_unpacked = self.count(|status| matches!(status, LaunchStatus::Unpacked));
        let n_running = self.running().count();
        let mut head = Line::new(&format!(
            "{} {} of {} images done, {n_running} running  {}",
            spinner(turn),
            n_failed + n_unpacked,
            self.0.len(),
            seconds(elapsed)
        ));
        if let Some(left) = self.estimate(elapsed) {
            head = head.text(&format!("  about {} left", seconds(left)));
        }
        if n_failed > 0 {
            head = head.text("  ").styled(palette.error, &format!("{n_failed} failed"));
        }
        let mut lines = vec![head];
        for LaunchProgress { image, progress, .. } in self.running().take(MAX_LINES) {
            let line = Line::new(&format!("  {:13} ", progress.phase())).text(image);
            lines.push(line.styled(palette.warning, &progress.waiting_suffix()));
        }
        let n_more = n_running.saturating_sub(MAX_LINES);
        if n_more > 0 {
            lines.push(Line::default().styled(palette.dim, &format!("  and {n_more} more")));
        }
        lines
    }

    /// Estimates the time until all launches have ended, from those that have ended and did not
    /// reuse content. Returns `None` before the first one, because there is nothing to estimate
    /// from, and after the last one.
    fn estimate(&self, elapsed: Duration) -> Option<Duration> {
        let is_open = |status: &LaunchStatus| {
            matches!(status, LaunchStatus::NotStarted | LaunchStatus::Running)
        };
        let n_open = self.count(is_open);
        let ended = self.0.iter().filter(|launch| !is_open(&launch.status));
        let n_ended = ended.filter(|launch| !launch.progress.is_reused()).count();
        let (n_open, n_ended) = (u32::try_from(n_open).ok()?, u32::try_from(n_ended).ok()?);
        let left = elapsed.checked_mul(n_open)?.checked_div(n_ended)?;
        // Fractions of a second would only flicker.
        (n_open > 0).then(|| Duration::from_secs(left.as_secs().max(1)))
    }

    fn running(&self) -> impl Iterator<Item = &LaunchProgress> {
        self.0.iter().filter(|launch| matches!(launch.status, LaunchStatus::Running))
    }

    fn count(&self, is_counted: impl Fn(&LaunchStatus) -> bool) -> usize {
        self.0.iter().filter(|launch| is_counted(&launch.status)).count()
    }
}
