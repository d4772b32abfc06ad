//! Faults of a cluster, which tests can cause.
//!
//! Faults of processes and of the network act on a [`Testbed`]. Faults made of API objects are
//! functions from names to objects: apply them with [`Testbed::apply`] or with any other client,
//! and delete them to end the fault. Faults of the registry are in [`crate::registry`].

pub(crate) mod admission;
mod policy;

use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::address::{SERVICE, node_address, pod_range};
use crate::program::run;
use crate::wait::wait_for;
use crate::{Error, Part, State, Testbed, node};

pub use policy::ImitatedEgress;

/// The default port of the health endpoint of a kubelet.
const HEALTHZ: u16 = 10248;

impl Testbed {
    /// Kills a part at once, as a crash would. Returns `false` if it had already ended.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Kernel`] if it may not be killed.
    pub fn kill(&self, part: Part) -> Result<bool, Error> {
        let killed = self.place().signal(part, Signal::KILL)?;
        self.wait_for_state(part, |state| state == State::Ended)?;
        Ok(killed)
    }

    /// Starts a part that has ended, in the same way as before. Does nothing if it is running.
    ///
    /// # Errors
    ///
    /// Returns the error that prevented the part from starting.
    pub fn start(&self, part: Part) -> Result<(), Error> {
        self.place().start_again(part)
    }

    /// Kills a part and starts it again.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Testbed::kill`] and [`Testbed::start`].
    pub fn restart(&self, part: Part) -> Result<(), Error> {
        self.kill(part)?;
        self.start(part)
    }

    /// Pauses a part: connections to it stay open, and it sends no response. Returns `false` if it
    /// had already ended.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Kernel`] if it may not be stopped.
    pub fn pause(&self, part: Part) -> Result<bool, Error> {
        let stopped = self.place().signal(part, Signal::STOP)?;
        if stopped {
            // The signal is sent at once, and takes effect when the process next runs.
            self.wait_for_state(part, |state| state != State::Running)?;
        }
        Ok(stopped)
    }

    /// Continues a part that [`Testbed::pause`] has stopped.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Testbed::pause`].
    pub fn resume(&self, part: Part) -> Result<bool, Error> {
        self.place().signal(part, Signal::CONT)
    }

    fn wait_for_state(&self, part: Part, is_wanted: impl Fn(State) -> bool) -> Result<(), Error> {
        let what = format!("{part} to change its state");
        wait_for(&what, Duration::from_secs(10), || {
            Ok(is_wanted(self.place().status_of(part)?.state).then_some(()))
        })
    }

    /// Disconnects a node: kills its kubelet and container runtime. Its containers keep running,
    /// as on a node that has lost its network.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Testbed::kill`].
    pub fn lose_node(&self, index: usize) -> Result<(), Error> {
        self.kill(Part::Kubelet(index))?;
        self.kill(Part::Containerd(index)).map(drop)
    }

    /// Brings a lost node back, and waits until its kubelet responds.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Testbed::start`]; [`Error::Deadline`] if the kubelet does not come.
    pub fn return_node(&self, index: usize) -> Result<(), Error> {
        self.start(Part::Containerd(index))?;
        let address = (node_address(index), HEALTHZ);
        wait_for(&Part::Kubelet(index).to_string(), Duration::from_mins(1), || {
            // A kubelet that starts before its runtime ends, and is started again, as by systemd.
            self.start(Part::Kubelet(index))?;
            self.within(|| Ok(TcpStream::connect(&address).is_ok().then_some(())))
        })
    }

    /// Drops the packets that the pods of a node send to the API server. The node itself can still
    /// reach it.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Ended`] with the message of iptables.
    pub fn cut_off_pods(&self, index: usize) -> Result<(), Error> {
        self.reconnect_pods(index)?;
        self.filter("--insert", index)
    }

    /// Ends [`Testbed::cut_off_pods`]. Does nothing if the pods are not cut off.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Testbed::cut_off_pods`].
    pub fn reconnect_pods(&self, index: usize) -> Result<(), Error> {
        while self.filter("--check", index).is_ok() {
            self.filter("--delete", index)?;
        }
        Ok(())
    }

    fn filter(&self, action: &str, index: usize) -> Result<(), Error> {
        let pods = pod_range(index);
        let rule = [action, "INPUT", "--source", &pods, "--destination", SERVICE];
        self.iptables(&[&rule[..], &["--jump", "DROP"]].concat())
    }

    /// Runs iptables in the testbed's network.
    fn iptables(&self, arguments: &[&str]) -> Result<(), Error> {
        self.within(|| {
            // If two variants exist, use -legacy: the other one needs nftables in the kernel.
            let legacy = std::path::Path::new("/usr/sbin/iptables-legacy");
            let mut command =
                if legacy.exists() { Command::new(legacy) } else { Command::new("iptables") };
            run(command.arg("--wait").args(arguments)).map(drop)
        })
    }
}

/// Returns a quota of zero for a resource such as `pods` or `count/jobs.batch`.
pub fn quota(namespace: &str, resources: &[&str]) -> Value {
    let hard: Value =
        resources.iter().map(|resource| ((*resource).to_owned(), json!("0"))).collect();
    json!({
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "full", "namespace": namespace},
        "spec": {"hard": hard},
    })
}

/// Returns the namespace with the strictest level of Pod Security.
pub fn restricted(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": namespace,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        },
    })
}

/// Returns objects that deny changes to a resource in a namespace with this message. A resource is
/// a group and a name, such as `""`, `configmaps` or `batch`, `jobs`. The objects are
/// cluster-scoped, and their names contain the name of the namespace.
pub fn denying_policy(namespace: &str, group: &str, resource: &str, message: &str) -> [Value; 2] {
    let name = format!("deny-{resource}.{namespace}.unlade.test");
    admission::denying(&name, &rule(group, resource), message, &only(namespace))
}

/// Returns objects that change a resource in a namespace on admission. `expression` is a CEL
/// expression of the patch, such as `Object{metadata: Object.metadata{labels: {"a": "b"}}}`.
pub fn mutating_policy(
    namespace: &str,
    group: &str,
    resource: &str,
    expression: &str,
) -> [Value; 2] {
    let name = format!("change-{resource}.{namespace}.unlade.test");
    admission::mutating(&name, &rule(group, resource), expression, Some(&only(namespace)))
}

/// Returns a webhook for a resource in a namespace whose server is down, so that the API server
/// refuses every change of the resource.
pub fn dead_webhook(namespace: &str, group: &str, resource: &str) -> Value {
    // Nothing listens on port 9 (discard).
    webhook("dead", namespace, group, resource, &json!({"url": "https://127.0.0.1:9/"}))
}

/// Returns a webhook that decides whether a resource in a namespace may be changed. `client` is its
/// `clientConfig`, and `kind` is the beginning of its name.
pub fn webhook(kind: &str, namespace: &str, group: &str, resource: &str, client: &Value) -> Value {
    let name = format!("{kind}-{resource}.{namespace}.unlade.test");
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": client,
            "failurePolicy": "Fail",
            "namespaceSelector": only(namespace),
            "rules": [rule(group, resource)],
            "sideEffects": "None",
        }],
    })
}

/// Returns the `spec.nodeSelector` for a pod on one node.
pub fn on_node(index: usize) -> Value {
    json!({"kubernetes.io/hostname": node::name(index)})
}

fn rule(group: &str, resource: &str) -> Value {
    json!({
        "apiGroups": [group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE"],
        "resources": [resource],
    })
}

fn only(namespace: &str) -> Value {
    json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}})
}
