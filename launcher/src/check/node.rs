//! Checks of the nodes: which of them accept the pod, and whether the unpacker runs on them.

mod fit;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, PodSpec};
use kube::{Api, api::ListParams};

use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic, join_words};
use crate::call::list_all;
use crate::object::{Facts, Plan};
use crate::{Failure, PodOptions, Reason, Remedy, Strategy};
use fit::Misfit;

#[cfg(test)]
mod tests;

const MATCH: Topic = Topic(Category::Nodes, "match");
const ARCHITECTURE: Topic = Topic(Category::Nodes, "architecture");
const RUNTIME: Topic = Topic(Category::Nodes, "runtime");

/// The first versions of container runtimes that support image volumes.
const RUNTIMES: [(&str, (u32, u32)); 2] = [("containerd", (2, 1)), ("cri-o", (1, 31))];

/// Lists the nodes and checks them.
pub(super) async fn checks(cluster: &Cluster<'_>, plan: &Plan<'_>, facts: &Facts) -> Vec<Check> {
    let api: Api<Node> = Api::all(cluster.client.clone());
    let nodes = match list_all("list the nodes", &ListParams::default(), &api).await {
        Ok(nodes) => nodes,
        Err(failure) if failure.reason == Reason::Forbidden => {
            return vec![MATCH.skipped("the nodes were not checked: listing them is forbidden")];
        }
        Err(failure) => return vec![MATCH.report(Outcome::Warning, failure)],
    };
    let options = plan.options();
    let pod = plan.pod_to_try(Strategy::Inject, facts).spec.unwrap_or_default();
    let may_mount = options.candidates(plan.image()).contains(&Strategy::ImageVolume);
    let volume = may_mount.then_some(options.strategy);
    judge(&nodes, &pod, &options.pod, volume)
}

/// Judges the nodes. `volume` is the strategy, if it may use an image volume.
fn judge(
    nodes: &[Node],
    pod: &PodSpec,
    options: &PodOptions,
    volume: Option<Strategy>,
) -> Vec<Check> {
    let architectures = &*options.architectures;
    let (fitting, misfits) = fit::split(nodes, pod, architectures);
    if fitting.is_empty() {
        return vec![report_no_match(nodes.len(), &misfits)];
    }
    let apart = if options.affinity.is_some() { ", apart from its affinity" } else { "" };
    let (n_fitting, n_nodes) = (fitting.len(), nodes.len());
    let found = format!("{n_fitting} of {n_nodes} nodes match the requirements of the pod{apart}");
    let mut checks = vec![MATCH.ok(found), architecture(&fitting, architectures)];
    checks.extend(volume.map(|strategy| runtime(&fitting, strategy)));
    checks
}

fn report_no_match(n_nodes: usize, misfits: &[Misfit]) -> Check {
    let mut counted: Vec<(usize, &Misfit)> = Vec::new();
    for misfit in misfits {
        match counted.iter_mut().find(|(_, other)| *other == misfit) {
            Some((count, _)) => *count += 1,
            None => counted.push((1, misfit)),
        }
    }
    counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let why: Vec<_> =
        counted.iter().take(5).map(|(count, misfit)| format!("{count} {misfit}")).collect();
    let why = if why.is_empty() { String::new() } else { format!(": {}", why.join(", ")) };
    let message = format!("none of {n_nodes} nodes matches the requirements of the pod{why}");
    let failure = Failure::new(Reason::Unschedulable, message);
    MATCH
        .report(Outcome::Failed, failure)
        .with_hint("add a matching node, or wait until an autoscaler adds one")
        .with_remedies(&[Remedy::NodeSelector, Remedy::Architecture, Remedy::Toleration])
}

/// Reports the architectures of these nodes. Those of the tool image are unknown here.
fn architecture(nodes: &[&Node], wanted: &[String]) -> Check {
    let found: BTreeSet<_> = nodes.iter().filter_map(|node| fit::architecture(node)).collect();
    let found: Vec<_> = found.into_iter().collect();
    let named = join_words(&found, "and");
    match &*found {
        [] => ARCHITECTURE.warning("the nodes do not report their architectures"),
        _ if !wanted.is_empty() => ARCHITECTURE
            .ok(format!("according to the options, the tool image supports the architectures of the \
                         matching nodes: {named}")),
        [_] => ARCHITECTURE
            .ok(format!("the architectures of the matching nodes are {named}"))
            .with_hint("use a tool image that supports this architecture"),
        _ => ARCHITECTURE
            .warning(format!(
                "the architectures of the matching nodes are {named}: the tool image must support all of them"
            ))
            .with_remedies(&[Remedy::Architecture]),
    }
}

/// Judges whether the container runtimes of these nodes support image volumes.
fn runtime(nodes: &[&Node], strategy: Strategy) -> Check {
    let runtimes: BTreeSet<_> = nodes
        .iter()
        .filter_map(|node| {
            let info = node.status.as_ref()?.node_info.as_ref()?;
            Some(info.container_runtime_version.as_str())
        })
        .collect();
    let old: Vec<_> =
        runtimes.iter().copied().filter(|runtime| has_volumes(runtime) == Some(false)).collect();
    if old.is_empty() {
        let is_known = runtimes.iter().all(|runtime| has_volumes(runtime).is_some());
        let as_far = if is_known { "" } else { ", as far as their versions are known" };
        let all: Vec<_> = runtimes.into_iter().take(5).collect();
        return RUNTIME.ok(format!(
            "the container runtimes support image volumes{as_far} ({})",
            all.join(", ")
        ));
    }
    let are_all_old = old.len() == runtimes.len();
    let old = join_words(&old, "and");
    match strategy {
        Strategy::ImageVolume => {
            let outcome = if are_all_old { Outcome::Failed } else { Outcome::Warning };
            RUNTIME
                .check(outcome, format!("the container runtimes of some nodes do not support image volumes: {old}"))
                .with_remedies(&[Remedy::Inject, Remedy::NodeSelector])
        }
        _ => RUNTIME
            .warning(format!(
                "the container runtimes of some nodes do not support image volumes: {old}; the first attempt on such a node fails, and the launch then injects the unpacker"
            ))
            .with_remedies(&[Remedy::Inject, Remedy::NodeSelector]),
    }
}

/// Checks whether a container runtime, such as `containerd://2.1.0`, supports image volumes.
/// Returns `None` for an unknown one.
fn has_volumes(runtime: &str) -> Option<bool> {
    let (name, version) = runtime.split_once("://")?;
    let (_, since) = RUNTIMES.iter().find(|(known, _)| *known == name)?;
    let mut numbers = version.trim_start_matches('v').split('.').map(str::parse::<u32>);
    let version = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(version >= *since)
}
