//! [`resolve`]: looks up an owner by `KIND/NAME`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    core::discovery::v2::{APIGroupDiscovery, APIResourceDiscovery},
};

use crate::call::send_for_value;
use crate::{Failure, Reason};

/// Looks up an object in `namespace`, and returns an owner reference to it that does not block its
/// deletion. `text` is `KIND/NAME` in the syntax of kubectl: `deployment/etcd`, `deploy/etcd`,
/// `Subscription/etcd`, `subscriptions.operators.coreos.com/etcd`,
/// `subscriptions.v1alpha1.operators.coreos.com/etcd`.
///
/// # Errors
///
/// Returns [`Reason::ApiRefused`] if the kind or the object does not exist, and an error if the API
/// server rejects a request or cannot be reached.
pub async fn resolve(
    client: &Client,
    namespace: &str,
    text: &str,
) -> Result<OwnerReference, Failure> {
    let (kind, name) = text.split_once('/').unwrap_or((text, ""));
    let doing = "discover the kinds of objects";
    let core = send_for_value(doing, || client.list_core_api_versions_aggregated()).await?;
    let others = send_for_value(doing, || client.list_api_groups_aggregated()).await?;
    let groups: Vec<_> = core.items.iter().chain(&others.items).collect();
    let Some(found) = find(&groups, kind) else {
        return Err(missing(format!(
            "the cluster has no kind {kind:?}, which the owner {text} names"
        )));
    };
    let api: Api<DynamicObject> = if found.is_namespaced {
        Api::namespaced_with(client.clone(), namespace, &found.resource)
    } else {
        Api::all_with(client.clone(), &found.resource)
    };
    let owner = format!("the owner {text}");
    let object = send_for_value(&format!("get {owner}"), || api.get_metadata_opt(name)).await?;
    let uid = object.and_then(|object| object.metadata.uid);
    let Some(uid) = uid else {
        let place = if found.is_namespaced {
            format!(" in the namespace {namespace}")
        } else {
            String::new()
        };
        return Err(missing(format!("{owner} does not exist{place}")));
    };
    Ok(OwnerReference {
        api_version: found.resource.api_version,
        kind: found.resource.kind,
        name: name.to_owned(),
        uid,
        // The deletion of the owner need not wait for the ConfigMap.
        block_owner_deletion: Some(false),
        controller: Some(false),
    })
}

/// A kind that a cluster knows.
struct Known {
    resource: ApiResource,
    is_namespaced: bool,
}

/// Finds a kind by its kind, plural, singular or short name, optionally followed by `.group` or
/// `.version.group`. Groups and their versions are searched in the API server's order, as kubectl
/// does. The first version of a group may lack the kind.
fn find(groups: &[&APIGroupDiscovery], text: &str) -> Option<Known> {
    let (short, wanted) = text.split_once('.').unwrap_or((text, ""));
    let versions = groups.iter().flat_map(|group| {
        // The core group has no name.
        let name = group.metadata.as_ref().and_then(|metadata| metadata.name.clone());
        let name = name.unwrap_or_default();
        group.versions.iter().map(move |version| (name.clone(), version))
    });
    let mut found = versions.filter_map(|(group_name, version)| {
        let group_version = version.version.clone()?;
        let is_wanted = wanted.is_empty()
            || wanted == group_name
            || wanted == format!("{group_version}.{group_name}");
        let found = version.resources.iter().find(|resource| is_called(resource, short));
        let found = found.filter(|_| is_wanted)?;
        let api_version = match group_name.as_str() {
            "" => group_version.clone(),
            group => format!("{group}/{group_version}"),
        };
        Some(Known {
            is_namespaced: found.scope.as_deref() == Some("Namespaced"),
            resource: ApiResource {
                group: group_name,
                version: group_version,
                api_version,
                kind: found.response_kind.as_ref()?.kind.clone()?,
                plural: found.resource.clone()?,
            },
        })
    });
    found.next()
}

fn is_called(resource: &APIResourceDiscovery, text: &str) -> bool {
    let kind = resource.response_kind.as_ref().and_then(|kind| kind.kind.as_ref());
    [resource.resource.as_ref(), resource.singular_resource.as_ref(), kind]
        .into_iter()
        .flatten()
        .chain(&resource.short_names)
        .any(|name| name.eq_ignore_ascii_case(text))
}

fn missing(message: String) -> Failure {
    Failure::new(Reason::ApiRefused, message).with_advice(
        "use KIND/NAME, with an object in the same namespace or of a cluster-scoped kind",
        &[],
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn group(
        name: &str,
        version: &str,
        kind: &str,
        plural: &str,
        short: &str,
    ) -> APIGroupDiscovery {
        serde_json::from_value(json!({
            "metadata": {"name": name},
            "versions": [{"version": version, "resources": [{
                "resource": plural,
                "singularResource": kind.to_lowercase(),
                "shortNames": [short],
                "scope": "Namespaced",
                "responseKind": {"group": name, "version": version, "kind": kind},
            }]}],
        }))
        .unwrap()
    }

    #[test]
    fn kinds_are_found_by_all_of_their_names() {
        // As with OLM, the first version of the group has other kinds.
        let mut olm =
            group("operators.coreos.com", "v2", "OperatorCondition", "operatorconditions", "cond");
        let older =
            group("operators.coreos.com", "v1alpha1", "Subscription", "subscriptions", "sub");
        olm.versions.extend(older.versions);
        let groups = [
            group("", "v1", "ConfigMap", "configmaps", "cm"),
            group("apps", "v1", "Deployment", "deployments", "deploy"),
            group("messaging.example", "v1", "Subscription", "subscriptions", "msub"),
            olm,
        ];
        let groups: Vec<_> = groups.iter().collect();
        for (text, api_version, kind) in [
            ("cm", "v1", "ConfigMap"),
            ("ConfigMap", "v1", "ConfigMap"),
            ("deployment", "apps/v1", "Deployment"),
            ("deployments.apps", "apps/v1", "Deployment"),
            ("deployments.v1.apps", "apps/v1", "Deployment"),
            ("configmaps.v1.", "v1", "ConfigMap"),
            ("operatorcondition", "operators.coreos.com/v2", "OperatorCondition"),
            (
                "subscriptions.v1alpha1.operators.coreos.com",
                "operators.coreos.com/v1alpha1",
                "Subscription",
            ),
            ("Subscription", "messaging.example/v1", "Subscription"),
            ("sub", "operators.coreos.com/v1alpha1", "Subscription"),
            ("subscription.operators.coreos.com", "operators.coreos.com/v1alpha1", "Subscription"),
        ] {
            let found = find(&groups, text).unwrap().resource;
            assert_eq!((found.api_version.as_str(), found.kind.as_str()), (api_version, kind));
        }
        for text in ["", "pods", "deployments.batch", "deploymentss", "deployments.v2.apps"] {
            assert!(find(&groups, text).is_none(), "{text}");
        }
    }
}
