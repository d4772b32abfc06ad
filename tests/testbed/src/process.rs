//! Processes, which are distinguished from later ones with the same id.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use crate::Error;

/// The record of a process. Its id alone may refer to another process later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// The time of its start, in clock ticks since the boot (`proc_pid_stat(5)`, field 22).
    started: u64,
    /// The id of the boot.
    boot: String,
}

/// The state of an existing process, as the kernel reports it.
struct Stat {
    state: char,
    /// The number of its threads that have not ended.
    n_threads: u64,
    started: u64,
}

impl Process {
    /// Finds the process that has this id now. It remains the same process after `exec`.
    pub(crate) fn find(id: u32) -> Result<Self, Error> {
        let found = i32::try_from(id).ok().and_then(|pid| Some((pid, stat(pid)?)));
        let missing = || Error::kernel(format!("find process {id}"))(io::ErrorKind::NotFound);
        let (pid, stat) = found.ok_or_else(missing)?;
        Ok(Self { pid, started: stat.started, boot: boot() })
    }

    /// Checks whether it is still running. A zombie is not.
    pub(crate) fn is_alive(&self) -> bool {
        self.stat().is_some()
    }

    /// Checks whether a signal has stopped it.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stat().is_some_and(|stat| stat.state == 'T')
    }

    /// Sends a signal. Returns `false` if the process had already ended.
    pub(crate) fn signal(&self, signal: Signal) -> Result<bool, Error> {
        self.open()?.map_or(Ok(false), |descriptor| send(&descriptor, self.pid, signal))
    }

    /// Returns a descriptor of it, or `None` if it has ended.
    pub(crate) fn open(&self) -> Result<Option<OwnedFd>, Error> {
        // Open the descriptor before the check: the descriptor always refers to the same process.
        Ok(open(self.pid)?.filter(|_| self.is_alive()))
    }

    fn stat(&self) -> Option<Stat> {
        let stat = stat(self.pid)?;
        let same = stat.started == self.started && self.boot == boot();
        // The first thread of a killed process can be a zombie before the others have ended, which
        // still hold its files and ports.
        let has_ended = matches!(stat.state, 'Z' | 'X') && stat.n_threads <= 1;
        (same && !has_ended).then_some(stat)
    }
}

/// Kills the process that has this id now, if `is_ours` accepts it.
pub(crate) fn kill_if(pid: i32, is_ours: impl FnOnce() -> bool) -> Result<bool, Error> {
    let Some(descriptor) = open(pid)? else { return Ok(false) };
    if is_ours() { send(&descriptor, pid, Signal::KILL) } else { Ok(false) }
}

fn open(pid: i32) -> Result<Option<OwnedFd>, Error> {
    let Some(pid) = Pid::from_raw(pid) else { return Ok(None) };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(descriptor) => Ok(Some(descriptor)),
        Err(rustix::io::Errno::SRCH) => Ok(None),
        Err(error) => Err(Error::kernel(format!("open process {pid:?}"))(error)),
    }
}

fn send(descriptor: &OwnedFd, pid: i32, signal: Signal) -> Result<bool, Error> {
    match pidfd_send_signal(descriptor, signal) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::SRCH) => Ok(false),
        Err(error) => Err(Error::kernel(format!("send {signal:?} to process {pid}"))(error)),
    }
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in the second field is in parentheses, and may contain any character, even `)`.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    // Fields are numbered from 1. Two of them are before the parenthesis, and one was already read.
    let n_threads = fields.nth(16)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    Some(Stat { state, n_threads, started })
}

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rustix::process::Signal;

    use super::{Process, boot, stat};

    #[test]
    fn a_later_process_with_the_same_id_is_not_touched() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let started = stat(pid).unwrap().started;
        let other = Process { pid, started: started + 1, boot: boot() };
        assert!(!other.is_alive());
        assert!(!other.signal(Signal::KILL).unwrap());
        let earlier_boot = Process { pid, started, boot: "another".into() };
        assert!(!earlier_boot.signal(Signal::KILL).unwrap());
        assert!(child.try_wait().unwrap().is_none(), "it must still run");

        let same = Process { pid, started, boot: boot() };
        assert!(same.signal(Signal::KILL).unwrap());
        child.wait().unwrap();
        assert!(!same.is_alive());
        assert!(!same.signal(Signal::KILL).unwrap());
    }

    #[test]
    fn a_process_that_nobody_waited_for_counts_as_ended() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let process = Process { pid, started: stat(pid).unwrap().started, boot: boot() };
        let deadline = std::time::Duration::from_secs(10);
        crate::wait::wait_for("its end", deadline, || Ok((!process.is_alive()).then_some(())))
            .unwrap();
        assert!(stat(pid).is_some(), "it is still listed");
        child.wait().unwrap();
    }
}
