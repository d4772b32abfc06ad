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

/// How long the program may take to finish after the second signal before it is ended.
const GRACE: Duration = Duration::from_secs(2);

/// Receives Ctrl-C and SIGTERM. The first signal goes to [`Stop::asked`] if the launch is waiting
/// for it; the second ends the program whatever it is doing.
///
/// A separate thread receives the signals, because a slow reader of the output can block the thread
/// that launches. Once a signal is caught, its default action is never restored, so this thread
/// also does what the default action would do.
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
                // The constructor is waiting for the result.
                if let Err(error) = receive(&sender, &handled, &ready) {
                    _ = ready.send(Err(error));
                }
            })
            .map_err(failed)?;
        // Until then, a signal still has its default action.
        is_ready.recv().map_err(io::Error::other).flatten().map_err(failed)?;
        Ok(Self { signals, is_handled })
    }

    /// Waits for the next signal.
    pub(super) async fn asked(&mut self) {
        if self.signals.next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Makes the next signal arrive at [`Stop::asked`] again.
    pub(super) fn handle(&self) {
        self.is_handled.store(true, Ordering::Relaxed);
    }

    /// Makes the next signal end the program, because nothing waits for signals any longer.
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
            // The exit code that a shell reports for a program ended by this signal.
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
