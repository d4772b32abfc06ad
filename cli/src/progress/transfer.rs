//! [`Transfers`]: shows the progress of blobs that are read from a registry or written to it.

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use unlade_registry::{Progress, Transfer};

use super::{Line, Live, TURN, seconds, spinner};
use crate::{
    screen::Screen,
    stderr,
    summary::{count, size_of},
};

/// The length of the part of a digest that is shown, in characters. It is enough to find a layer in
/// a manifest.
const DIGEST: usize = 19;

/// The notes that wait until the lines have disappeared; `None` if no lines are shown.
static WAITING: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Writes a line to standard error once no transfers are shown, because they would overwrite it.
pub(crate) fn note(text: &str) {
    match &mut *WAITING.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(waiting) => waiting.push(text.to_owned()),
        None => stderr::note(text),
    }
}

/// Shows transfers on a terminal, in a thread, until it is dropped. Then the lines disappear.
#[derive(Debug)]
pub(crate) struct Transfers(Option<Drawing>);

#[derive(Debug)]
struct Drawing {
    rows: Arc<Mutex<Rows>>,
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The transfers so far.
#[derive(Debug, Default)]
struct Rows {
    running: Vec<Row>,
    /// The number of complete transfers.
    count: usize,
    /// The size of these blobs, in bytes.
    size: u64,
}

#[derive(Debug)]
struct Row {
    digest: String,
    position: u64,
    size: u64,
}

impl Transfers {
    /// Starts to show transfers, unless standard error is not a terminal that can redraw lines.
    pub(crate) fn start(screen: &Screen, is_quiet: bool) -> Self {
        let Some(width) = screen.live.filter(|_| !is_quiet) else { return Self(None) };
        let rows = Arc::<Mutex<Rows>>::default();
        let (stop, stopped) = mpsc::channel::<()>();
        let shown = Arc::clone(&rows);
        let draw = move || {
            let mut live = Live::new(io::stderr(), width);
            let start = Instant::now();
            let mut turn = 0;
            // The first lines appear after one turn, so that short transfers do not flicker.
            while stopped.recv_timeout(TURN) == Err(RecvTimeoutError::Timeout) {
                draw(&shown, &mut live, start.elapsed(), turn);
                turn += 1;
            }
            // A command does not fail because its progress cannot be shown.
            _ = live.clear();
        };
        // Without a thread, nothing is shown, and no note has to wait.
        let Ok(thread) = thread::Builder::new().spawn(draw) else { return Self(None) };
        *WAITING.lock().unwrap_or_else(PoisonError::into_inner) = Some(Vec::new());
        Self(Some(Drawing { rows, stop: Some(stop), thread: Some(thread) }))
    }

    /// Returns the receiver of the progress, if it is shown.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let rows = Arc::clone(&self.0.as_ref()?.rows);
        Some(Progress::new(move |transfer| {
            rows.lock().unwrap_or_else(PoisonError::into_inner).record(transfer);
        }))
    }
}

impl Drop for Drawing {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already reported.
            _ = thread.join();
        }
        let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner).take();
        waiting.into_iter().flatten().for_each(|text| stderr::note(&text));
    }
}

fn draw(rows: &Mutex<Rows>, live: &mut Live<impl Write>, elapsed: Duration, turn: usize) {
    let rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
    // Drawing nothing would erase the line in which a credential helper asks for a password.
    if rows.is_empty() {
        return;
    }
    let lines = rows.lines(elapsed, turn);
    drop(rows);
    _ = live.draw(&lines);
}

impl Rows {
    fn is_empty(&self) -> bool {
        self.running.is_empty() && self.count == 0
    }

    fn record(&mut self, transfer: &Transfer<'_>) {
        let digest = transfer.digest.as_ref();
        let at = self.running.iter().position(|row| row.digest == digest);
        if transfer.position >= transfer.size {
            at.map(|at| self.running.remove(at));
            self.count += 1;
            self.size += transfer.size;
        } else if let Some(row) = at.and_then(|at| self.running.get_mut(at)) {
            row.position = transfer.position;
        } else {
            let (position, size) = (transfer.position, transfer.size);
            self.running.push(Row { digest: digest.to_owned(), position, size });
        }
    }

    /// Returns the lines that show the transfers, `elapsed` after the start.
    fn lines(&self, elapsed: Duration, turn: usize) -> Vec<Line> {
        let head = format!(
            "{} {} transferred, {}  {}",
            spinner(turn),
            count(self.count, "blob"),
            size_of(self.size),
            seconds(elapsed)
        );
        let row = |Row { digest, position, size }: &Row| {
            let digest: String = digest.chars().take(DIGEST).collect();
            let percent = u128::from(*position) * 100 / u128::from((*size).max(1));
            Line::new(&format!("  {digest}  {percent:>3} % of {}", size_of(*size)))
        };
        [Line::new(&head)].into_iter().chain(self.running.iter().map(row)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_before_the_first_transfer() {
        let mut text = Vec::new();
        draw(&Mutex::default(), &mut Live::new(&mut text, 80), Duration::ZERO, 0);
        assert_eq!(text, b"");
    }
}
