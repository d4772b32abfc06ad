//! Signals that ask for the end.
//!
//! The kernel keeps from process 1 of a container every signal that it has no handler for, so
//! that a pod which is deleted would wait for the whole of its grace period. Which signal asks for
//! the end is the image's choice (`STOPSIGNAL`), so every one does. The signals are blocked, and a
//! thread reads them from a descriptor: no handler, nothing that may interrupt a call.

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use rustix::process::getpid;

/// What the program does to itself when it fails. Blocked, they would end it as well, but without
/// the message of the standard library.
const FAULTS: [Signal; 6] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGTRAP,
    Signal::SIGSYS,
];

/// What ends no process by itself. The kernel sends them at a resized window, a child's end or
/// Ctrl-Z, so they ask for the end only in a container, and only if a process has sent them.
const HARMLESS: [Signal; 7] = [
    Signal::SIGCHLD,
    Signal::SIGCONT,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGURG,
    Signal::SIGWINCH,
];

/// The signals, kept back from this thread and from those that it starts later.
#[derive(Debug)]
pub(crate) struct Signals(Option<SignalFd>);

impl Signals {
    /// Call it before any thread is started: one without the mask would end the process.
    ///
    /// All signals are kept back but [`FAULTS`], 32 and 33, which belong to the C library, and
    /// those that nobody can keep back. [`HARMLESS`] ones are kept back in process 1 alone.
    ///
    /// A signal that a thread causes by its own call, as SIGPIPE and SIGXFSZ, stays with that
    /// thread. The call then fails, which is reported like any other failure.
    pub(crate) fn keep_back() -> Self {
        let mut signals = SigSet::all();
        for signal in FAULTS {
            signals.remove(signal);
        }
        if !getpid().is_init() {
            for signal in HARMLESS {
                signals.remove(signal);
            }
        }
        // Without a free descriptor there is no bundle to be read either, and the signals stay
        // what they were.
        let descriptor = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).ok();
        if descriptor.is_some() {
            // It fails only for arguments that are not there.
            let _ = signals.thread_block();
        }
        Self(descriptor)
    }

    /// Waits for one that asks for the end and gives its name; none if there is no way to wait.
    pub(crate) fn wait(&self) -> Option<String> {
        let descriptor = self.0.as_ref()?;
        loop {
            match descriptor.read_signal() {
                Ok(Some(signal)) if asks_for_the_end(&signal) => return Some(name(&signal)),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
    }
}

fn asks_for_the_end(signal: &siginfo) -> bool {
    // `SI_USER` is 0 and the other ways in which a process sends one are negative (sigaction(2)).
    let was_sent = signal.ssi_code <= 0;
    was_sent || known(signal).is_none_or(|signal| !HARMLESS.contains(&signal))
}

/// `SIGTERM`, or a number for the real-time signals, which have no names.
fn name(signal: &siginfo) -> String {
    known(signal)
        .map_or_else(|| format!("signal {}", signal.ssi_signo), |signal| signal.as_str().to_owned())
}

fn known(signal: &siginfo) -> Option<Signal> {
    i32::try_from(signal.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok())
}
