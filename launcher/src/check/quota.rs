//! Checks whether the namespace's quotas leave room for a launch. The pod is counted here too: the
//! Job controller creates it, so the current user may lack the permission for a dry run.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodSpec, ResourceQuota};
use kube::{ResourceExt as _, api::ListParams};

use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic};
use crate::call::list_all;
use crate::object::{Facts, Plan};
use crate::quantity::Amount;
use crate::{Failure, Reason, Remedy, Strategy};

#[cfg(test)]
mod tests;

const QUOTA: Topic = Topic(Category::Quota, "room");

/// The objects that each launch creates, as quotas count them.
const COUNTED: [&str; 5] =
    ["pods", "count/pods", "count/jobs.batch", "configmaps", "count/configmaps"];
/// The objects that a launch creates in addition if it creates a service account.
const COUNTED_ACCOUNT: [&str; 3] = [
    "count/serviceaccounts",
    "count/roles.rbac.authorization.k8s.io",
    "count/rolebindings.rbac.authorization.k8s.io",
];
/// The objects that a launch creates in addition if it gives the nodes credentials.
const COUNTED_CREDENTIALS: [&str; 2] = ["secrets", "count/secrets"];
/// The resources that a pod must set if a quota limits them (the quota evaluator of pods).
const REQUIRED: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
/// The resources whose requests a quota may also list without the prefix `requests.`.
const SHORT: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// Lists the quotas of the namespace.
pub(super) async fn list(cluster: &Cluster<'_>) -> Result<Vec<ResourceQuota>, Failure> {
    let api = cluster.api::<ResourceQuota>();
    list_all("list the ResourceQuotas", &ListParams::default(), &api).await
}

/// Judges the quotas. `admitted` is the pod as the API server would store it, with the defaults of
/// LimitRanges.
pub(super) fn check(
    quotas: Result<Vec<ResourceQuota>, Failure>,
    plan: &Plan<'_>,
    lends_credentials: bool,
    admitted: Option<&PodSpec>,
) -> Check {
    let quotas = match quotas {
        Ok(quotas) => quotas,
        Err(failure) if failure.reason == Reason::Forbidden => {
            return QUOTA.skipped("the quotas were not checked: listing them is forbidden");
        }
        Err(failure) => return QUOTA.report(Outcome::Warning, failure),
    };
    let makes_account = plan.options().pod.service_account.is_none();
    let planned = || plan.pod_to_try(Strategy::Inject, &Facts::default()).spec;
    let pod = admitted.cloned().or_else(planned).unwrap_or_default();
    judge(&quotas, &needs(&pod, makes_account, lends_credentials), admitted.is_some())
}

/// Returns what a launch uses, by the names of quotas. All containers have the same resources and
/// run one after the other, so the pod uses as much as one container.
fn needs(pod: &PodSpec, makes_account: bool, lends_credentials: bool) -> BTreeMap<String, Amount> {
    let account: &[&str] = if makes_account { &COUNTED_ACCOUNT } else { &[] };
    let credentials: &[&str] = if lends_credentials { &COUNTED_CREDENTIALS } else { &[] };
    let counted = COUNTED.iter().chain(account).chain(credentials);
    let counted = counted.map(|&name| (name.to_owned(), Amount::ONE));
    let mut needs: BTreeMap<_, _> = counted.collect();
    let resources = pod.containers.first().and_then(|container| container.resources.as_ref());
    let Some(resources) = resources else { return needs };
    for (name, quantity) in resources.limits.iter().flatten() {
        let Some(amount) = Amount::parse(quantity) else { continue };
        needs.insert(format!("limits.{name}"), amount);
    }
    for (name, quantity) in resources.requests.iter().flatten() {
        let Some(amount) = Amount::parse(quantity) else { continue };
        needs.insert(format!("requests.{name}"), amount);
        if SHORT.contains(&name.as_str()) {
            needs.insert(name.clone(), amount);
        }
    }
    needs
}

/// Judges the quotas. `is_defaulted` tells whether the needs include the defaults of LimitRanges.
fn judge(quotas: &[ResourceQuota], needs: &BTreeMap<String, Amount>, is_defaulted: bool) -> Check {
    let mut shortages = Vec::new();
    let mut unset = Vec::new();
    for quota in quotas.iter().filter(|quota| has_no_scope(quota)) {
        collect_problems(quota, needs, &mut shortages, &mut unset);
    }
    let failure = |problems: Vec<String>| {
        let message = format!("the quotas leave no room for a launch: {}", problems.join("; "));
        Failure::new(Reason::Quota, message)
    };
    match (shortages.is_empty(), unset.is_empty()) {
        (false, _) => QUOTA.report(Outcome::Failed, failure(shortages)),
        (true, false) if is_defaulted => QUOTA.report(Outcome::Failed, failure(unset)),
        (true, false) => QUOTA
            .warning(unset.join("; "))
            .with_hint("create a LimitRange with defaults")
            .with_remedies(&[Remedy::Resources]),
        (true, true) => QUOTA.ok(match quotas {
            [] => "the namespace has no quota".to_owned(),
            [quota] => format!("the quota {} leaves room for a launch", quota.name_any()),
            quotas => format!("{} quotas leave room for a launch", quotas.len()),
        }),
    }
}

/// Collects the resources that a quota does not have enough of, and those that the pod must set.
fn collect_problems(
    quota: &ResourceQuota,
    needs: &BTreeMap<String, Amount>,
    shortages: &mut Vec<String>,
    unset: &mut Vec<String>,
) {
    let name = quota.name_any();
    let status = quota.status.as_ref();
    let hard = status.and_then(|status| status.hard.as_ref());
    let hard = hard.or_else(|| quota.spec.as_ref().and_then(|spec| spec.hard.as_ref()));
    let used = status.and_then(|status| status.used.as_ref());
    for (resource, limit) in hard.into_iter().flatten() {
        let Some(&need) = needs.get(resource) else {
            if REQUIRED.contains(&resource.as_str()) {
                unset.push(format!("the quota {name} requires the pod to set {resource}"));
            }
            continue;
        };
        let used = used.and_then(|used| used.get(resource));
        let total = used.and_then(Amount::parse).map_or(need, |used| used.plus(need));
        if Amount::parse(limit).is_some_and(|limit| total > limit) {
            let used = used.map_or("0", |used| used.0.as_str());
            shortages.push(format!("the quota {name} has {used} of {} {resource} in use", limit.0));
        }
    }
}

/// Checks whether a quota applies to all pods. Which pods a scope includes is up to the cluster.
fn has_no_scope(quota: &ResourceQuota) -> bool {
    let spec = quota.spec.as_ref();
    spec.is_none_or(|spec| {
        spec.scope_selector.is_none() && spec.scopes.iter().flatten().next().is_none()
    })
}
