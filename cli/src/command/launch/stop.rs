//! Ctrl-C, and being asked to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Error;

/// Waits for Ctrl-C or SIGTERM. The second one ends the program at once.
pub(super) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    pub(super) fn new() -> Result<Self, Error> {
        let listen = |kind| {
            signal(kind).map_err(|source: io::Error| {
                Error::Connection(crate::connection::Error::Runtime(source))
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// The next one.
    pub(super) async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
