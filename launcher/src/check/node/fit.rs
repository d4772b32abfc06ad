//! The nodes that a pod fits on, by the scheduler's rules for labels and taints.

use std::fmt;

use k8s_openapi::api::core::v1::{
    Node, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Taint, Toleration,
};

const ARCHITECTURE: &str = "kubernetes.io/arch";

/// Why a pod does not fit on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Misfit {
    /// A label that the pod's node selector requires is missing.
    Label(String),
    /// The required affinity, which includes the architectures, does not match. The field is the
    /// node's architecture.
    Affinity(Option<String>),
    /// A taint is not tolerated.
    Taint(String),
    /// The node is cordoned.
    Cordoned,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => write!(f, "without the label {label}"),
            Self::Affinity(Some(architecture)) => {
                write!(f, "of {architecture} (excluded by architecture or affinity)")
            }
            Self::Affinity(None) => write!(f, "excluded by affinity"),
            Self::Taint(taint) => write!(f, "with the taint {taint}"),
            Self::Cordoned => write!(f, "cordoned"),
        }
    }
}

/// Returns the nodes that the pod fits on, and why it does not fit on the others.
pub(super) fn split<'n>(nodes: &'n [Node], pod: &PodSpec) -> (Vec<&'n Node>, Vec<Misfit>) {
    let mut fitting = Vec::new();
    let mut misfits = Vec::new();
    for node in nodes {
        match misfit(node, pod) {
            Some(misfit) => misfits.push(misfit),
            None => fitting.push(node),
        }
    }
    (fitting, misfits)
}

/// Returns the architecture of a node, as Go names it.
pub(super) fn architecture(node: &Node) -> Option<&str> {
    let info = node.status.as_ref().and_then(|status| status.node_info.as_ref());
    label(node, ARCHITECTURE)
        .or_else(|| info.map(|info| info.architecture.as_str()))
        .filter(|architecture| !architecture.is_empty())
}

fn label<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    node.metadata.labels.as_ref()?.get(key).map(String::as_str)
}

fn misfit(node: &Node, pod: &PodSpec) -> Option<Misfit> {
    let mut wanted = pod.node_selector.iter().flatten();
    if let Some((key, value)) = wanted.find(|(key, value)| label(node, key) != Some(value)) {
        return Some(Misfit::Label(format!("{key}={value}")));
    }
    let affinity = pod.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let required = affinity
        .and_then(|affinity| affinity.required_during_scheduling_ignored_during_execution.as_ref());
    if let Some(required) = required
        && !required.node_selector_terms.iter().any(|term| matches(term, node))
    {
        return Some(Misfit::Affinity(architecture(node).map(str::to_owned)));
    }
    let spec = node.spec.as_ref();
    let tolerations: Vec<_> = pod.tolerations.iter().flatten().collect();
    let taints = spec.and_then(|spec| spec.taints.as_ref()).into_iter().flatten();
    let is_tolerated = |taint: &Taint| tolerations.iter().any(|it| tolerates(it, taint));
    // A taint with the effect PreferNoSchedule does not prevent scheduling.
    let mut taints = taints.filter(|taint| ["NoSchedule", "NoExecute"].contains(&&*taint.effect));
    let cordoned = |taint: &Taint| taint.key == "node.kubernetes.io/unschedulable";
    match taints.find(|taint| !is_tolerated(taint)) {
        Some(taint) if cordoned(taint) => Some(Misfit::Cordoned),
        Some(taint) => Some(Misfit::Taint(format_taint(taint))),
        None => None,
    }
}

fn format_taint(taint: &Taint) -> String {
    match taint.value.as_deref().filter(|value| !value.is_empty()) {
        Some(value) => format!("{}={value}:{}", taint.key, taint.effect),
        None => format!("{}:{}", taint.key, taint.effect),
    }
}

/// Checks whether a toleration matches a taint, as `Toleration.ToleratesTaint` does. Numeric
/// comparisons, which are off by default in Kubernetes 1.35, are not implemented.
fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if given(&toleration.effect).is_some_and(|effect| effect != taint.effect)
        || given(&toleration.key).is_some_and(|key| key != taint.key)
    {
        return false;
    }
    match toleration.operator.as_deref().unwrap_or_default() {
        "" | "Equal" => {
            toleration.value.as_deref().unwrap_or_default()
                == taint.value.as_deref().unwrap_or_default()
        }
        "Exists" => true,
        _ => false,
    }
}

/// Checks whether a node matches a term. An empty term matches no node (component-helpers
/// `nodeaffinity`).
fn matches(term: &NodeSelectorTerm, node: &Node) -> bool {
    let labels: Vec<_> = term.match_expressions.iter().flatten().collect();
    let fields: Vec<_> = term.match_fields.iter().flatten().collect();
    let name = node.metadata.name.as_deref();
    (!labels.is_empty() || !fields.is_empty())
        && labels.iter().all(|it| is_met(it, label(node, &it.key)))
        && fields.iter().all(|it| it.key == "metadata.name" && is_met(it, name))
}

fn is_met(requirement: &NodeSelectorRequirement, found: Option<&str>) -> bool {
    let values: Vec<_> = requirement.values.iter().flatten().map(String::as_str).collect();
    let number = |text: &str| text.parse::<i64>().ok();
    let compared = |is_met: fn(i64, i64) -> bool| {
        let bound = values.first().copied().and_then(number);
        found.and_then(number).zip(bound).is_some_and(|(found, bound)| is_met(found, bound))
    };
    match requirement.operator.as_str() {
        "In" => found.is_some_and(|found| values.contains(&found)),
        "NotIn" => found.is_none_or(|found| !values.contains(&found)),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        "Gt" => compared(|found, bound| found > bound),
        "Lt" => compared(|found, bound| found < bound),
        _ => false,
    }
}
