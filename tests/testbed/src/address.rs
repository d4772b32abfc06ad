//! The addresses of a testbed. Each has a network namespace of its own, so all have the same ones.

/// The address of the registry for nodes, pods and commands inside the testbed: the fault proxy.
pub const REGISTRY: &str = "10.77.0.1:5000";

/// Names of registries that the nodes cannot reach: on the first, nothing listens, and the second
/// host does not exist.
pub const UNREACHABLE: [&str; 2] = ["127.0.0.1:9", "unreachable.test"];

/// The address at which the registry itself listens, behind the fault proxy.
pub(crate) const REGISTRY_BEHIND: &str = "127.0.0.1:5001";

/// The only service: `kubernetes.default`. Its address is on `lo`, so it needs no kube-proxy.
pub(crate) const SERVICE: &str = "10.96.0.1";
pub(crate) const SERVICE_RANGE: &str = "10.96.0.0/24";

/// The name server of pods, which the kubelet requires. Nothing responds there.
pub(crate) const NAME_SERVER: &str = "10.96.0.10";

/// The bridge that nodes and pods share, and its network.
pub(crate) const BRIDGE: &str = "node0";
pub(crate) const BRIDGE_MAC: &str = "02:00:0a:4d:00:01";
pub(crate) const NETWORK: &str = "10.77.0.0/16";
pub(crate) const NETWORK_BITS: u8 = 16;

/// The third byte is the number of the node, for the node and its pods.
pub(crate) const MOST_NODES: usize = 16;

/// Returns the address of the node with this index, which starts at 0.
pub fn node_address(index: usize) -> String {
    format!("10.77.0.{}", index + 1)
}

/// Returns the range of addresses for the pods of a node.
pub(crate) fn pod_range(index: usize) -> String {
    format!("10.77.{}.0/24", index + 1)
}

/// Returns the first and the last address of that range that a pod may get.
pub(crate) fn pod_range_ends(index: usize) -> (String, String) {
    (format!("10.77.{}.2", index + 1), format!("10.77.{}.254", index + 1))
}
