//! Checks whether the current user has every permission that a launch needs.

use futures::{StreamExt as _, stream};

use super::cluster::Cluster;
use super::review::Action;
use super::{Category, Check, Outcome, Topic, join_words};
use crate::object::{RBAC, VERBS};
use crate::{Failure, Remedy};

#[cfg(test)]
mod tests;

/// The maximum number of concurrent access reviews.
const CONCURRENCY: usize = 8;

const GRANT: Topic = Topic(Category::Permissions, "grant");

/// The verbs that a launch uses on a resource.
#[derive(Debug, Clone, Copy)]
struct Right {
    group: &'static str,
    resource: &'static str,
    /// Whether the resource is the namespace itself.
    is_namespace: bool,
    /// The verbs without which a launch fails.
    needed: &'static [&'static str],
    /// The verbs without which a launch succeeds, but something else fails.
    wanted: &'static [&'static str],
    /// The effect of missing `wanted` verbs.
    otherwise: &'static str,
}

const fn right(
    group: &'static str,
    resource: &'static str,
    needed: &'static [&'static str],
    wanted: &'static [&'static str],
    otherwise: &'static str,
) -> Right {
    Right { group, resource, is_namespace: false, needed, wanted, otherwise }
}

/// The permissions that every launch needs.
const ALWAYS: [Right; 6] = [
    right(
        "",
        "configmaps",
        &["create", "get", "list", "watch"],
        &["patch", "delete"],
        "the reason for a failure is not recorded, and ConfigMaps cannot be deleted",
    ),
    right(
        "batch",
        "jobs",
        &["create", "get", "list", "watch"],
        &["patch", "delete"],
        "a launch that fails or is cancelled leaves its Job running until its own deadline",
    ),
    right(
        "",
        "pods",
        &["list", "watch"],
        &["create"],
        "a launch cannot find out with a dry run whether its pod would be admitted",
    ),
    right("", "pods/log", &[], &["get"], "failures are reported without the last lines of the log"),
    right(
        "",
        "events",
        &[],
        &["list", "watch"],
        "the reason why a pod does not start is reported later, or not at all",
    ),
    Right {
        is_namespace: true,
        ..right(
            "",
            "namespaces",
            &[],
            &["get"],
            "a launch cannot see whether OpenShift assigns uids in the namespace, or whether the namespace is being deleted",
        )
    },
];

/// The permissions to create a service account, if none is given.
const ACCOUNT: [Right; 3] = [
    right("", "serviceaccounts", &["create", "get"], &["delete"], NOT_REPAIRED),
    right(RBAC, "roles", &["create", "get"], &["patch", "delete"], NOT_SEALED),
    right(RBAC, "rolebindings", &["create", "get"], &["delete"], NOT_REPAIRED),
];

/// The permissions to give the nodes credentials.
const CREDENTIALS: [Right; 1] = [right(
    "",
    "secrets",
    &["create"],
    &["patch", "delete", "get"],
    "the credentials stay in the namespace until the Job or the ConfigMap is deleted",
)];

const NOT_SEALED: &str =
    "verified content is not reused, and a Role that someone else changed is not repaired";

const NOT_REPAIRED: &str = "an object that someone else changed is not repaired";

/// Checks all permissions. `makes_account` tells whether a launch creates its own service account,
/// and `lends_credentials` whether it gives the nodes credentials.
pub(super) async fn checks(
    cluster: &Cluster<'_>,
    makes_account: bool,
    lends_credentials: bool,
) -> Vec<Check> {
    let account: &[Right] = if makes_account { &ACCOUNT } else { &[] };
    let credentials: &[Right] = if lends_credentials { &CREDENTIALS } else { &[] };
    let rights = || ALWAYS.iter().chain(account).chain(credentials);
    let questions = rights().flat_map(|right| right.verbs().map(move |verb| (right, verb)));
    let responses = stream::iter(questions).map(async |(right, verb)| {
        let name = right.is_namespace.then_some(cluster.namespace);
        let action = Action { group: right.group, resource: right.resource, verb, name };
        Ok((verb, cluster.may(action).await?))
    });
    let grant = async { if makes_account { Some(Box::pin(grant(cluster)).await) } else { None } };
    let (responses, grant) =
        futures::join!(responses.buffered(CONCURRENCY).collect::<Vec<_>>(), grant);
    let mut responses = responses.into_iter();
    let checks = rights().map(|right| {
        let replies: Vec<Result<_, Failure>> =
            responses.by_ref().take(right.verbs().count()).collect();
        match replies.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(responses) => judge(right, &responses),
            Err(failure) => topic(right).report(Outcome::Warning, failure),
        }
    });
    let mut checks: Vec<_> = checks.collect();
    checks.extend(grant);
    checks
}

impl Right {
    fn verbs(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.needed.iter().chain(self.wanted).copied()
    }
}

fn topic(right: &Right) -> Topic {
    Topic(Category::Permissions, right.resource)
}

fn judge(right: &Right, responses: &[(&str, bool)]) -> Check {
    let verbs = |is_wanted: &dyn Fn(&str, bool) -> bool| -> Vec<&str> {
        let responses = responses.iter().filter(|(verb, may)| is_wanted(verb, *may));
        responses.map(|&(verb, _)| verb).collect()
    };
    let missing = verbs(&|_, may| !may);
    let is_needed = missing.iter().any(|verb| right.needed.contains(verb));
    let resource = right.resource;
    if missing.is_empty() {
        return topic(right)
            .ok(format!("the user may {} {resource}", join_words(&verbs(&|_, _| true), "and")));
    }
    let may_not = format!("the user may not {} {resource}", join_words(&missing, "or"));
    let rule = rule(right.group, resource, &missing);
    if is_needed {
        topic(right).failed(may_not).with_hint(rule)
    } else {
        topic(right).warning(format!("{may_not}: {}", right.otherwise)).with_hint(rule)
    }
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> String {
    let verbs = verbs.join(", ");
    format!(
        "grant it with a Role: {{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{verbs}]}}"
    )
}

/// Checks whether the API server would accept the Role and its RoleBinding. The dry run of the Role
/// shows this only for the Role.
async fn grant(cluster: &Cluster<'_>) -> Check {
    let may = async |group, resource, verb| {
        cluster.may(Action { group, resource, verb, name: None }).await
    };
    // A user who grants verbs must have them too (the escalation check of Kubernetes).
    let [get, update] = VERBS;
    let responses = futures::try_join!(
        may("", "configmaps", get),
        may("", "configmaps", update),
        may(RBAC, "roles", "escalate"),
        may(RBAC, "roles", "bind"),
    );
    match responses {
        Ok((get, update, escalate, bind)) => judge_grant([get, update], escalate, bind),
        Err(failure) => GRANT.report(Outcome::Warning, failure),
    }
}

fn judge_grant(held: [bool; 2], may_escalate: bool, may_bind: bool) -> Check {
    if held == [true, true] || (may_escalate && may_bind) {
        return GRANT
            .ok("the user may grant the unpacker the permissions to get and update its ConfigMap");
    }
    let missing: Vec<_> =
        VERBS.into_iter().zip(held).filter(|(_, held)| !held).map(|(verb, _)| verb).collect();
    GRANT
        .failed(format!(
            "the user may not grant the unpacker the permission to {} its ConfigMap: only a user \
             who has a permission can grant it",
            join_words(&missing, "and")
        ))
        .with_hint(rule("", "configmaps", &missing))
        .with_remedies(&[Remedy::ServiceAccount])
}
