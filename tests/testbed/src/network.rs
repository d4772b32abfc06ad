//! The network namespace of a testbed.
//!
//! Processes enter it with a system call, and never with `ip netns exec`, which mounts a new `/sys`
//! that hides the control groups from the kubelet.

use std::fs;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::address::{BRIDGE, BRIDGE_MAC, NETWORK_BITS, SERVICE, node_address};
use crate::process::Process;
use crate::program::run;
use crate::{Error, file};

/// A network namespace that is mounted on a file, so that it outlives processes in it.
#[derive(Debug)]
pub(crate) struct Network {
    path: PathBuf,
}

impl Network {
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Checks whether the namespace exists. After a reboot, only an empty file exists.
    pub(crate) fn exists(&self) -> bool {
        self.within(|| Ok(())).is_ok()
    }

    /// Creates the namespace with the addresses of this number of nodes.
    pub(crate) fn create(&self, n_nodes: usize) -> Result<(), Error> {
        file::write(&self.path, b"")?;
        let mut unshare = Command::new("unshare");
        run(unshare.arg(format!("--net={}", self.path.display())).arg("true"))?;
        self.ip(&["link", "set", "lo", "up"])?;
        self.ip(&["address", "add", &format!("{SERVICE}/32"), "dev", "lo"])?;
        // Without an address of its own, a bridge takes the lowest one of its ports. It would
        // change whenever pods come and go, and other pods would send to the old address for half a
        // minute.
        self.ip(&["link", "add", BRIDGE, "address", BRIDGE_MAC, "type", "bridge"])?;
        self.ip(&["link", "set", BRIDGE, "up"])?;
        for index in 0..n_nodes {
            self.add_node(index)?;
        }
        // The kubelet and the API server require a default route, which leads nowhere.
        self.ip(&["route", "add", "default", "dev", BRIDGE])?;
        self.within(|| {
            let forward = Path::new("/proc/sys/net/ipv4/ip_forward");
            fs::write(forward, "1").map_err(Error::file("write", forward))
        })
    }

    /// Adds the address of another node to the bridge.
    pub(crate) fn add_node(&self, index: usize) -> Result<(), Error> {
        let address = format!("{}/{NETWORK_BITS}", node_address(index));
        self.ip(&["address", "add", &address, "dev", BRIDGE])
    }

    /// Moves the calling thread, and whatever it starts afterwards, into the namespace.
    pub(crate) fn enter(&self) -> Result<(), Error> {
        let file = fs::File::open(&self.path).map_err(Error::file("open", &self.path))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(Error::kernel(format!("enter the network at {}", self.path.display())))
    }

    /// Runs a function in the namespace, in another thread, so that the caller does not enter it.
    pub(crate) fn within<T: Send>(
        &self,
        action: impl FnOnce() -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        thread::scope(|scope| {
            let inside = scope.spawn(|| self.enter().and_then(|()| action()));
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn ip(&self, args: &[&str]) -> Result<(), Error> {
        self.within(|| run(Command::new("ip").args(args)).map(drop))
    }
}

/// Runs a function in the network in which this process was started, even if the calling thread has
/// entered another one. Downloads need this, because the network of a testbed has no way out.
pub(crate) fn outside<T>(action: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // The main thread of a process does not enter a testbed: `enter` moves the calling thread only.
    let process = std::process::id();
    let outer = Network::at(format!("/proc/{process}/task/{process}/ns/net").into());
    let inner = PathBuf::from("/proc/thread-self/ns/net");
    let name = |path: &Path| fs::read_link(path).map_err(Error::file("read", path));
    if name(&outer.path)? == name(&inner)? {
        return action();
    }
    let back = fs::File::open(&inner).map_err(Error::file("open", &inner))?;
    outer.enter()?;
    let outcome = action();
    move_into_link_name_space(back.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(Error::kernel("return to the network of the testbed".to_owned()))?;
    outcome
}

/// Moves the calling process, which must have one thread, into the mount namespace of another
/// process.
pub(crate) fn enter_mounts_of(process: &Process) -> Result<(), Error> {
    let path = PathBuf::from(format!("/proc/{}/ns/mnt", process.pid));
    let file = fs::File::open(&path).map_err(Error::file("open", &path))?;
    // Check the process after opening the file: then the file is certainly the namespace of this
    // process.
    if !process.is_alive() {
        return Err(Error::Kernel {
            action: format!("enter the mount namespace of process {}", process.pid),
            source: std::io::ErrorKind::NotFound.into(),
        });
    }
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Mount))
        .map_err(Error::kernel(format!("enter the mount namespace of process {}", process.pid)))
}
