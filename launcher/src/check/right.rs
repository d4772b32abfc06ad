//! What who asks may do: all that a launch does.

use futures::{StreamExt as _, stream};

use super::access::Action;
use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic, joined};
use crate::{Failure, Remedy};

#[cfg(test)]
mod tests;

/// Most questions at once.
const CONCURRENCY: usize = 8;

const RBAC: &str = "rbac.authorization.k8s.io";

const GRANT: Topic = Topic(Category::Rights, "grant");

/// What a launch does to a resource.
#[derive(Debug, Clone, Copy)]
struct Right {
    group: &'static str,
    resource: &'static str,
    /// Whether the resource is the namespace itself.
    is_namespace: bool,
    /// Without these there is no launch.
    needed: &'static [&'static str],
    /// Without these a launch goes well, and something else doesn't.
    wanted: &'static [&'static str],
    /// What doesn't.
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

/// For every launch.
const ALWAYS: [Right; 6] = [
    right(
        "",
        "configmaps",
        &["create", "get", "list", "watch"],
        &["patch", "delete"],
        "the reason of a failure isn't kept, and `launch --rm` and `delete` don't work",
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
        "whether a pod would be admitted is not found out before one is made: a dry run needs this",
    ),
    right("", "pods/log", &[], &["get"], "failures are told without the last lines of the log"),
    right(
        "",
        "events",
        &[],
        &["list", "watch"],
        "what keeps a pod from starting is told later, or not at all",
    ),
    Right {
        is_namespace: true,
        ..right(
            "",
            "namespaces",
            &[],
            &["get"],
            "whether OpenShift assigns uids here can't be seen, nor that the namespace is deleted",
        )
    },
];

/// Where no service account is given, to make one.
const ACCOUNT: [Right; 3] = [
    right("", "serviceaccounts", &["create", "get"], &["delete"], NOT_MENDED),
    right(RBAC, "roles", &["create", "get"], &["patch", "delete"], NOT_SEALED),
    right(RBAC, "rolebindings", &["create", "get"], &["delete"], NOT_MENDED),
];

const NOT_SEALED: &str =
    "content that was verified isn't reused, and a Role that was changed by others isn't put right";

const NOT_MENDED: &str = "one that was changed by others isn't put right";

/// What the unpacker is granted. Who grants it has to have it (Kubernetes' escalation check).
const GRANTED: [&str; 2] = ["get", "update"];

/// Asks for all rights; `makes_account`: if a launch makes its own service account.
pub(super) async fn checks(cluster: &Cluster<'_>, makes_account: bool) -> Vec<Check> {
    let account: &[Right] = if makes_account { &ACCOUNT } else { &[] };
    let rights = || ALWAYS.iter().chain(account);
    let questions = rights().flat_map(|right| right.verbs().map(move |verb| (right, verb)));
    let answers = stream::iter(questions).map(async |(right, verb)| {
        let name = right.is_namespace.then_some(cluster.namespace);
        let action = Action { group: right.group, resource: right.resource, verb, name };
        Ok((verb, cluster.may(action).await?))
    });
    let grant = async { if makes_account { Some(Box::pin(grant(cluster)).await) } else { None } };
    let (answers, grant) = futures::join!(answers.buffered(CONCURRENCY).collect::<Vec<_>>(), grant);
    let mut answers = answers.into_iter();
    let checks = rights().map(|right| {
        let of_right: Vec<Result<_, Failure>> =
            answers.by_ref().take(right.verbs().count()).collect();
        match of_right.into_iter().collect::<Result<Vec<_>, _>>() {
            Ok(answers) => judge(right, &answers),
            Err(failure) => topic(right).of(Outcome::Warning, failure),
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
    Topic(Category::Rights, right.resource)
}

fn judge(right: &Right, answers: &[(&str, bool)]) -> Check {
    let verbs = |is_wanted: &dyn Fn(&str, bool) -> bool| -> Vec<&str> {
        let answers = answers.iter().filter(|(verb, may)| is_wanted(verb, *may));
        answers.map(|&(verb, _)| verb).collect()
    };
    let missing = verbs(&|_, may| !may);
    let is_needed = missing.iter().any(|verb| right.needed.contains(verb));
    let resource = right.resource;
    if missing.is_empty() {
        return topic(right).ok(format!("may {} {resource}", joined(&verbs(&|_, _| true), "and")));
    }
    let may_not = format!("may not {} {resource}", joined(&missing, "or"));
    let rule = rule(right.group, resource, &missing);
    if is_needed {
        topic(right).failed(may_not).hinted(rule)
    } else {
        topic(right).warning(format!("{may_not}: {}", right.otherwise)).hinted(rule)
    }
}

fn rule(group: &str, resource: &str, verbs: &[&str]) -> String {
    let verbs = verbs.join(", ");
    format!(
        "a Role gives it: {{apiGroups: [\"{group}\"], resources: [{resource}], verbs: [{verbs}]}}"
    )
}

/// Whether the Role and its binding would be taken. That the Role is, its dry run tells too.
async fn grant(cluster: &Cluster<'_>) -> Check {
    let may = async |group, resource, verb| {
        cluster.may(Action { group, resource, verb, name: None }).await
    };
    let [get, update] = GRANTED;
    let answers = futures::try_join!(
        may("", "configmaps", get),
        may("", "configmaps", update),
        may(RBAC, "roles", "escalate"),
        may(RBAC, "roles", "bind"),
    );
    match answers {
        Ok((get, update, escalate, bind)) => judge_grant([get, update], escalate, bind),
        Err(failure) => GRANT.of(Outcome::Warning, failure),
    }
}

fn judge_grant(held: [bool; 2], may_escalate: bool, may_bind: bool) -> Check {
    if held == [true, true] || (may_escalate && may_bind) {
        return GRANT.ok("may grant the unpacker to get and update its ConfigMap");
    }
    let missing: Vec<_> =
        GRANTED.into_iter().zip(held).filter(|(_, held)| !held).map(|(verb, _)| verb).collect();
    GRANT
        .failed(format!(
            "may not grant the unpacker to {} its ConfigMap: who doesn't have a right can't give it",
            joined(&missing, "and")
        ))
        .hinted(rule("", "configmaps", &missing))
        .with_remedies(&[Remedy::ServiceAccount])
}
