//! A node: a mount namespace with a container runtime and a kubelet.

mod architecture;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use unlade_oci::build::{self, Entry, Image, Layer};
use unlade_oci::{Platform, Reference, Select, Transport};

use crate::address::{
    BRIDGE, NAME_SERVER, NETWORK, REGISTRY, UNREACHABLE, node_address, pod_range_ends,
};
use crate::place::Place;
use crate::program::run;
use crate::testbed::Plan;
use crate::wait::wait_for;
use crate::{Error, Part, file};

/// The pause image, which holds the namespaces of pods. It is built here, and never pulled.
const PAUSE_IMAGE: &str = "unlade.test/pause:1";

/// Directories that kubelet, containerd, its shims and the network plugins use whatever their
/// settings are. Each node has its own directories, mounted over them in its mount namespace.
const FIXED: [&str; 5] =
    ["/run/containerd", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers", "/var/log/pods"];

/// The file with the name servers of the machine.
const RESOLVER: &str = "/etc/resolv.conf";

/// A name server that does not exist, so that a lookup of an unknown host fails at once. The name
/// server of the machine cannot be reached from the network namespace, so each pull would wait for
/// it for a minute.
const NO_RESOLVER: &[u8] = b"nameserver 127.0.0.1\noptions attempts:1 timeout:1\n";

/// The settings of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Another architecture that it claims in its label `kubernetes.io/arch`, such as `arm64`. Its
    /// programs and containers have the architecture of the machine.
    pub architecture: Option<String>,
    /// Labels in addition to those that the kubelet sets.
    pub labels: BTreeMap<String, String>,
    /// Taints from the start, as `key=value:Effect`.
    pub taints: Vec<String>,
    /// Feature gates to enable in its kubelet, in addition to those that are on by default.
    pub features: Vec<String>,
    /// Whether its kubelet pulls images one after another, five per second with a burst of ten,
    /// which are the defaults. Otherwise, pulls have no limit.
    #[serde(default)]
    pub has_pull_limits: bool,
}

impl Node {
    /// Returns a node whose kubelet reports the digests of image volumes (`ImageVolumeWithDigest`,
    /// which is off by default). It has the label [`VOLUME_DIGESTS`].
    #[must_use]
    pub fn with_volume_digests(mut self) -> Self {
        self.features.push(VOLUME_DIGEST_GATE.to_owned());
        self.labels.insert(VOLUME_DIGESTS.to_owned(), "true".to_owned());
        self
    }
}

/// The label of nodes that report the digests of image volumes.
pub const VOLUME_DIGESTS: &str = "unlade.test/volume-digests";

/// The feature gate by which kubelets report the digests of image volumes. The API server of a
/// testbed enables it too, because it would otherwise drop what they report.
pub(crate) const VOLUME_DIGEST_GATE: &str = "ImageVolumeWithDigest";

/// Returns the name of the node with this index.
pub(crate) fn name(index: usize) -> String {
    format!("node{index}")
}

