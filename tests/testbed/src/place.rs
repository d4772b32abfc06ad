//! Where everything of one testbed is.

use std::path::{Path, PathBuf};

use crate::Settings;

/// What is written down of a testbed, in its folder.
pub(crate) const RECORD: &str = "record.json";

/// The paths and names of one testbed.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// The folder of all its state. Short, because sockets in it may have 108 bytes at most.
    pub(crate) folder: PathBuf,
    state: PathBuf,
}

impl Place {
    pub(crate) fn new(settings: &Settings) -> Self {
        let folder = settings.state.join(&settings.name);
        Self { name: settings.name.clone(), folder, state: settings.state.clone() }
    }

    /// The folder that holds the folders of all testbeds.
    pub(crate) fn parent(&self) -> &Path {
        &self.state
    }

    /// Held while the testbed is brought up or down; beside the folder, which comes and goes.
    pub(crate) fn lock(&self) -> PathBuf {
        self.state.join(format!("{}.lock", self.name))
    }

    /// Of the control group, below `/`, and of the cluster in kubeconfigs.
    pub(crate) fn system_name(&self) -> String {
        format!("unlade-{}", self.name)
    }

    /// Where the network namespace is mounted. Not in `/run/netns`: `ip netns` would leave mounts
    /// of its own behind.
    pub(crate) fn network(&self) -> PathBuf {
        self.folder.join("network")
    }

    pub(crate) fn record(&self) -> PathBuf {
        self.folder.join(RECORD)
    }

    pub(crate) fn launcher(&self) -> PathBuf {
        self.folder.join("launcher")
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// Without it, kubectl writes into the home directory.
    pub(crate) fn kubectl_cache(&self) -> PathBuf {
        self.folder.join("kubectl-cache")
    }

    pub(crate) fn kubelet_kubeconfig(&self, node: &str) -> PathBuf {
        self.control_plane().join(format!("kubelet-{node}.kubeconfig"))
    }

    pub(crate) fn processes(&self) -> PathBuf {
        self.folder.join("process")
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.folder.join("log")
    }

    pub(crate) fn control_plane(&self) -> PathBuf {
        self.folder.join("control-plane")
    }

    pub(crate) fn registry(&self) -> PathBuf {
        self.folder.join("registry")
    }

    pub(crate) fn node(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}
