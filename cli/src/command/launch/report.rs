//! Telling of launches while they go on, in the way that was asked for.

use std::io::{self, Stderr};
use std::time::{Duration, Instant};

use serde::Serialize;
use unlade_launcher::{Event, Failure};

use super::{Job, document::Line};
use crate::{
    args::Output,
    error::{self, Error},
    output::{Documents, Form},
    progress::{self, Live},
    screen::{Palette, Screen},
};

/// How often what is shown on a terminal is drawn again.
pub(super) const TURN: Duration = Duration::from_millis(100);

/// Where events go.
enum Way {
    /// Nowhere.
    Quiet,
    /// Standard output, a JSON document each.
    Json,
    /// Standard error, a line each.
    Lines,
    /// The last lines of the terminal.
    Live(Live<Stderr>),
}

/// Tells of launches.
pub(super) struct Report {
    way: Way,
    start: Instant,
    turn: usize,
    palette: Palette,
    /// Whether it was already reported that the cluster cannot be reached.
    is_cluster_told: bool,
}

impl Report {
    /// Begins now.
    pub(super) fn new(job: &Job<'_>) -> Self {
        let way = match job.screen.live {
            _ if job.output == Output::Json => Way::Json,
            // Lines that are redrawn and log lines would overwrite each other.
            _ if job.is_quiet || job.is_logged => Way::Quiet,
            Some(width) => Way::Live(Live::new(io::stderr(), width)),
            None => Way::Lines,
        };
        Self {
            way,
            start: Instant::now(),
            turn: 0,
            palette: job.screen.err,
            is_cluster_told: false,
        }
    }

    /// The time since the beginning.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Tells of an event of `image`.
    pub(super) fn event(
        &self,
        image: &str,
        namespace: &str,
        event: &Event,
        is_one_of_many: bool,
    ) -> Result<(), Error> {
        match &self.way {
            Way::Json => return self.json(&Line::event(image, namespace, event)),
            Way::Lines => error::note(&progress::line(is_one_of_many.then_some(image), event)),
            Way::Quiet | Way::Live(_) => {}
        }
        Ok(())
    }

    /// Reports why `image`, one of many, was not launched. A failure that affects all images is
    /// reported once.
    pub(super) fn failure(&mut self, image: &str, failure: &Failure, screen: &Screen) {
        self.clear();
        if !failure.is_of_cluster() {
            error::report(&Error::launch(image, failure.clone()), screen);
        } else if !self.is_cluster_told {
            self.is_cluster_told = true;
            error::report(&failure.clone().into(), screen);
        }
    }

    /// Writes a document, where documents are written.
    pub(super) fn json(&self, document: &impl Serialize) -> Result<(), Error> {
        if !matches!(self.way, Way::Json) {
            return Ok(());
        }
        // Each is to be read as soon as it is there.
        let mut documents = Documents::new(Form::JsonLines, io::stdout().lock());
        documents.write(document).and_then(|()| documents.finish()).map_err(Error::Output)
    }

    /// Draws the lines for a time since the beginning, where lines can be drawn.
    pub(super) fn draw(
        &mut self,
        lines: impl FnOnce(Duration, usize, &Palette) -> Vec<progress::Line>,
    ) {
        if let Way::Live(live) = &mut self.way {
            self.turn = self.turn.wrapping_add(1);
            // Nobody is left to see it if standard error fails.
            _ = live.draw(&lines(self.start.elapsed(), self.turn, &self.palette));
        }
    }

    /// Takes what is drawn away, for other lines that stay.
    pub(super) fn clear(&mut self) {
        if let Way::Live(live) = &mut self.way {
            _ = live.clear();
        }
    }

    /// Leaves what is drawn as it is.
    pub(super) fn leave(&mut self) {
        if let Way::Live(live) = &mut self.way {
            _ = live.leave();
        }
    }
}