impl Plan<'_> {
    /// Starts the mount namespace and the container runtime of a node.
    pub(crate) fn start_runtime(&self, index: usize) -> Result<(), Error> {
        let directory = self.place.node(&name(index));
        file::create_directory(&directory)?;
        self.start_mounts(index, &directory)?;
        let network = directory.join("cni");
        file::create_directory(&network)?;
        file::write_json(&network.join("10-bridge.conflist"), &pod_network(index, &directory))?;
        // Every registry name leads to the registry of the testbed, because it is the only one.
        let hosts = directory.join("registries/_default");
        file::create_directory(&hosts)?;
        let mirror =
            format!("[host.\"http://{REGISTRY}\"]\n  capabilities = [\"pull\", \"resolve\"]\n");
        file::write(&hosts.join("hosts.toml"), mirror.as_bytes())?;
        // The runtime would look up a registry without its own settings by its name.
        for name in UNREACHABLE {
            let hosts = directory.join("registries").join(name);
            file::create_directory(&hosts)?;
            file::write(&hosts.join("hosts.toml"), b"")?;
        }
        let config = directory.join("containerd.toml");
        file::write(&config, self.containerd_config(index, &directory).as_bytes())?;
        self.start_part(
            Part::Containerd(index),
            &self.programs.containerd("containerd"),
            &["--config".into(), config.display().to_string()],
        )
    }

    /// Imports the pause image into the runtime, and starts the kubelet.
    pub(crate) fn start_kubelet(&self, index: usize, node: &Node) -> Result<(), Error> {
        let directory = self.place.node(&name(index));
        let pause = directory.join("pause.tar");
        let program = Entry::copy("pause", self.programs.pause()).with_mode(0o755);
        let mut image = Image::from_scratch(Platform::host());
        image.layers.push(Layer::new([program]));
        image.config.entrypoint = ["/pause", "-P"].map(str::to_owned).into();
        let output = Reference {
            transport: Transport::OciArchive,
            path: pause.clone(),
            select: Some(Select::Name(PAUSE_IMAGE.to_owned())),
        };
        build::write(&image, &output)?;
        let mut ctr = Command::new(self.programs.containerd("ctr"));
        ctr.arg("--address").arg(self.place.runtime_socket(index));
        run(ctr.args(["--namespace", "k8s.io", "images", "import"]).arg(&pause))?;
        let config = directory.join("kubelet.json");
        file::write_json(&config, &self.kubelet_config(index, node))?;
        let kubeconfig = self.place.kubelet_kubeconfig(&name(index));
        let mut args = vec![
            format!("--cert-dir={}", directory.join("kubelet-pki").display()),
            format!("--config={}", config.display()),
            format!("--hostname-override={}", name(index)),
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--node-ip={}", node_address(index)),
            format!("--root-dir={}", directory.join("kubelet").display()),
        ];
        if !node.labels.is_empty() {
            let labels: Vec<String> = node.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
            args.push(format!("--node-labels={}", labels.join(",")));
        }
        if !node.taints.is_empty() {
            args.push(format!("--register-with-taints={}", node.taints.join(",")));
        }
        self.start_part(Part::Kubelet(index), &self.programs.kubernetes("kubelet"), &args)
    }

    /// Starts the process that holds the node's mount namespace, and mounts its own directories
    /// there.
    fn start_mounts(&self, index: usize, directory: &Path) -> Result<(), Error> {
        let part = Part::Mounts(index);
        let args = ["--mount", "--propagation", "private", "sleep", "infinity"];
        self.start_part(part, Path::new("unshare"), &args.map(str::to_owned))?;
        let Some(process) = self.place.process(part)? else { return Ok(()) };
        let namespace = PathBuf::from(format!("/proc/{}/ns/mnt", process.pid));
        let own = std::fs::read_link("/proc/self/ns/mnt").ok();
        wait_for("the node's mount namespace", Duration::from_secs(10), || {
            self.place.check_alive(part)?;
            let now = std::fs::read_link(&namespace).ok();
            Ok((now.is_some() && now != own).then_some(()))
        })?;
        for fixed in FIXED {
            let source =
                directory.join("fixed").join(fixed.trim_start_matches('/').replace('/', "-"));
            file::create_directory(&source)?;
            // Create it just before the mount, because a testbed that ends removes unused ones.
            file::create_directory(Path::new(fixed))?;
            let mut mount = Command::new("nsenter");
            mount.arg(format!("--mount={}", namespace.display()));
            run(mount.args(["mount", "--bind"]).arg(&source).arg(fixed))?;
        }
        if !Path::new(RESOLVER).exists() {
            return Ok(());
        }
        let resolver = directory.join("resolv.conf");
        file::write(&resolver, NO_RESOLVER)?;
        let mut mount = Command::new("nsenter");
        mount.arg(format!("--mount={}", namespace.display()));
        run(mount.args(["mount", "--bind"]).arg(&resolver).arg(RESOLVER)).map(drop)
    }

    fn containerd_config(&self, index: usize, directory: &Path) -> String {
        let path = |name: &str| toml_string(&directory.join(name).display().to_string());
        let shim = self.programs.containerd("containerd-shim-runc-v2").display().to_string();
        format!(
            r#"version = 3
root = {root}
state = {state}
disabled_plugins = ["io.containerd.nri.v1.nri"]

[grpc]
  address = {socket}

[plugins."io.containerd.cri.v1.images"]
  snapshotter = "overlayfs"
[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "{PAUSE_IMAGE}"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = {registries}

[plugins."io.containerd.cri.v1.runtime"]
  # Machines without CAP_SYS_RESOURCE cannot lower the score, and every pod would fail.
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  runtime_path = {shim}
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  SystemdCgroup = false
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = [{plugins}]
  conf_dir = {network}

[plugins."io.containerd.grpc.v1.cri"]
  stream_server_address = "{address}"
"#,
            root = path("containerd"),
            state = path("run"),
            socket = toml_string(&self.place.runtime_socket(index).display().to_string()),
            registries = path("registries"),
            shim = toml_string(&shim),
            plugins = toml_string(&self.programs.cni().display().to_string()),
            network = path("cni"),
            address = node_address(index),
        )
    }

    fn kubelet_config(&self, index: usize, node: &Node) -> serde_json::Value {
        let features: BTreeMap<_, _> = node.features.iter().map(|name| (name, true)).collect();
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": node_address(index),
            // Only processes and pods of the testbed can reach it.
            "authentication": {"anonymous": {"enabled": true}, "webhook": {"enabled": false}},
            "authorization": {"mode": "AlwaysAllow"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": self.group.node_path(&name(index)),
            "clusterDNS": [NAME_SERVER],
            "clusterDomain": "cluster.local",
            "containerRuntimeEndpoint": format!("unix://{}", self.place.runtime_socket(index).display()),
            "enforceNodeAllocatable": ["pods"],
            // A full disk on the machine of a developer must not evict pods.
            "evictionHard": {
                "imagefs.available": "0%",
                "imagefs.inodesFree": "0%",
                "memory.available": "0%",
                "nodefs.available": "0%",
                "nodefs.inodesFree": "0%",
            },
            "failCgroupV1": false,
            "failSwapOn": false,
            "featureGates": features,
            "healthzBindAddress": node_address(index),
            "imageGCHighThresholdPercent": 100,
            "podLogsDir": "/var/log/pods",
            // Tests pull many small images at once. With limits, these are the kubelet's defaults.
            "registryPullQPS": if node.has_pull_limits { 5 } else { 0 },
            "serializeImagePulls": node.has_pull_limits,
        })
    }
}

