//! The paths and names of one testbed.

use std::path::{Path, PathBuf};

use crate::Settings;

/// The name of the record of a testbed, in its directory.
pub(crate) const RECORD: &str = "record.json";

/// The paths and names of one testbed.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// The directory with its whole state. The path must be short, because a path of a socket has
    /// at most 108 bytes.
    pub(crate) directory: PathBuf,
    state: PathBuf,
}

impl Place {
    pub(crate) fn new(settings: &Settings) -> Self {
        let directory = settings.state.join(&settings.name);
        Self { name: settings.name.clone(), directory, state: settings.state.clone() }
    }

    /// Returns the directory that contains the directories of all testbeds.
    pub(crate) fn parent(&self) -> &Path {
        &self.state
    }

    /// Returns the path of the lock that is held while the testbed is started or removed. It is
    /// beside the directory, because the directory is removed.
    pub(crate) fn lock(&self) -> PathBuf {
        self.state.join(format!("{}.lock", self.name))
    }

    /// Returns the name of the control group, below `/`, and of the cluster in kubeconfigs.
    pub(crate) fn system_name(&self) -> String {
        format!("unlade-{}", self.name)
    }

    /// Returns the path at which the network namespace is mounted. It is not in `/run/netns`, where
    /// `ip netns` would leave its own mounts.
    pub(crate) fn network(&self) -> PathBuf {
        self.directory.join("network")
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.directory.join(RECORD)
    }

    pub(crate) fn launcher(&self) -> PathBuf {
        self.directory.join("launcher")
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.directory.join("kubeconfig")
    }

    /// Returns the directory for the cache of kubectl, which would otherwise be in the home
    /// directory.
    pub(crate) fn kubectl_cache(&self) -> PathBuf {
        self.directory.join("kubectl-cache")
    }

    pub(crate) fn kubelet_kubeconfig(&self, node: &str) -> PathBuf {
        self.control_plane().join(format!("kubelet-{node}.kubeconfig"))
    }

    pub(crate) fn processes(&self) -> PathBuf {
        self.directory.join("process")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.directory.join("log")
    }

    pub(crate) fn control_plane(&self) -> PathBuf {
        self.directory.join("control-plane")
    }

    pub(crate) fn registry(&self) -> PathBuf {
        self.directory.join("registry")
    }

    pub(crate) fn node(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}
