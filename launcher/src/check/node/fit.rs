//! The nodes that a pod fits on, by its node selector, its architectures and its tolerations.
//!
//! The scheduler knows more rules. These are the ones that every launch has, and that a user can
//! change with an option.

use std::fmt;

use k8s_openapi::api::core::v1::{Node, PodSpec, Taint, Toleration};

use crate::object::pod::ARCHITECTURE;

/// Why a pod does not fit on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Misfit {
    /// A label that the pod's node selector requires is missing.
    Label(String),
    /// The node has an architecture that the options do not list.
    Architecture(String),
    /// A taint is not tolerated.
    Taint(String),
    /// The node is cordoned.
    Cordoned,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => write!(f, "without the label {label}"),
            Self::Architecture(architecture) => write!(f, "of the architecture {architecture}"),
            Self::Taint(taint) => write!(f, "with the taint {taint}"),
            Self::Cordoned => write!(f, "cordoned"),
        }
    }
}

/// Returns the nodes that the pod fits on, and why it does not fit on the others. The pod runs on
/// any architecture if `architectures` is empty.
pub(super) fn split<'n>(
    nodes: &'n [Node],
    pod: &PodSpec,
    architectures: &[String],
) -> (Vec<&'n Node>, Vec<Misfit>) {
    let mut fitting = Vec::new();
    let mut misfits = Vec::new();
    for node in nodes {
        match misfit(node, pod, architectures) {
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

fn misfit(node: &Node, pod: &PodSpec, architectures: &[String]) -> Option<Misfit> {
    let mut wanted = pod.node_selector.iter().flatten();
    if let Some((key, value)) = wanted.find(|(key, value)| label(node, key) != Some(value)) {
        return Some(Misfit::Label(format!("{key}={value}")));
    }
    if let Some(architecture) = architecture(node).filter(|_| !architectures.is_empty())
        && !architectures.iter().any(|wanted| wanted == architecture)
    {
        return Some(Misfit::Architecture(architecture.to_owned()));
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
