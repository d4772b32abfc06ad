//! A real Kubernetes for the tests, without a container engine.
//!
//! kube-apiserver, etcd, controller manager, scheduler, one or more nodes (kubelet, containerd,
//! runc) and an image registry run as plain processes in a network namespace of their own, with
//! all their state in one directory. Go modules pinned in `parts/` and Debian packages supply the
//! programs; they are built once into a cache outside of `target`.
//!
//! It is safe to kill it at any point: a [`launcher`] starts every process. It first enters the
//! control group of the testbed and records its process id, so that [`Testbed::down`] finds all
//! processes, including containers. Mounts are in a mount namespace for each node, and the kernel
//! removes them with its last process.
//!
//! It requires Linux and root. `docs/testbed.md` describes `cargo xtask cluster`.
//!
//! ```no_run
//! use unlade_testbed::{Settings, Testbed};
//!
//! let testbed = Testbed::open(&Settings::from_env()?)?;
//! let nodes = testbed.kubectl(["get", "nodes", "--output=name"])?;
//! assert_eq!(nodes, "node/node0\n");
//! # Ok::<(), unlade_testbed::Error>(())
//! ```

mod address;
mod cgroup;
mod control_plane;
mod error;
pub mod fault;
mod file;
mod guard;
mod kubeconfig;
mod kubectl;
pub mod launcher;
mod mount;
mod network;
mod node;
mod part;
mod place;
mod process;
mod program;
pub mod registry;
mod settings;
mod testbed;
mod wait;

pub use address::{REGISTRY, UNREACHABLE, node_address};
pub use error::Error;
pub use kubectl::Kubectl;
pub use node::{Node, VOLUME_DIGESTS};
pub use part::{Part, PartStatus, State};
pub use program::{Olm, Peers, Programs, dialect, is_dialect_built, registry_program};
pub use settings::Settings;
pub use testbed::Testbed;
