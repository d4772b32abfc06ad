//! Receives the signals that end the process.
//!
//! The kernel does not deliver a signal to process 1 of a container if the process has no handler
//! for it, so the deletion of a pod would wait for its whole grace period. The image chooses the
//! signal (`STOPSIGNAL`), so every signal ends the process. The signals are blocked, and a thread
//! reads them from a descriptor, so that no handler can interrupt a system call.

use nix::errno::Errno;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use rustix::process::getpid;

/// The signals that a fault in the program raises. If they were blocked, they would still end the
/// process, but without the message of the standard library.
const FAULTS: [Signal; 6] = [
    Signal::SIGSEGV,
    Signal::SIGBUS,
    Signal::SIGFPE,
    Signal::SIGILL,
    Signal::SIGTRAP,
    Signal::SIGSYS,
];

/// The signals that do not end a process by default. The kernel sends them when a window is
/// resized, a child ends, or the user presses Ctrl-Z. So they end the process only in a container,
/// and only if another process sent them.
const HARMLESS: [Signal; 7] = [
    Signal::SIGCHLD,
    Signal::SIGCONT,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGURG,
    Signal::SIGWINCH,
];

/// The signals that are blocked in this thread and in the threads that it starts later.
#[derive(Debug)]
pub(crate) struct Signals(Option<SignalFd>);

impl Signals {
    /// Blocks the signals. This must be called before any thread is started, because a signal that
    /// is delivered to a thread without the mask would end the process.
    ///
    /// All signals are blocked except [`FAULTS`], 32 and 33, which belong to the C library, and
    /// those that cannot be blocked. [`HARMLESS`] signals are blocked only in process 1.
    ///
    /// A signal that a thread causes by its own call, such as SIGPIPE or SIGXFSZ, stays pending for
    /// that thread. The call then fails, and the failure is reported like any other.
    pub(crate) fn block() -> Self {
        let mut signals = SigSet::all();
        for signal in FAULTS {
            signals.remove(signal);
        }
        if !getpid().is_init() {
            for signal in HARMLESS {
                signals.remove(signal);
            }
        }
        // Without a free descriptor, no bundle can be read either, so the signals need no handling.
        let descriptor = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC).ok();
        if descriptor.is_some() {
            // This fails only for invalid arguments.
            let _ = signals.thread_block();
        }
        Self(descriptor)
    }

    /// Waits for a signal that ends the process, and returns its name, or `None` if waiting is
    /// impossible.
    pub(crate) fn wait(&self) -> Option<String> {
        let descriptor = self.0.as_ref()?;
        loop {
            match descriptor.read_signal() {
                Ok(Some(signal)) if ends_process(&signal) => return Some(name(&signal)),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return None,
            }
        }
    }
}

fn ends_process(signal: &siginfo) -> bool {
    // `SI_USER` is 0, and the other codes of signals from processes are negative (sigaction(2)).
    let was_sent = signal.ssi_code <= 0;
    was_sent || known(signal).is_none_or(|signal| !HARMLESS.contains(&signal))
}

/// Returns the name of a signal, such as `SIGTERM`, or its number if it is a real-time signal.
fn name(signal: &siginfo) -> String {
    known(signal)
        .map_or_else(|| format!("signal {}", signal.ssi_signo), |signal| signal.as_str().to_owned())
}

fn known(signal: &siginfo) -> Option<Signal> {
    i32::try_from(signal.ssi_signo).ok().and_then(|number| Signal::try_from(number).ok())
}
