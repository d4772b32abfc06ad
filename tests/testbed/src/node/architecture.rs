//! A node that claims to be of another architecture than the machine.

use std::time::Duration;

use serde_json::json;

use super::name;
use crate::fault::admission;
use crate::wait::wait_for;
use crate::{Error, Testbed};

const LABEL: &str = "kubernetes.io/arch";

impl Testbed {
    /// Makes a node carry the label of another architecture.
    ///
    /// The kubelet puts its own back every ten seconds (`kubelet_node_status.go`, `updateNode`),
    /// so an admission policy changes the label on admission.
    pub(crate) fn claim_architecture(&self, index: usize, architecture: &str) -> Result<(), Error> {
        let node = name(index);
        let labels = json!({LABEL: architecture}).to_string();
        let expression = format!("Object{{metadata: Object.metadata{{labels: {labels}}}}}");
        let rule = json!({
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["nodes", "nodes/status"],
            "resourceNames": [node],
        });
        let name = format!("architecture.{node}.unlade.test");
        for object in admission::mutating(&name, &rule, &expression, None) {
            self.apply(&object)?;
        }
        // Once the policy is in effect, the label keeps its value, whatever a request sets.
        let label = |value: &str, dry_run: &str| {
            let patch = json!({"metadata": {"labels": {LABEL: value}}}).to_string();
            let arguments = ["patch", "node", &node, "--patch", &patch, dry_run];
            self.kubectl(arguments.into_iter().chain(["--output=jsonpath={.metadata.labels}"]))
        };
        let what = format!("{node} to have the label of {architecture}");
        wait_for(&what, Duration::from_secs(30), || {
            let labels = label("another", "--dry-run=server")?;
            Ok(labels.contains(&format!("\"{LABEL}\":\"{architecture}\"")).then_some(()))
        })?;
        label(architecture, "--dry-run=none").map(drop)
    }
}
