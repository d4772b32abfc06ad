//! An imitation of the egress of a NetworkPolicy, because nothing on a testbed enforces policies.

use serde_json::{Value, json};

use crate::address::pod_range;
use crate::{Error, Testbed};

/// Where packets of pods pass: to the machine itself, which the API server is on, and beyond.
const CHAINS: [&str; 2] = ["INPUT", "FORWARD"];

/// An imitation of a NetworkPolicy's egress, which ends when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct ImitatedEgress<'t> {
    testbed: &'t Testbed,
    index: usize,
}

impl Drop for ImitatedEgress<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.testbed.end_imitation(self.index) {
            eprintln!("{error}");
        }
    }
}

impl Testbed {
    /// Drops everything that the pods of a node send, except what the egress of a NetworkPolicy
    /// allows. It applies to all pods of the node, whatever the policy selects. Unlike a network
    /// plugin, it does not track connections, so it also drops the answers of pods.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Setting`] if the policy has peers or ports of another form than addresses
    /// and numbers; [`Error::Ended`] with the words of iptables.
    pub fn imitate_egress(
        &self,
        index: usize,
        policy: &Value,
    ) -> Result<ImitatedEgress<'_>, Error> {
        let allowed = allowed(policy).ok_or_else(|| Error::Setting {
            setting: "egress",
            value: policy.to_string(),
            rule: "only address ranges and numbers of ports are imitated",
        })?;
        // A process that was killed leaves its rules.
        self.end_imitation(index)?;
        let imitated = ImitatedEgress { testbed: self, index };
        let (chain, pods) = (chain(index), pod_range(index));
        self.iptables(&["--new-chain", &chain])?;
        for rule in &allowed {
            let rule: Vec<_> = rule.iter().map(String::as_str).collect();
            self.iptables(&[&["--append", &chain], &rule[..], &["--jump", "RETURN"]].concat())?;
        }
        self.iptables(&["--append", &chain, "--jump", "DROP"])?;
        for passed in CHAINS {
            self.iptables(&["--insert", passed, "--source", &pods, "--jump", &chain])?;
        }
        Ok(imitated)
    }

    fn end_imitation(&self, index: usize) -> Result<(), Error> {
        let (chain, pods) = (chain(index), pod_range(index));
        for passed in CHAINS {
            let rule = [passed, "--source", &pods, "--jump", &chain];
            while self.iptables(&[&["--check"], &rule[..]].concat()).is_ok() {
                self.iptables(&[&["--delete"], &rule[..]].concat())?;
            }
        }
        if self.iptables(&["--flush", &chain]).is_ok() {
            self.iptables(&["--delete-chain", &chain])?;
        }
        Ok(())
    }
}

fn chain(index: usize) -> String {
    format!("unlade-egress-{index}")
}

/// Returns the allowed traffic, as matches of iptables.
fn allowed(policy: &Value) -> Option<Vec<Vec<String>>> {
    let mut allowed = Vec::new();
    for rule in policy.pointer("/spec/egress")?.as_array()? {
        let addresses = alternatives(rule.get("to"), |peer| {
            let cidr = peer.pointer("/ipBlock/cidr")?.as_str()?;
            let is_all = peer == &json!({"ipBlock": {"cidr": cidr}});
            is_all.then(|| vec!["--destination".to_owned(), cidr.to_owned()])
        })?;
        let ports = alternatives(rule.get("ports"), |port| {
            let protocol = port.get("protocol").map_or(Some("TCP"), Value::as_str)?;
            let number = port.get("port")?.as_u64()?;
            let flags = ["--protocol", &protocol.to_lowercase(), "--dport", &number.to_string()];
            Some(flags.map(str::to_owned).to_vec())
        })?;
        for address in &addresses {
            allowed.extend(ports.iter().map(|port| [&address[..], port].concat()));
        }
    }
    Some(allowed)
}

/// Returns a match for each entry, or one that matches everything for an empty list, because a
/// NetworkPolicy treats an empty list like a missing one.
fn alternatives(
    entries: Option<&Value>,
    matching: impl Fn(&Value) -> Option<Vec<String>>,
) -> Option<Vec<Vec<String>>> {
    let entries = entries.map_or(Some(&[][..]), |entries| entries.as_array().map(Vec::as_slice))?;
    match entries {
        [] => Some(vec![Vec::new()]),
        entries => entries.iter().map(matching).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_allowed_address_and_port_is_a_match() {
        let of = |egress: &Value| allowed(&json!({"spec": {"egress": egress}}));
        assert_eq!(of(&json!([{}])), Some(vec![vec![]]));
        assert_eq!(of(&json!([{"to": [], "ports": []}])), Some(vec![vec![]]));
        assert_eq!(of(&json!([])), Some(vec![]));
        let one = |cidr: &str| json!({"ipBlock": {"cidr": cidr}});
        let port = json!([{"protocol": "TCP", "port": 443}]);
        let to = |cidr: &str| {
            let flags = ["--destination", cidr, "--protocol", "tcp", "--dport", "443"];
            flags.map(str::to_owned).to_vec()
        };
        assert_eq!(
            of(&json!([{"to": [one("10.0.0.1/32"), one("10.0.0.2/32")], "ports": port}])),
            Some(vec![to("10.0.0.1/32"), to("10.0.0.2/32")]),
        );
        for other in [
            json!([{"to": [{"podSelector": {}}]}]),
            json!([{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.1/32"]}}]}]),
            json!([{"ports": [{"port": "https"}]}]),
        ] {
            assert_eq!(of(&other), None, "{other}");
        }
    }
}
