//! Whether the namespace's quotas leave room for a launch. The pod is counted here too, which the
//! Job controller creates: who launches often may not, and can't try it out.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodSpec, ResourceQuota};
use kube::{ResourceExt as _, api::ListParams};

use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic};
use crate::inventory::pages;
use crate::object::{Facts, Plan};
use crate::quantity::Amount;
use crate::{Failure, Reason, Remedy, Strategy};

#[cfg(test)]
mod tests;

const QUOTA: Topic = Topic(Category::Quota, "room");

/// What is counted for each launch.
const COUNTED: [&str; 5] =
    ["pods", "count/pods", "count/jobs.batch", "configmaps", "count/configmaps"];
/// What is counted besides, where a service account is made.
const COUNTED_ACCOUNT: [&str; 3] = [
    "count/serviceaccounts",
    "count/roles.rbac.authorization.k8s.io",
    "count/rolebindings.rbac.authorization.k8s.io",
];
/// What a pod must have set where a quota limits it (the quota evaluator of pods).
const TO_BE_SET: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
/// What a quota calls by two names.
const SHORT: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// The quotas of the namespace.
pub(super) async fn list(cluster: &Cluster<'_>) -> Result<Vec<ResourceQuota>, Failure> {
    let api = cluster.api::<ResourceQuota>();
    let params = ListParams::default();
    let doing = "list ResourceQuotas";
    pages(doing, &params, async |page| api.list(&page).await).await?.expected(doing)
}

/// Judges them; `taken` is the pod as the API server takes it, with what LimitRanges fill in.
pub(super) fn check(
    quotas: Result<Vec<ResourceQuota>, Failure>,
    plan: &Plan<'_>,
    taken: Option<&PodSpec>,
) -> Check {
    let quotas = match quotas {
        Ok(quotas) => quotas,
        Err(failure) if failure.reason == Reason::Forbidden => {
            return QUOTA.left_out("the quotas aren't looked at: listing them is forbidden");
        }
        Err(failure) => return QUOTA.of(Outcome::Warning, failure),
    };
    let makes_account = plan.options().pod.service_account.is_none();
    let planned = || plan.pod_to_try(Strategy::Inject, &Facts::default()).spec;
    let pod = taken.cloned().or_else(planned).unwrap_or_default();
    judge(&quotas, &needs(&pod, makes_account), taken.is_some())
}

/// What a launch takes, by the names of quotas. All containers have the same and run one after the
/// other, so what one asks for is what the pod does.
fn needs(pod: &PodSpec, makes_account: bool) -> BTreeMap<String, Amount> {
    let account: &[&str] = if makes_account { &COUNTED_ACCOUNT } else { &[] };
    let counted = COUNTED.iter().chain(account).map(|&name| (name.to_owned(), Amount::ONE));
    let mut needs: BTreeMap<_, _> = counted.collect();
    let resources = pod.containers.first().and_then(|container| container.resources.as_ref());
    let Some(resources) = resources else { return needs };
    let (requests, limits) = (resources.requests.iter(), resources.limits.iter());
    for (name, quantity) in limits.clone().flatten() {
        let Some(amount) = Amount::of(quantity) else { continue };
        needs.insert(format!("limits.{name}"), amount);
    }
    // What has a limit and no request asks for its limit (the API server's own default).
    for (name, quantity) in limits.flatten().chain(requests.flatten()) {
        let Some(amount) = Amount::of(quantity) else { continue };
        needs.insert(format!("requests.{name}"), amount);
        if SHORT.contains(&name.as_str()) {
            needs.insert(name.clone(), amount);
        }
    }
    needs
}

/// `is_whole`: whether it is known what LimitRanges fill in.
fn judge(quotas: &[ResourceQuota], needs: &BTreeMap<String, Amount>, is_whole: bool) -> Check {
    let mut shortages = Vec::new();
    let mut unset = Vec::new();
    for quota in quotas.iter().filter(|quota| counts_us(quota)) {
        look(quota, needs, &mut shortages, &mut unset);
    }
    let failure = |problems: Vec<String>| {
        let message = format!("no room for a launch: {}", problems.join("; "));
        Failure::new(Reason::Quota, message)
    };
    match (shortages.is_empty(), unset.is_empty()) {
        (false, _) => QUOTA.of(Outcome::Failed, failure(shortages)),
        (true, false) if is_whole => QUOTA.of(Outcome::Failed, failure(unset)),
        (true, false) => QUOTA
            .warning(unset.join("; "))
            .hinted("a LimitRange may fill it in")
            .with_remedies(&[Remedy::Resources]),
        (true, true) => QUOTA.ok(match quotas {
            [] => "the namespace has no quota".to_owned(),
            [quota] => format!("the quota {} leaves room for a launch", quota.name_any()),
            quotas => format!("{} quotas leave room for a launch", quotas.len()),
        }),
    }
}

/// What a quota lacks for these needs, and what it wants to be set.
fn look(
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
            if TO_BE_SET.contains(&resource.as_str()) {
                unset.push(format!("the quota {name} wants {resource} to be set"));
            }
            continue;
        };
        let used = used.and_then(|used| used.get(resource));
        let taken = used.and_then(Amount::of).map_or(need, |used| used.plus(need));
        if Amount::of(limit).is_some_and(|limit| taken > limit) {
            let used = used.map_or("0", |used| used.0.as_str());
            shortages
                .push(format!("of {resource} the quota {name} has {used} of {} in use", limit.0));
        }
    }
}

/// Whether a quota is for pods like ours. Of scopes that depend on more than the pod's own kind
/// (priority classes, affinity) it isn't known, and nothing is said.
fn counts_us(quota: &ResourceQuota) -> bool {
    let Some(spec) = &quota.spec else { return true };
    let scopes = spec.scopes.iter().flatten();
    // The Job has a deadline, its pod hasn't; and it has requests.
    let mut others =
        scopes.filter(|scope| !matches!(scope.as_str(), "NotTerminating" | "NotBestEffort"));
    spec.scope_selector.is_none() && others.next().is_none()
}
