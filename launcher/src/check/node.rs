//! The nodes: which of them the pod may run on, and whether the unpacker runs there.

mod fit;

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, PodSpec};
use kube::{Api, api::ListParams};

use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic, candidates, joined};
use crate::inventory::pages;
use crate::object::{Facts, Plan};
use crate::{Failure, Reason, Remedy, Strategy};
use fit::Misfit;

#[cfg(test)]
mod tests;

const MATCH: Topic = Topic(Category::Nodes, "match");
const ARCHITECTURE: Topic = Topic(Category::Nodes, "architecture");
const RUNTIME: Topic = Topic(Category::Nodes, "runtime");

/// Since which versions container runtimes have image volumes.
const RUNTIMES: [(&str, (u32, u32)); 2] = [("containerd", (2, 1)), ("cri-o", (1, 31))];

/// Looks at all of them.
pub(super) async fn checks(cluster: &Cluster<'_>, plan: &Plan<'_>, facts: &Facts) -> Vec<Check> {
    let api: Api<Node> = Api::all(cluster.client.clone());
    let params = ListParams::default();
    let doing = "list nodes";
    let all = pages(doing, &params, async |page| api.list(&page).await).await;
    let nodes = match all.and_then(|nodes| nodes.expected(doing)) {
        Ok(nodes) => nodes,
        Err(failure) if failure.reason == Reason::Forbidden => {
            return vec![MATCH.left_out("the nodes aren't looked at: listing them is forbidden")];
        }
        Err(failure) => return vec![MATCH.of(Outcome::Warning, failure)],
    };
    let options = plan.options();
    let pod = plan.pod_to_try(Strategy::Inject, facts).spec.unwrap_or_default();
    let may_mount = candidates(plan).contains(&Strategy::ImageVolume);
    let volume = may_mount.then_some(options.strategy);
    judge(&nodes, &pod, &options.pod.architectures, volume)
}

/// `volume`: the strategy, if it may come to an image volume.
fn judge(
    nodes: &[Node],
    pod: &PodSpec,
    architectures: &[String],
    volume: Option<Strategy>,
) -> Vec<Check> {
    let (fitting, misfits) = fit::split(nodes, pod);
    if fitting.is_empty() {
        return vec![none(nodes.len(), &misfits)];
    }
    let found = format!("{} of {} nodes match what the pod asks for", fitting.len(), nodes.len());
    let mut checks = vec![MATCH.ok(found), architecture(&fitting, architectures)];
    checks.extend(volume.map(|strategy| runtime(&fitting, strategy)));
    checks
}

fn none(n_nodes: usize, misfits: &[Misfit]) -> Check {
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
    let message = format!("none of {n_nodes} nodes matches{why}");
    let failure = Failure::new(Reason::Unschedulable, message);
    MATCH.of(Outcome::Failed, failure).hinted("an autoscaler may add such a node").with_remedies(&[
        Remedy::NodeSelector,
        Remedy::Architecture,
        Remedy::Toleration,
    ])
}

/// The architectures of these nodes. Which ones the tool image has isn't known here.
fn architecture(nodes: &[&Node], wanted: &[String]) -> Check {
    let found: BTreeSet<_> = nodes.iter().filter_map(|node| fit::architecture(node)).collect();
    let found: Vec<_> = found.into_iter().collect();
    let named = joined(&found, "and");
    match &*found {
        [] => ARCHITECTURE.warning("the nodes don't tell their architectures"),
        _ if !wanted.is_empty() => ARCHITECTURE
            .ok(format!("the nodes that match are {named}, which the tool image is said to have")),
        [_] => ARCHITECTURE
            .ok(format!("the nodes that match are {named}"))
            .hinted("the tool image must have it"),
        _ => ARCHITECTURE
            .warning(format!(
                "the nodes that match are {named}: the tool image must have all of these"
            ))
            .with_remedies(&[Remedy::Architecture]),
    }
}

/// Whether the runtimes of these nodes have image volumes.
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
        let as_far = if is_known { "" } else { ", as far as it is known" };
        let all: Vec<_> = runtimes.into_iter().take(5).collect();
        return RUNTIME.ok(format!("the runtimes have image volumes{as_far} ({})", all.join(", ")));
    }
    let are_all_old = old.len() == runtimes.len();
    let old = joined(&old, "and");
    match strategy {
        Strategy::ImageVolume => {
            let outcome = if are_all_old { Outcome::Failed } else { Outcome::Warning };
            RUNTIME
                .check(outcome, format!("there are nodes without image volumes: {old}"))
                .with_remedies(&[Remedy::Inject, Remedy::NodeSelector])
        }
        _ => RUNTIME
            .warning(format!(
                "there are nodes without image volumes: {old}; there the unpacker is injected, after a try"
            ))
            .with_remedies(&[Remedy::Inject, Remedy::NodeSelector]),
    }
}

/// Whether such a runtime, as `containerd://2.1.0`, has image volumes; none if it isn't known.
fn has_volumes(runtime: &str) -> Option<bool> {
    let (name, version) = runtime.split_once("://")?;
    let (_, since) = RUNTIMES.iter().find(|(known, _)| *known == name)?;
    let mut numbers = version.trim_start_matches('v').split('.').map(str::parse::<u32>);
    let version = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(version >= *since)
}
