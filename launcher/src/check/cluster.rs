//! Checks of the API server and the namespace, and dry runs.

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

use super::{Category, Check, Outcome, Topic};
use crate::call::send_for_value;
use crate::dry_run::{self, Refusal};
use crate::object::Kind;
use crate::{Reason, Remedy};

const REACHABLE: Topic = Topic(Category::KubernetesApi, "reachable");
const NAMESPACE: Topic = Topic(Category::KubernetesApi, "namespace");

/// The cluster and the namespace of the launch.
#[derive(Clone, Copy)]
pub(super) struct Cluster<'a> {
    pub(super) client: &'a Client,
    pub(super) namespace: &'a str,
}

/// The check of the namespace, with the namespace if the user may read it.
pub(super) struct Found {
    pub(super) check: Check,
    pub(super) object: Option<Namespace>,
}

impl Cluster<'_> {
    /// Checks whether the API server can be reached and accepts the credentials.
    pub(super) async fn server(&self) -> Check {
        let doing = "read the version of the API server";
        match send_for_value(doing, || self.client.apiserver_version()).await {
            Ok(info) => REACHABLE.ok(format!("the API server is reachable ({})", info.git_version)),
            // The version may be forbidden to a user who is authenticated. Any other user gets a
            // 401.
            Err(failure)
                if failure.reason == Reason::Forbidden
                    && failure.evidence.state.as_deref() == Some("Forbidden") =>
            {
                REACHABLE.ok("the API server is reachable")
            }
            Err(failure) => REACHABLE.report(Outcome::Failed, failure),
        }
    }

    /// Checks whether the namespace exists and is not being deleted.
    pub(super) async fn namespace(&self) -> Found {
        let name = self.namespace;
        let api: Api<Namespace> = Api::all(self.client.clone());
        match send_for_value(&format!("read the namespace {name}"), || api.get_opt(name)).await {
            Ok(found) => Found { check: judge(name, found.as_ref()), object: found },
            Err(failure) if failure.reason == Reason::Forbidden => {
                let message = format!(
                    "cannot check whether the namespace {name} exists: reading it is forbidden"
                );
                Found { check: NAMESPACE.skipped(message), object: None }
            }
            Err(failure) => {
                Found { check: NAMESPACE.report(Outcome::Failed, failure), object: None }
            }
        }
    }

    /// Creates an object as a dry run. `name` is its name in messages.
    pub(super) async fn try_out<K: Kind>(&self, name: &str, object: &K) -> Result<K, Refusal> {
        let api: Api<K> = self.api();
        send_for_value(&format!("create {name}"), || dry_run::create(&api, object))
            .await
            .map_err(Refusal::from_failure)
    }

    /// Returns the client for the objects of a kind in the namespace.
    pub(super) fn api<K: Kind>(&self) -> Api<K> {
        Api::namespaced(self.client.clone(), self.namespace)
    }
}

fn judge(name: &str, found: Option<&Namespace>) -> Check {
    match found {
        None => NAMESPACE
            .failed(format!("the namespace {name} does not exist"))
            .with_hint(format!("create it with `kubectl create namespace {name}`")),
        Some(found) if is_terminating(found) => NAMESPACE
            .failed(format!("the namespace {name} is being deleted"))
            .with_hint("wait until the deletion is complete, and create the namespace again")
            .with_remedies(&[Remedy::Namespace]),
        Some(_) => NAMESPACE.ok(format!("the namespace {name} exists")),
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

    #[test]
    fn a_namespace_must_exist_and_not_be_terminating() {
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
}
