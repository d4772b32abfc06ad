//! Check of OLM's catalogs: which of our images can replace those of OLM's catalog-operator.

use kube::api::{Api, ApiResource, DynamicObject, ListParams};

use super::cluster::Cluster;
use super::{Category, Check, Outcome, Topic, join_words};
use crate::call::{Reply, pages};
use crate::{Failure, Reason};

const EXTRACT_CONTENT: Topic = Topic(Category::Olm, "extract-content");

const GROUP: &str = "operators.coreos.com";
const CATALOG_SOURCES: &str = "catalogsources";

/// The field that makes OLM serve a catalog with `opm`.
const FIELD: &str = "/spec/grpcPodConfig/extractContent";

/// The maximum number of catalogs in a message.
const MAX_NAMED: usize = 10;

/// Reports for which catalogs the image matters: OLM 0.46 runs `/bin/opm serve` for them from the
/// image of `--opmImage` (`pkg/controller/registry/reconciler/reconciler.go`).
pub(super) async fn check(cluster: &Cluster<'_>) -> Check {
    let resource = ApiResource {
        group: GROUP.to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: format!("{GROUP}/v1alpha1"),
        kind: "CatalogSource".to_owned(),
        plural: CATALOG_SOURCES.to_owned(),
    };
    let client = || cluster.client.clone();
    let namespace = cluster.namespace;
    let unknown = || {
        EXTRACT_CONTENT
            .skipped("no catalogs exist: the API server does not have OLM's kind CatalogSource")
    };
    let everywhere = list(Api::all_with(client(), &resource), "all namespaces").await;
    match everywhere {
        Ok(Some(catalogs)) => judge(&catalogs, None),
        Ok(None) => unknown(),
        Err(failure) if failure.reason == Reason::Forbidden => {
            let api = Api::namespaced_with(client(), namespace, &resource);
            match list(api, &format!("the namespace {namespace}")).await {
                Ok(Some(catalogs)) => judge(&catalogs, Some(namespace)),
                Ok(None) => unknown(),
                Err(failure) => report_unknown(failure),
            }
        }
        Err(failure) => report_unknown(failure),
    }
}

/// Lists the CatalogSources. Returns `None` if the API server does not know the kind.
async fn list(api: Api<DynamicObject>, place: &str) -> Result<Option<Vec<DynamicObject>>, Failure> {
    let params = ListParams::default();
    let doing = format!("list the CatalogSources in {place}");
    let page = async |params: ListParams| api.list(&params).await;
    match pages(&doing, &params, None, page).await? {
        Reply::Missing => Ok(None),
        response => response.expect_value(&doing).map(Some),
    }
}

/// Judges the catalogs. `only_in` is the namespace, if listing those of others is forbidden.
fn judge(catalogs: &[DynamicObject], only_in: Option<&str>) -> Check {
    let extracts = |catalog: &&DynamicObject| {
        catalog.data.pointer(FIELD).is_some_and(|field| !field.is_null())
    };
    let names = catalogs.iter().filter(extracts).map(|catalog| {
        let metadata = &catalog.metadata;
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        format!("{}/{}", part(&metadata.namespace), part(&metadata.name))
    });
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    match (names.len(), only_in) {
        (0, None) => EXTRACT_CONTENT.ok(format!(
            "none of {} CatalogSources has grpcPodConfig.extractContent: OLM uses the image of --opmImage only for its unpack Job",
            catalogs.len()
        )),
        (0, Some(namespace)) => EXTRACT_CONTENT
            .warning(format!(
                "none of {} CatalogSources in the namespace {namespace} has \
                 grpcPodConfig.extractContent; other namespaces were not checked: listing their \
                 CatalogSources is forbidden",
                catalogs.len()
            ))
            .with_hint(rule()),
        (found, _) => {
            if found > MAX_NAMED {
                names.truncate(MAX_NAMED);
                names.push(format!("{} others", found - MAX_NAMED));
            }
            let have = if found == 1 { "has" } else { "have" };
            EXTRACT_CONTENT
                .warning(format!(
                    "{} {have} grpcPodConfig.extractContent: OLM serves such catalogs with the opm of --opmImage, which must be unlade-opm or OLM's own image, and not unlade-unpacker",
                    join_words(&names, "and")
                ))
                .with_hint("set --opmImage to the image unlade-opm, or to OLM's own image")
        }
    }
}

fn report_unknown(failure: Failure) -> Check {
    match failure.reason {
        Reason::Forbidden => EXTRACT_CONTENT
            .warning("cannot check whether catalogs have grpcPodConfig.extractContent: listing CatalogSources is forbidden")
            .with_hint(rule()),
        _ => EXTRACT_CONTENT.report(Outcome::Warning, failure),
    }
}