impl Place {
    /// Returns the socket of the container runtime of a node.
    pub(crate) fn runtime_socket(&self, index: usize) -> PathBuf {
        self.node(&name(index)).join("containerd.sock")
    }
}

/// Returns the network of the pods of a node. All pods and nodes are on one bridge.
fn pod_network(index: usize, directory: &Path) -> serde_json::Value {
    let (first, last) = pod_range_ends(index);
    json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [{
            "type": "bridge",
            "bridge": BRIDGE,
            "ipam": {
                "type": "host-local",
                "dataDir": directory.join("addresses"),
                "ranges": [[{
                    "subnet": NETWORK,
                    "rangeStart": first,
                    "rangeEnd": last,
                    "gateway": node_address(index),
                }]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
}

/// Returns the mount points, and their parents, that do not exist on the machine and have to be
/// created.
pub(crate) fn missing_directories() -> Vec<PathBuf> {
    let ancestors = FIXED.iter().flat_map(|fixed| Path::new(fixed).ancestors());
    let mut missing: Vec<PathBuf> =
        ancestors.filter(|path| !path.exists()).map(Path::to_path_buf).collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Returns a basic string of TOML, whose escapes are a superset of those of JSON.
fn toml_string(text: &str) -> String {
    json!(text).to_string()
}
