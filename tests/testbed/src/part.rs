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
    /// etcd.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers: Jobs, quotas, service accounts, node life cycle and so on.
    ControllerManager,
    /// The scheduler.
    Scheduler,
    /// The image registry.
    Registry,
    /// The proxy in front of the registry, which simulates its faults.
    RegistryProxy,
    /// Holds the mount namespace of the node with this index.
    Mounts(usize),
    /// The container runtime of the node with this index.
    Containerd(usize),
    /// The agent of the node with this index.
    Kubelet(usize),
}

/// The state of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It runs.
    Running,
    /// A signal stopped it, and it can be continued.
    Stopped,
    /// It has ended, or was never started.
    Ended,
}

/// A part and its state.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PartStatus {
    /// The part.
    pub part: Part,
    /// Its state.
    pub state: State,
    /// Its process id, if it is running.
    pub pid: Option<i32>,
    /// The file with its output.
    pub log: PathBuf,
}

impl Part {
    /// Returns the parts of a testbed with this number of nodes, in the order in which they start.
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

/// Returns the name, which is used for files and in messages.
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
    /// Returns the path of the launch file, which exists after the first start.
    pub(crate) fn launch_of(&self, part: Part) -> PathBuf {
        self.processes().join(format!("{part}.launch.json"))
    }

    /// Returns the path of the record of its process.
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

    /// Starts a part in the same way as before, unless it is running.
    pub(crate) fn start_again(&self, part: Part) -> Result<(), Error> {
        if self.process(part)?.is_some_and(|process| process.is_alive()) {
            return Ok(());
        }
        let path = self.launch_of(part);
        let launch: Option<Launch> = file::read_json(&path)?;
        let Some(_) = launch else { return Err(Error::NotUp { name: self.name.clone() }) };
        self.start(part)
    }

    /// Starts a part that has a launch file. Returns when parts that do not wait for it themselves
    /// can use it.
    pub(crate) fn start(&self, part: Part) -> Result<(), Error> {
        start(self, part)?;
        // A kubelet gives up at once if nothing responds there.
        let Part::Containerd(index) = part else { return Ok(()) };
        let socket = self.runtime_socket(index);
        wait_for(&format!("{part} to accept requests"), Duration::from_mins(1), || {
            self.check_alive(part)?;
            Ok(UnixStream::connect(&socket).ok().map(drop))
        })
    }

    /// Sends a signal to a part. Returns `false` if the part had already ended.
    pub(crate) fn signal(&self, part: Part, signal: Signal) -> Result<bool, Error> {
        self.process(part)?.map_or(Ok(false), |process| process.signal(signal))
    }

    pub(crate) fn process(&self, part: Part) -> Result<Option<Process>, Error> {
        file::read_json(&self.process_of(part))
    }

    /// Returns an error if a part that was started has ended.
    pub(crate) fn check_alive(&self, part: Part) -> Result<(), Error> {
        if self.process(part)?.is_some_and(|process| process.is_alive()) {
            return Ok(());
        }
        let log = self.log_of(part);
        Err(Error::PartEnded { part: part.to_string(), tail: file::tail(&log, 15), log })
    }
}
