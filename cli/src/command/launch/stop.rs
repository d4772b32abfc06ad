//! Ctrl-C and SIGTERM.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, process, thread};

use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use crate::error::Error;

/// How long the program has to end after the second signal, before it is ended.
const GRACE: Duration = Duration::from_secs(2);

/// Whether Ctrl-C or SIGTERM was sent. The first signal is for [`Stop::asked`], where someone waits
/// for it; the second ends the program whatever it does.
///
/// A thread of its own receives the signals: the one that launches can be held up by whoever reads
/// the output. Once signals are caught the default action never comes back, so this thread also does
/// what the default action would do.
pub(super) struct Stop {
    signals: UnboundedReceiver<()>,
    is_handled: Arc<AtomicBool>,
}

impl Stop {
    /// Catches signals from now on.
    pub(super) fn new() -> Result<Self, Error> {
        let failed = |source| Error::Connection(crate::connection::Error::Runtime(source));
        let is_handled = Arc::new(AtomicBool::new(true));
        let (sender, signals) = unbounded();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let handled = is_handled.clone();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                // Whoever began this waits for the answer.
                if let Err(error) = receive(&sender, &handled, &ready) {
                    _ = ready.send(Err(error));
                }
            })
            .map_err(failed)?;
        // A signal before this would be the default action's.
        is_ready.recv().map_err(io::Error::other).flatten().map_err(failed)?;
        Ok(Self { signals, is_handled })
    }

    /// The next signal.
    pub(super) async fn asked(&mut self) {
        if self.signals.next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Someone waits for the next signal again.
    pub(super) fn handle(&self) {
        self.is_handled.store(true, Ordering::Relaxed);
    }

    /// Nobody waits for a signal any more: the next one ends the program.
    pub(super) fn release(&self) {
        self.is_handled.store(false, Ordering::Relaxed);
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.release();
    }
}

fn receive(
    signals: &UnboundedSender<()>,
    is_handled: &AtomicBool,
    ready: &std::sync::mpsc::Sender<io::Result<()>>,
) -> io::Result<()> {
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        _ = ready.send(Ok(()));
        let mut is_first = true;
        loop {
            // What a shell reports of a program that such a signal ended.
            let code = tokio::select! {
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
            };
            if !is_handled.load(Ordering::Relaxed) {
                process::exit(code);
            }
            _ = signals.unbounded_send(());
            if !is_first {
                thread::sleep(GRACE);
                process::exit(code);
            }
            is_first = false;
        }
    })
}
