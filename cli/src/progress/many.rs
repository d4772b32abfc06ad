//! [`Progresses`]: many launches on one screen.

use std::time::{Duration, Instant};

use unlade_launcher::{Event, Failure, Step};

use super::{Line, Progress, seconds, sign};
use crate::screen::Palette;

/// Most launches that have a line of their own; the others are only counted.
const LINES: usize = 20;

/// What is known of many launches, in their order.
#[derive(Debug, Default)]
pub(crate) struct Progresses(Vec<One>);

/// One of many.
#[derive(Debug)]
pub(crate) struct One {
    pub(crate) image: String,
    pub(crate) progress: Progress,
    pub(crate) standing: Standing,
    /// When the launch began.
    began: Option<Instant>,
    /// The time of its last event since its own beginning.
    last: Duration,
}

impl One {
    /// How long the launch took, or has taken so far.
    pub(crate) fn took(&self) -> Duration {
        match self.standing {
            Standing::AtWork => self.began.map_or(self.last, |began| began.elapsed()),
            _ => self.last,
        }
    }
}

/// How far one of many is.
#[derive(Debug)]
pub(crate) enum Standing {
    /// Its turn hasn't come.
    NotBegun,
    /// It goes on.
    AtWork,
    /// Its ConfigMap holds the content.
    Unpacked,
    /// It failed.
    Failed(Box<Failure>),
}

impl Progresses {
    /// None of `images` is begun.
    pub(crate) fn new(images: &[String]) -> Self {
        let one = |image: &String| One {
            image: image.clone(),
            progress: Progress::default(),
            standing: Standing::NotBegun,
            began: None,
            last: Duration::ZERO,
        };
        Self(images.iter().map(one).collect())
    }

    /// Takes an event of `image` in, and gives what is known of that.
    pub(crate) fn see(&mut self, image: &str, event: &Event) -> Option<&One> {
        let one = self.0.iter_mut().find(|one| one.image == image)?;
        one.progress.see(event);
        one.last = event.at;
        one.began = one.began.or_else(|| Instant::now().checked_sub(event.at));
        one.standing = match &event.step {
            Step::Reused | Step::Written | Step::Loaded => Standing::Unpacked,
            Step::Failed { failure } => Standing::Failed(failure.clone()),
            _ => Standing::AtWork,
        };
        Some(one)
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[One] {
        &self.0
    }

    /// The lines that show it, `elapsed` after it began.
    pub(crate) fn lines(&self, elapsed: Duration, turn: usize, palette: &Palette) -> Vec<Line> {
        let n_failed = self.count(|standing| matches!(standing, Standing::Failed(_)));
        let n_unpacked = self.count(|standing| matches!(standing, Standing::Unpacked));
        let n_at_work = self.at_work().count();
        let mut head = Line::new(&format!(
            "{} {} of {} images, {n_at_work} at work  {}",
            sign(turn),
            n_failed + n_unpacked,
            self.0.len(),
            seconds(elapsed)
        ));
        if n_failed > 0 {
            head = head.text("  ").styled(palette.error, &format!("{n_failed} failed"));
        }
        let mut lines = vec![head];
        for One { image, progress, .. } in self.at_work().take(LINES) {
            let line = Line::new(&format!("  {:13} ", progress.phase())).text(image);
            lines.push(line.styled(palette.warning, &progress.trouble()));
        }
        let n_more = n_at_work.saturating_sub(LINES);
        if n_more > 0 {
            lines.push(Line::default().styled(palette.dim, &format!("  and {n_more} more")));
        }
        lines
    }

    fn at_work(&self) -> impl Iterator<Item = &One> {
        self.0.iter().filter(|one| matches!(one.standing, Standing::AtWork))
    }

    fn count(&self, is_wanted: impl Fn(&Standing) -> bool) -> usize {
        self.0.iter().filter(|one| is_wanted(&one.standing)).count()
    }
}
