//! The processes that a testbed consists of.

use std::fmt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use crate::launcher::{Launch, start};
use crate::place::Place;
use crate::process::Process;
use crate::wait::wait_for;
use crate::{Error, file};

/// A part of the testbed: one long-running process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers: Jobs, quotas, service accounts, node life cycle and so on.
    ControllerManager,
    /// The scheduler.
    Scheduler,
    /// The image registry.
    Registry,
    /// The proxy before the registry, which plays its faults.
    RegistryProxy,
    /// Holds the mount namespace of the node with this index.
    Mounts(usize),
    /// The container runtime of the node with this index.
    Containerd(usize),
    /// The agent of the node with this index.
    Kubelet(usize),
}

/// What a part is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// It was stopped by a signal and can go on.
    Stopped,
    /// It has ended, or was never started.
    Ended,
}

/// A part and what is known of it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PartStatus {
    /// Which part.
    pub part: Part,
    /// What it is doing.
    pub state: State,
    /// Its process id, while it has one.
    pub pid: Option<i32>,
    /// Where its output goes.
    pub log: PathBuf,
}

impl Part {
    /// The parts of a testbed with so many nodes, in the order in which they start.
    pub fn all(n_nodes: usize) -> Vec<Self> {
        let central = [
            Self::Etcd,
            Self::ApiServer,
            Self::ControllerManager,
            Self::Scheduler,
            Self::Registry,
            Self::RegistryProxy,
        ];
        let node = |index| [Self::Mounts(index), Self::Containerd(index), Self::Kubelet(index)];
        central.into_iter().chain((0..n_nodes).flat_map(node)).collect()
    }
}

/// The name that is used for files and shown to people.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Etcd => f.write_str("etcd"),
            Self::ApiServer => f.write_str("kube-apiserver"),
            Self::ControllerManager => f.write_str("kube-controller-manager"),
            Self::Scheduler => f.write_str("kube-scheduler"),
            Self::Registry => f.write_str("registry"),
            Self::RegistryProxy => f.write_str("registry-proxy"),
            Self::Mounts(index) => write!(f, "node{index}-mounts"),
            Self::Containerd(index) => write!(f, "node{index}-containerd"),
            Self::Kubelet(index) => write!(f, "node{index}-kubelet"),
        }
    }
}

impl Place {
    /// How the part is started, once it has been.
    pub(crate) fn launch_of(&self, part: Part) -> PathBuf {
        self.processes().join(format!("{part}.launch.json"))
    }

    /// The process that it became.
    pub(crate) fn process_of(&self, part: Part) -> PathBuf {
        self.processes().join(format!("{part}.process.json"))
    }

    pub(crate) fn log_of(&self, part: Part) -> PathBuf {
        self.logs().join(format!("{part}.log"))
    }

    pub(crate) fn status_of(&self, part: Part) -> Result<PartStatus, Error> {
        let process = self.process(part)?.filter(Process::is_alive);
        let state = match &process {
            None => State::Ended,
            Some(process) if process.is_stopped() => State::Stopped,
            Some(_) => State::Running,
        };
        let pid = process.map(|process| process.pid);
        Ok(PartStatus { part, state, pid, log: self.log_of(part) })
    }

    /// Starts a part the way it was started before, unless it runs.
    pub(crate) fn start_again(&self, part: Part) -> Result<(), Error> {
        if self.process(part)?.is_some_and(|process| process.is_alive()) {
            return Ok(());
        }
        let path = self.launch_of(part);
        let launch: Option<Launch> = file::read_json(&path)?;
        let Some(_) = launch else { return Err(Error::NotUp { name: self.name.clone() }) };
        self.start(part)
    }

    /// Starts a part that has been written down. Returns once it is of use to others that do not
    /// wait for it by themselves.
    pub(crate) fn start(&self, part: Part) -> Result<(), Error> {
        start(self, part)?;
        // A kubelet gives up at once if nobody answers there.
        let Part::Containerd(index) = part else { return Ok(()) };
        let socket = self.runtime_socket(index);
        wait_for(&format!("{part} to accept requests"), Duration::from_mins(1), || {
            self.check_alive(part)?;
            Ok(UnixStream::connect(&socket).ok().map(drop))
        })
    }

    /// Sends a part a signal; `false` if it had ended.
    pub(crate) fn signal(&self, part: Part, signal: Signal) -> Result<bool, Error> {
        self.process(part)?.map_or(Ok(false), |process| process.signal(signal))
    }

    pub(crate) fn process(&self, part: Part) -> Result<Option<Process>, Error> {
        file::read_json(&self.process_of(part))
    }

    /// Complains if a part that was started has ended.
    pub(crate) fn check_alive(&self, part: Part) -> Result<(), Error> {
        if self.process(part)?.is_some_and(|process| process.is_alive()) {
            return Ok(());
        }
        let log = self.log_of(part);
        Err(Error::PartEnded { part: part.to_string(), tail: file::tail(&log, 15), log })
    }
}
