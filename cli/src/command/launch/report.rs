//! Reports the progress of launches in the requested format.

use std::io::{self, Stderr};
use std::time::{Duration, Instant};

use serde::Serialize;
use unlade_launcher::{Event, Failure};

use super::{
    Settings,
    document::{Line, LoadedEvent},
};
use crate::{
    args::Output,
    error::Error,
    output::{Documents, Form},
    progress::{self, Live},
    screen::{Palette, Screen},
    stderr,
};

/// How events are reported.
enum Mode {
    /// Events are not reported.
    Quiet,
    /// Each event is a JSON document on standard output.
    Json,
    /// Each event is a line on standard error.
    Lines,
    /// The last lines of the terminal show the progress.
    Live(Live<Stderr>),
}

/// Reports the progress of launches.
pub(super) struct Report {
    mode: Mode,
    start: Instant,
    turn: usize,
    palette: Palette,
    /// Whether it was already reported that the cluster cannot be reached.
    is_cluster_failure_reported: bool,
}

impl Report {
    /// Starts the clock of the report.
    pub(super) fn new(settings: &Settings<'_>) -> Self {
        let mode = match settings.screen.live {
            _ if settings.output == Output::Json => Mode::Json,
            // Lines that are redrawn and log lines would overwrite each other.
            _ if settings.is_quiet || settings.is_logged => Mode::Quiet,
            Some(width) => Mode::Live(Live::new(io::stderr(), width)),
            None => Mode::Lines,
        };
        Self {
            mode,
            start: Instant::now(),
            turn: 0,
            palette: settings.screen.err,
            is_cluster_failure_reported: false,
        }
    }

    /// Returns the time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Reports an event of `image`.
    pub(super) fn event(
        &self,
        image: &str,
        namespace: &str,
        event: &Event,
        is_one_of_many: bool,
    ) -> Result<(), Error> {
        match &self.mode {
            Mode::Json => return self.json(&Line::event(image, namespace, event)),
            Mode::Lines => stderr::note(&progress::line(is_one_of_many.then_some(image), event)),
            Mode::Quiet | Mode::Live(_) => {}
        }
        Ok(())
    }

    /// Reports that the bundle of the only image was loaded at this time after the start.
    pub(super) fn loaded(&self, image: &str, namespace: &str, at: Duration) -> Result<(), Error> {
        match &self.mode {
            Mode::Json => {
                return self.json(&Line { image, namespace, payload: LoadedEvent::new(at) });
            }
            Mode::Lines => stderr::note(&progress::timed_line(None, at, "loaded")),
            Mode::Quiet | Mode::Live(_) => {}
        }
        Ok(())
    }

    /// Reports why `image`, one of many, was not launched. A failure that affects all images is
    /// reported once.
    pub(super) fn failure(&mut self, image: &str, failure: &Failure, screen: &Screen) {
        self.clear();
        if !failure.is_cluster_unreachable() {
            stderr::report(&Error::launch(image, failure.clone()), screen);
        } else if !self.is_cluster_failure_reported {
            self.is_cluster_failure_reported = true;
            stderr::report(&failure.clone().into(), screen);
        }
    }

    /// Writes a document if the output is JSON.
    pub(super) fn json(&self, document: &impl Serialize) -> Result<(), Error> {
        if !matches!(self.mode, Mode::Json) {
            return Ok(());
        }
        // Flushed each time, so that readers see each event at once.
        let mut documents = Documents::new(Form::JsonLines, io::stdout().lock());
        documents.write(document).and_then(|()| documents.finish()).map_err(Error::Output)
    }

    /// Draws the lines for the time since the start, if the terminal can redraw lines.
    pub(super) fn draw(
        &mut self,
        lines: impl FnOnce(Duration, usize, &Palette) -> Vec<progress::Line>,
    ) {
        if let Mode::Live(live) = &mut self.mode {
            self.turn = self.turn.wrapping_add(1);
            // If standard error fails, the error cannot be reported anywhere.
            _ = live.draw(&lines(self.start.elapsed(), self.turn, &self.palette));
        }
    }

    /// Removes the lines from the terminal, so that other lines can be written.
    pub(super) fn clear(&mut self) {
        if let Mode::Live(live) = &mut self.mode {
            _ = live.clear();
        }
    }

    /// Leaves the lines on the terminal.
    pub(super) fn keep(&mut self) {
        if let Mode::Live(live) = &mut self.mode {
            _ = live.keep();
        }
    }
}
