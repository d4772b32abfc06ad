//! Signals that ask for the end.
//!
//! The kernel keeps from process 1 of a container every signal that it has no handler for, so
//! that a pod which is deleted would wait for the whole of its grace period. The signals are
//! blocked instead, and a thread waits for them: no handler, nothing that may interrupt a call.

use nix::sys::signal::{SigSet, Signal};

/// What a kubelet (SIGTERM), a terminal (SIGINT, SIGHUP, SIGQUIT) and the `STOPSIGNAL` of an
/// image, which the bundle chooses, may send.
const SIGNALS: [Signal; 4] = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];

/// The signals, kept back from this thread and from those that it starts later.
#[derive(Debug)]
pub(crate) struct Signals(SigSet);

impl Signals {
    /// Call it before any thread is started: one without the mask would end the process.
    pub(crate) fn keep_back() -> Self {
        let signals = SigSet::from_iter(SIGNALS);
        // It fails only for arguments that are not there.
        let _ = signals.thread_block();
        Self(signals)
    }

    /// Waits for one of them and gives its name; none if there is no way to wait.
    pub(crate) fn wait(&self) -> Option<&'static str> {
        self.0.wait().ok().map(Signal::as_str)
    }
}
