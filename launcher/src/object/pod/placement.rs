//! Selection of the nodes for the pod.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Toleration,
};

use crate::PodOptions;

/// The label with the operating system of a node.
pub(crate) const OS: &str = "kubernetes.io/os";
/// The operating system that the unpacker runs on.
pub(crate) const LINUX: &str = "linux";
/// The label with the architecture of a node, as Go names it.
pub(crate) const ARCHITECTURE: &str = "kubernetes.io/arch";

/// The architectures that OLM's pods tolerate as taints.
const TAINTED: [&str; 4] = ["amd64", "arm64", "ppc64le", "s390x"];
/// How long OLM's pods tolerate an unreachable node, in seconds.
const ABSENCE: i64 = 120;

pub(super) fn node_selector(options: &PodOptions) -> BTreeMap<String, String> {
    let mut labels = options.node_selector.clone();
    labels.insert(OS.into(), LINUX.into());
    labels
}

/// Returns the affinity of the options, extended by the architectures of the tool image.
pub(super) fn affinity(options: &PodOptions) -> Option<Affinity> {
    if options.architectures.is_empty() {
        return options.affinity.clone();
    }
    let requirement = NodeSelectorRequirement {
        key: ARCHITECTURE.into(),
        operator: "In".into(),
        values: Some(options.architectures.clone()),
    };
    let mut affinity = options.affinity.clone().unwrap_or_default();
    let node = affinity.node_affinity.get_or_insert_default();
    let required = &mut node.required_during_scheduling_ignored_during_execution;
    match required {
        // A node has to match only one term, so every term needs the requirement. An empty term
        // matches no node, and must stay empty.
        Some(NodeSelector { node_selector_terms: terms }) if !terms.is_empty() => {
            let is_empty = |term: &NodeSelectorTerm| {
                term.match_expressions.as_ref().is_none_or(Vec::is_empty)
                    && term.match_fields.as_ref().is_none_or(Vec::is_empty)
            };
            for term in terms.iter_mut().filter(|term| !is_empty(term)) {
                term.match_expressions.get_or_insert_default().push(requirement.clone());
            }
        }
        _ => {
            let term =
                NodeSelectorTerm { match_expressions: Some(vec![requirement]), match_fields: None };
            *required = Some(NodeSelector { node_selector_terms: vec![term] });
        }
    }
    Some(affinity)
}

/// Returns the tolerations of the options, or else those of OLM, so that launches can use the same
/// nodes as OLM's Jobs.
pub(super) fn tolerations(options: &PodOptions) -> Vec<Toleration> {
    if let Some(tolerations) = &options.tolerations {
        return tolerations.clone();
    }
    let architectures = TAINTED.iter().map(|&architecture| Toleration {
        key: Some(ARCHITECTURE.into()),
        operator: Some("Equal".into()),
        value: Some(architecture.into()),
        ..Toleration::default()
    });
    let control_plane = [exists("node-role.kubernetes.io/master", "NoSchedule", None)];
    let absent = ["node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready"];
    let absent = absent.map(|key| exists(key, "NoExecute", Some(ABSENCE)));
    architectures.chain(control_plane).chain(absent).collect()
}

fn exists(key: &str, effect: &str, seconds: Option<i64>) -> Toleration {
    Toleration {
        key: Some(key.into()),
        operator: Some("Exists".into()),
        effect: Some(effect.into()),
        toleration_seconds: seconds,
        value: None,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::NodeAffinity;
    use serde_json::{Value, json};

    use super::*;

    fn with(affinity: Option<Value>) -> PodOptions {
        PodOptions {
            architectures: vec!["amd64".into(), "arm64".into()],
            affinity: affinity.map(|affinity| serde_json::from_value(affinity).unwrap()),
            ..PodOptions::default()
        }
    }

    fn required(options: &PodOptions) -> Value {
        let node = affinity(options).unwrap().node_affinity.unwrap();
        let required = node.required_during_scheduling_ignored_during_execution.unwrap();
        serde_json::to_value(required.node_selector_terms).unwrap()
    }

    fn ours() -> Value {
        json!({"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64", "arm64"]})
    }

    #[test]
    fn nodes_have_an_architecture_of_the_tool_image() {
        assert_eq!(required(&with(None)), json!([{"matchExpressions": [ours()]}]));
        let nothing = json!({"nodeAffinity":
            {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}});
        assert_eq!(required(&with(Some(nothing))), json!([{"matchExpressions": [ours()]}]));
        let any = PodOptions { architectures: Vec::new(), ..with(None) };
        assert_eq!(affinity(&any), None);
    }

    #[test]
    fn every_alternative_of_the_user_gets_the_architectures() {
        let zone = json!({"key": "zone", "operator": "Exists"});
        let field = json!({"key": "metadata.name", "operator": "In", "values": ["node0"]});
        let terms = json!([{"matchExpressions": [zone]}, {"matchFields": [field]}, {}]);
        let theirs = json!({
            "nodeAffinity":
                {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}},
            "podAntiAffinity": {},
        });
        let options = with(Some(theirs));
        let expected = json!([
            {"matchExpressions": [zone, ours()]},
            {"matchExpressions": [ours()], "matchFields": [field]},
            {},
        ]);
        assert_eq!(required(&options), expected);
        let merged = affinity(&options).unwrap();
        assert!(merged.pod_anti_affinity.is_some());
        let none = PodOptions { architectures: Vec::new(), ..options.clone() };
        assert_eq!(affinity(&none), options.affinity);
        assert_ne!(merged.node_affinity, Some(NodeAffinity::default()));
    }

    #[test]
    fn given_tolerations_replace_all_others() {
        assert_eq!(tolerations(&PodOptions::default()).len(), 7);
        let none = PodOptions { tolerations: Some(Vec::new()), ..PodOptions::default() };
        assert_eq!(tolerations(&none), []);
    }
}