fn rule() -> String {
    format!(
        "grant it with a ClusterRole: {{apiGroups: [\"{GROUP}\"], resources: [{CATALOG_SOURCES}], verbs: [list]}}"
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    const ALL: &str = "/apis/operators.coreos.com/v1alpha1/catalogsources";
    const OURS: &str = "/apis/operators.coreos.com/v1alpha1/namespaces/here/catalogsources";

    fn catalog(name: &str, config: &Value) -> Value {
        json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "CatalogSource",
            "metadata": {"name": name, "namespace": "olm"},
            "spec": {"sourceType": "grpc", "image": "registry.example/x", "grpcPodConfig": config},
        })
    }

    fn extracting(name: &str) -> Value {
        catalog(name, &json!({"extractContent": {"catalogDir": "/configs"}}))
    }

    /// The catalogs that a path returns, or the status of the response.
    type Responses = fn(&str) -> Result<Vec<Value>, u16>;

    async fn checked(responses: Responses) -> Check {
        let service = tower::service_fn(move |request: Request<Body>| async move {
            let (code, body) = match responses(request.uri().path()) {
                Ok(items) => (200, json!({"metadata": {}, "items": items}).to_string()),
                // The API server's response for an unknown group.
                Err(404) => (404, "404 page not found\n".to_owned()),
                Err(code) => {
                    let reason = if code == 403 { "Forbidden" } else { "InternalError" };
                    let status = json!({
                        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": "no", "reason": reason, "code": code,
                    });
                    (code, status.to_string())
                }
            };
            let response = Response::builder().status(code).body(Body::from(body.into_bytes()));
            Ok::<_, Infallible>(response.unwrap())
        });
        let client = kube::Client::new(service, "here");
        check(&Cluster { client: &client, namespace: "here" }).await
    }

    #[tokio::test]
    async fn catalogs_that_opm_serves_are_named() {
        let check = checked(|path| {
            assert_eq!(path, ALL);
            Ok(vec![
                extracting("b"),
                catalog("plain", &json!({"extractContent": null})),
                catalog("none", &Value::Null),
                extracting("a"),
            ])
        })
        .await;
        assert_eq!(check.outcome, Outcome::Warning);
        assert!(check.hint.as_ref().is_some_and(|hint| hint.contains("unlade-opm")), "{check:?}");
        assert!(check.message.starts_with("olm/a and olm/b have grpcPodConfig.ex"), "{check:?}");
        assert!(check.message.contains("must be unlade-opm"), "{check:?}");

        let many = checked(|_| Ok((0..12).map(|n| extracting(&format!("c{n:02}"))).collect()));
        let message = many.await.message;
        assert!(message.contains("olm/c09 and 2 others have"), "{message}");
    }

    #[tokio::test]
    async fn catalogs_without_extraction_are_ok() {
        let check = checked(|_| Ok(vec![catalog("plain", &json!({}))])).await;
        assert_eq!(check.outcome, Outcome::Ok, "{check:?}");
        assert!(check.message.starts_with("none of 1 CatalogSources has"), "{check:?}");
    }

    #[tokio::test]
    async fn missing_kinds_of_olm_are_reported() {
        // The second user may list the CatalogSources of one namespace, but not those of all
        // namespaces.
        let responses: [Responses; 2] =
            [|_| Err(404), |path| Err(if path == OURS { 404 } else { 403 })];
        for responses in responses {
            let check = checked(responses).await;
            assert_eq!(check.outcome, Outcome::Skipped, "{check:?}");
            assert!(check.message.contains("does not have OLM's"), "{check:?}");
        }
    }

    #[tokio::test]
    async fn only_the_namespace_is_listed_if_others_are_forbidden() {
        let within: Responses =
            |path| if path == OURS { Ok(vec![extracting("a")]) } else { Err(403) };
        let check = checked(within).await;
        assert_eq!(check.outcome, Outcome::Warning);
        assert!(check.message.starts_with("olm/a has"), "{check:?}");
        // Other namespaces may have such catalogs.
        let check = checked(|path| if path == OURS { Ok(vec![]) } else { Err(403) }).await;
        assert_eq!(check.outcome, Outcome::Warning);
        assert!(check.message.contains("other namespaces were not checked"), "{check:?}");
        assert!(check.hint.is_some_and(|hint| hint.contains("resources: [catalogsources]")));
    }

    #[tokio::test]
    async fn a_failure_to_list_is_reported() {
        for (code, words) in [(403, "listing CatalogSources is forbidden"), (500, "failed to list")]
        {
            let check = match code {
                403 => checked(|_| Err(403)).await,
                _ => checked(|_| Err(500)).await,
            };
            assert_eq!(check.outcome, Outcome::Warning, "{check:?}");
            assert!(check.message.contains(words), "{check:?}");
        }
    }
}
