//! The API server and the namespace, and how either is asked.

use k8s_openapi::api::core::v1::Namespace;
use kube::api::PostParams;
use kube::{Api, Client};

use super::{Category, Check, Outcome, Topic};
use crate::launch::ask_for;
use crate::object::Kind;
use crate::{Failure, Reason, Remedy, failure};

const REACHABLE: Topic = Topic(Category::KubernetesApi, "reachable");
const NAMESPACE: Topic = Topic(Category::KubernetesApi, "namespace");

/// Where a launch would take place.
#[derive(Clone, Copy)]
pub(super) struct Cluster<'a> {
    pub(super) client: &'a Client,
    pub(super) namespace: &'a str,
}

/// The namespace, as far as it may be read.
pub(super) struct Found {
    pub(super) check: Check,
    pub(super) object: Option<Namespace>,
}

/// Why a dry run has no object for an answer.
#[derive(Debug)]
pub(super) enum Refusal {
    /// Such objects may not be created by who asks.
    Forbidden,
    /// A webhook that can't do dry runs is in the way: it has side effects.
    NoDryRun(String),
    /// A launch would fail for this too.
    Failure(Failure),
}

impl Cluster<'_> {
    /// Whether the API server can be reached, and takes the credentials.
    pub(super) async fn server(&self) -> Check {
        let doing = "read the version of the API server";
        match ask_for(doing, || self.client.apiserver_version()).await {
            Ok(info) => REACHABLE.ok(format!("can reach the API server ({})", info.git_version)),
            // Versions may be hidden from some; who isn't known at all gets a 401.
            Err(failure)
                if failure.reason == Reason::Forbidden
                    && failure.evidence.state.as_deref() == Some("Forbidden") =>
            {
                REACHABLE.ok("can reach the API server")
            }
            Err(failure) => REACHABLE.of(Outcome::Failed, failure),
        }
    }

    /// Whether the namespace is there to stay.
    pub(super) async fn namespace(&self) -> Found {
        let name = self.namespace;
        let api: Api<Namespace> = Api::all(self.client.clone());
        match ask_for(&format!("read namespace {name}"), || api.get_opt(name)).await {
            Ok(found) => Found { check: judge(name, found.as_ref()), object: found },
            Err(failure) if failure.reason == Reason::Forbidden => {
                let message = format!(
                    "can't tell whether the namespace {name} is there: reading it is forbidden"
                );
                Found { check: NAMESPACE.left_out(message), object: None }
            }
            Err(failure) => Found { check: NAMESPACE.of(Outcome::Failed, failure), object: None },
        }
    }

    /// What the API server would make of an object, which is called `name`; it keeps nothing.
    pub(super) async fn try_out<K: Kind>(&self, name: &str, object: &K) -> Result<K, Refusal> {
        let api: Api<K> = self.api();
        let params = PostParams { dry_run: true, ..PostParams::default() };
        ask_for(&format!("create {name}"), || api.create(&params, object)).await.map_err(refusal)
    }

    /// The objects of a kind in the namespace.
    pub(super) fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), self.namespace)
    }
}

fn refusal(failure: Failure) -> Refusal {
    let said = failure.evidence.said.as_deref().unwrap_or_default();
    if failure.reason == Reason::Forbidden && failure::is_of_authorizer(said) {
        Refusal::Forbidden
    } else if said.contains("does not support dry run") {
        Refusal::NoDryRun(said.to_owned())
    } else {
        Refusal::Failure(failure)
    }
}

fn judge(name: &str, found: Option<&Namespace>) -> Check {
    match found {
        None => NAMESPACE
            .failed(format!("the namespace {name} isn't there"))
            .hinted(format!("kubectl create namespace {name}")),
        Some(found) if is_terminating(found) => NAMESPACE
            .failed(format!("the namespace {name} is on its way out"))
            .hinted("wait until it is gone")
            .with_remedies(&[Remedy::Namespace]),
        Some(_) => NAMESPACE.ok(format!("the namespace {name} is there")),
    }
}

fn is_terminating(namespace: &Namespace) -> bool {
    let phase = namespace.status.as_ref().and_then(|status| status.phase.as_deref());
    namespace.metadata.deletion_timestamp.is_some() || phase == Some("Terminating")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Evidence;

    #[test]
    fn a_namespace_has_to_be_there_to_stay() {
        let namespace = |value| serde_json::from_value::<Namespace>(value).unwrap();
        let deleted =
            json!({"metadata": {"name": "x", "deletionTimestamp": "2020-01-01T00:00:00Z"}});
        for (found, outcome) in [
            (None, Outcome::Failed),
            (Some(namespace(deleted)), Outcome::Failed),
            (Some(namespace(json!({"status": {"phase": "Terminating"}}))), Outcome::Failed),
            (Some(namespace(json!({"status": {"phase": "Active"}}))), Outcome::Ok),
            (Some(Namespace::default()), Outcome::Ok),
        ] {
            assert_eq!(judge("x", found.as_ref()).outcome, outcome, "{found:?}");
        }
    }

    #[test]
    fn a_dry_run_that_was_not_tried_is_no_failure() {
        let said = |reason, said: &str| {
            let evidence = Evidence { said: Some(said.to_owned()), ..Evidence::default() };
            refusal(Failure::new(reason, "x").seen(evidence))
        };
        let forbidden =
            r#"pods is forbidden: User "a" cannot create resource "pods" in API group """#;
        assert!(matches!(said(Reason::Forbidden, forbidden), Refusal::Forbidden));
        let webhook = r#"admission webhook "a.example" does not support dry run"#;
        assert!(matches!(said(Reason::Webhook, webhook), Refusal::NoDryRun(_)));
        let escalation =
            r#"roles "a" is forbidden: user "a" is attempting to grant RBAC permissions"#;
        assert!(matches!(said(Reason::Forbidden, escalation), Refusal::Failure(_)));
    }
}
